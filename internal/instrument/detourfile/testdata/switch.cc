// The program switches the search for spikes off and on, as others can while it
// runs, and waits until its code has changed.
#include <csignal>
#include <unistd.h>

#include "differences.h"

__attribute__((noinline)) long work(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) sum += i ^ n;
  return sum;
}

static void set(const char *file, const char *words) {
  FILE *f = fopen(file, "w");
  fprintf(f, "%s\n", words);
  fclose(f);
  raise(SIGUSR1);
}

int main(int argc, char **argv) {
  long sum = work(10), hooked = differences();
  for (int i = 0; i < 2; i++) {
    set(argv[1], "off");
    while (differences()) usleep(1000), sum += work(10);
    set(argv[1], "on");
    while (differences() != hooked) usleep(1000), sum += work(10);
  }
  printf("%s\n", hooked && sum && argc == 2 ? "off and on" : "not hooked");
}

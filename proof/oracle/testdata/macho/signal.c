/* signal N [own]: works N times, raises a signal, and ends without a word. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void own(int sig) {
  (void)sig;
  puts("own handler");
  fflush(stdout);
}
static volatile int sum;
__attribute__((noinline)) void work(int i) { sum += i; }
__attribute__((noinline)) void late(void) { sum++; }

int main(int argc, char **argv) {
  if (argc > 2) signal(SIGUSR1, own);
  for (int i = 0; i < atoi(argv[1]); i++) work(i);
  raise(SIGUSR1);
  late();
  _exit(0);
}

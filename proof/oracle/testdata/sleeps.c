/* For each line of its input, waits by a system call that has a time limit, once per thread, and prints
 * for how many microseconds, the result and errno. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv) {
  char line[64];
  (void)argc;
  while (fgets(line, sizeof line, stdin)) {
    long start = now();
    struct timespec t = {3, 0};
    struct pollfd none = {-1, POLLIN, 0};
    int r = argv[1][0] == 'p' ? poll(&none, 1, 3000) : nanosleep(&t, 0);
    printf("%ld %d %d\n", now() - start, r, r ? errno : 0);
    fflush(stdout);
  }
}

/* ring.c - more calls than the ring of buffers holds. Each tells its number, so
 * that the log shows which ones are left: all from some number to the last. */
#include <stdlib.h>

#include "truth.h"

SEEN static void leaf(void) { sink = sink + 1; }

__attribute__((xray_log_args(1))) SEEN static void step(long number) {
  leaf();
  sink = sink + number;
}

SEEN static void work(long n) {
  for (long i = 1; i <= n; i++) step(i);
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 400;
  work(n);
  printf("newest step %ld\n", n);
  return 0;
}

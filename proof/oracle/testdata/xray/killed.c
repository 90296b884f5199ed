/* killed.c - a program that ends before its last calls are written. Each tells
 * its number, so that the log shows which ones are there: all from the first to
 * some number. */
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

SEEN static void leaf(void) { sink = sink + 1; }

__attribute__((xray_log_args(1))) SEEN static void step(long number) {
  leaf();
  sink = sink + number;
}

SEEN static void work(long n) {
  for (long i = 1; i <= n; i++) step(i);
}

int main(void) {
  work(100);
  puts("oldest step 1");
  fflush(stdout);
  _exit(0);
}

/* tail.c - functions that end by a jump to another: the callee is their
 * sibling, a child of their caller. */
#include "truth.h"

SEEN static long last(long n) {
  CALLED();
  sink = sink + n;
  return n;
}

SEEN static long second(long n) {
  CALLED();
  sink = sink + n;
  __attribute__((musttail)) return last(n + 1);
}

SEEN static long first(long n) {
  CALLED();
  last(n);
  __attribute__((musttail)) return second(n + 1);
}

/* Recursion by tail calls: one after the other, none inside another. */
SEEN static long count_down(long n) {
  CALLED();
  if (n == 0) return 0;
  __attribute__((musttail)) return count_down(n - 1);
}

SEEN static long odd(long n);
SEEN static long even(long n) {
  CALLED();
  if (n == 0) return 1;
  __attribute__((musttail)) return odd(n - 1);
}
static long odd(long n) {
  CALLED();
  if (n == 0) return 0;
  __attribute__((musttail)) return even(n - 1);
}

int main(void) {
  CALLED();
  for (long i = 0; i < 4; i++) sink = first(i);
  sink = count_down(9);
  sink = even(7);
  puts("stack main;first 4\nstack main;first;last 4\nstack main;second 4\nstack main;last 4");
  puts("stack main;count_down 10\nstack main;even 4\nstack main;odd 4\ntailexits 24");
  return truth();
}

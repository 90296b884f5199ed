/* calls.c WHAT N - calls in ways that are hard on what reads logs of them:
 *
 *	deep N  recursion to a depth of 5,000, N times
 *	many N  N calls of functions that call each other at random, 16 deep at most:
 *	        nearly each has a stack that no other has
 */
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline))
static volatile long sum;
static long left;
static unsigned long state = 1;

static unsigned next(void) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return state >> 33;
}

FUNCTION static void deep(int n) {
  if (n > 0) deep(n - 1);
  sum += n;
}

static void any(int depth);
#define F(name) FUNCTION static void name(int depth) { while (left > 0 && depth < 16 && next() % 8 < 5) any(depth + 1); sum += depth; }
F(f0) F(f1) F(f2) F(f3) F(f4) F(f5) F(f6) F(f7)
static void (*const all[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7};

static inline __attribute__((always_inline)) void any(int depth) {
  left--;
  all[next() % 8](depth);
}

int main(int argc, char **argv) {
  if (argc < 3) return 1;
  long n = atol(argv[2]);
  if (strcmp(argv[1], "deep") == 0)
    while (n-- > 0) deep(5000);
  else
    for (left = n; left > 0;) any(0);
  return 0;
}

/* Calls of a function that does next to nothing: what watching a call costs of
 * itself. tiny CALLS. With -DMARK the function reads the processor's counter at both
 * of its ends, as marks made by hand do. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef MARK
#include <x86intrin.h>
static volatile unsigned long long longest;
#endif

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noipa))
#endif

OWN unsigned tiny(unsigned x) {
#ifdef MARK
  unsigned long long start = __rdtsc();
#endif
  x = x * 1664525u + 1013904223u;
#ifdef MARK
  unsigned long long took = __rdtsc() - start;
  if (took > longest) longest = took;
#endif
  return x;
}

int main(int argc, char **argv) {
  struct timespec t;
  unsigned x = 1;
  for (long n = argc > 1 ? atol(argv[1]) : 1000000; n > 0; n--) x = tiny(x);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  fprintf(stderr, "cpu %lld\n", t.tv_sec * 1000000000ll + t.tv_nsec);
  return x == 7;
}

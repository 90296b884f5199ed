/* Frames of all kinds without frame pointers: of functions that call nothing, that save registers,
 * that need an aligned stack or one of variable size, that are recursive, and tail calls. */
#include <stdlib.h>
#include <string.h>
#define OWN __attribute__((noipa))
static volatile long sum;
OWN static long leaf(long n) { for (int i = 0; i < 3; i++) n = n * 31 + 7; return n; }
OWN static long saved(long a, long b, long c) { long x = leaf(a), y = leaf(b), z = leaf(c); return x + y + z + leaf(x ^ y ^ z); }
OWN static long aligned(long n) { long v[8] __attribute__((aligned(64))); for (int i = 0; i < 8; i++) v[i] = leaf(n + i); sum += v[n & 7]; return saved(v[0], v[1], v[2]); }
OWN static long variable(long n) { char *p = __builtin_alloca((n & 63) + 16); memset(p, (int)n, 16); sum += p[n & 7]; return leaf(p[1]) + saved(n, p[2], p[3]); }
OWN static long deep(long n) { return n ? deep(n - 1) + leaf(n) : saved(n, 1, 2); }
OWN static long last(long n) { return leaf(n + 1); }
OWN static long tail(long n) { sum += n; return last(n); }
static int order(const void *a, const void *b) { return leaf(*(const int *)a) > leaf(*(const int *)b) ? 1 : -1; }
int main(void) {
  for (long i = 0; i < 200; i++) {
    int v[] = {3, 1, 2};
    qsort(v, 3, sizeof v[0], order);
    sum += aligned(i) + variable(i) + deep(i % 9) + tail(i);
  }
  return 0;
}

// A program with all that unwinding has to do with: chains of tail calls, direct,
// conditional, mutual and through pointers; recursion; inlined code; a callback that
// a library calls; a function that is split.
#include <stdio.h>
#include <stdlib.h>
#define NI __attribute__((noinline))
static volatile long sink;
static NI long leaf(long x) { for (int i = 0; i < 3; i++) sink += x + i; return sink; }
static NI long mid(long x) { return leaf(x + 1); }
static inline long add(long x) { if (x & 1) sink += x; return sink + 3; }
static NI long dia1(long x) { return mid(x ^ 3); }
static NI long dia2(long x) { return mid(x + 7); }
static NI long dia(long x) { if (x & 4) return dia1(x); return dia2(x); }
static NI long odd(long n, long x);
static NI long even(long n, long x) { if (n == 0) return leaf(x); sink++; return odd(n - 1, x + 1); }
static NI long odd(long n, long x) { if (n == 0) return mid(x); sink--; return even(n - 1, x + 2); }
static NI long fact(long n) { if (n < 2) return leaf(1); return n * fact(n - 1) + 1; }
typedef long (*fn)(long);
static fn table[4];
static NI long indirect(long x) { return table[x & 3](x); }
static int cmp(const void *a, const void *b) { long x = *(const long *)a, y = *(const long *)b; sink += x; return x < y ? -1 : x > y; }
__attribute__((noinline, cold)) static long rare(long x) { sink = x; return leaf(x) * 2; }
static NI long split(long x) { if (__builtin_expect(x % 5 == 0, 0)) return rare(x) + 1; return x & 2 ? leaf(x) : sink + x; }
static NI long sort(long x) { long v[6]; for (int i = 0; i < 6; i++) v[i] = (x * 7 + i * 13) % 11; qsort(v, 6, sizeof v[0], cmp); return v[0] + 1; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200;
  if (argc > 2) __builtin_debugtrap(); // the recorder begins here
  table[0] = leaf, table[1] = mid, table[2] = dia, table[3] = dia1;
  long s = 0;
  for (int i = 0; i < n; i++) {
    s += mid(i); s += leaf(i); s += add(i); s += dia(i); s += even(i & 7, i); s += odd(3, i);
    s += fact(i % 6); s += indirect(i); s += sort(i); s += split(i);
  }
  printf("%d\n", s != 0);
  return 0;
}

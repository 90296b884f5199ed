// Most instructions are of a leaf function without a branch.
#include <stdio.h>
#include <stdlib.h>

static volatile long seed = 1;

__attribute__((noinline)) static long get(const long *a) {
  long r = 0;
#define ONE(i) r += (a[i] * 3) ^ a[(i) + 1];
#define EIGHT(i) ONE(i) ONE(i + 1) ONE(i + 2) ONE(i + 3) ONE(i + 4) ONE(i + 5) ONE(i + 6) ONE(i + 7)
  EIGHT(0) EIGHT(8) EIGHT(16) EIGHT(24)
  return r;
}

__attribute__((noinline)) static long sum(long n) {
  long r = 0;
  for (long i = 0; i < n; i++) r += i ^ seed;
  return r;
}

int main(int argc, char **argv) {
  long a[64], r = 0, n = argc > 1 ? atol(argv[1]) : 1;
  for (int i = 0; i < 64; i++) a[i] = seed + i;
  for (long i = 0; i < n; i++) {
    a[i & 63] = r;
    r += get(a) + sum(3);
  }
  printf("%ld\n", r);
}

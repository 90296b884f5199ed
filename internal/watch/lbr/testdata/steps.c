/* Branches of every kind, few enough to be stepped through. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline))

static int total;

OWN int leaf(int x) {
  for (int i = 0; i < x % 5; i++) total += i * x;
  return total & 7;
}
OWN int tail(int x) { return leaf(x + 1); }
OWN int indirect(int (*f)(int), int x) { return f(x); }
OWN int jumps(int x) {
  switch (x % 9) {
  case 0: return total++;
  case 1: total ^= x; break;
  case 2: return leaf(x);
  case 3: total -= 3; break;
  case 4: return tail(x) + 1;
  case 5: total += leaf(2); break;
  case 6: return 6;
  case 7: total *= 3; break;
  }
  return total;
}
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

OWN int loops(int n) { /* loop and jrcxz, which compilers do not make */
  long c = n, s = 0;
  __asm__("jrcxz 2f\n1: add %%rcx, %1\nloop 1b\n2:" : "+c"(c), "+r"(s) : : "cc");
  return (int)s;
}

int main(void) {
  int (*volatile f[])(int) = {leaf, tail, jumps, loops};
  int v[6];
  for (int i = 0; i < 60; i++) {
    total += indirect(f[i % 4], i);
    for (int k = 0; k < 6; k++) v[k] = (total >> k) % 13;
    qsort(v, 6, sizeof *v, order);
    total += v[2] + (int)strlen("four") + loops(i % 3);
  }
  printf("%d\n", total);
  return 0;
}

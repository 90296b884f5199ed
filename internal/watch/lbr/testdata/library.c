/* A library: calls into itself by its table of imports, calls back, and a function
 * that is chosen when it is loaded. */
#include "modules.h"

#include <stdlib.h>

static int total;

int library_step(int x) {
  for (int i = 0; i < x % 4; i++) total ^= i * x;
  return total & 31;
}
int library_tail(int (*f)(int), int x) { return f(x + library_step(x)); }
int library_calls(int (*f)(int), int x) {
  int s = 0;
  for (int i = 0; i < 3; i++) s += f(x + i);
  switch (x % 6) {
  case 0: return s + 1;
  case 1: return library_tail(f, s);
  case 2: return s * 3;
  case 3: return library_step(s);
  case 4: return s - library_step(s & 7);
  }
  return s;
}

static int one(int x) { return library_step(x) + 1; }
static int two(int x) { return library_step(x) + 2; }
static int (*choose(void))(int) { return total ? one : two; }
int library_chosen(int x) __attribute__((ifunc("choose")));

static int order(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
void library_sort(int *v, int n) { qsort(v, (size_t)n, sizeof *v, order); }

__attribute__((constructor)) static void begin(void) { total = 7; }

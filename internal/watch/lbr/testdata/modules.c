/* A program with a library, which calls back, and a plug-in, which comes and goes. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "modules.h"

#define OWN __attribute__((noinline))

int own_total;

OWN int back(int x) {
  for (int i = 0; i < x % 3; i++) own_total += i;
  return own_total & 15;
}
OWN int tail_across(int x) { return library_step(x + 1); }
OWN int tail_back(int x) { return library_tail(back, x); }
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

OWN int plugged(const char *path, int x) {
  void *p = dlopen(path, RTLD_NOW);
  if (!p) {
    fprintf(stderr, "%s\n", dlerror());
    exit(9);
  }
  int (*f)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(p, "plugin");
  for (int i = 0; i < 4; i++) x += f(back, x + i);
  dlclose(p);
  return x;
}

int main(int argc, char **argv) {
  int v[5], total = 0;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 12; i++) {
      total += library_step(i) + tail_across(i) + tail_back(i) + library_calls(back, i) + library_chosen(i);
      for (int k = 0; k < 5; k++) v[k] = (total >> k) % 11;
      qsort(v, 5, sizeof *v, order);
      library_sort(v, 5);
      total += v[2];
    }
    if (argc > 1) total = plugged(argv[1 + round % (argc - 1)], total & 255);
  }
  printf("%d %d\n", total, own_total);
  return 0;
}

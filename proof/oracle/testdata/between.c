// Functions with probes, whose names begin with p_, that are called by others without:
// from deeper than those before them, by qsort, with arguments on the stack, after
// longjmp and exceptions. The program writes which called which.
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OWN __attribute__((noinline))
#ifdef __cplusplus
#define P extern "C" OWN
#else
#define P OWN
#endif
static char path[4096];
static struct { char path[256]; long n; } table[256];
static int rows;
static volatile int zero;

/* enter and leave keep the stack of calls; leave takes what enter returned. */
static size_t enter(const char *name) {
  size_t n = strlen(path);
  sprintf(path + n, "%s%s", n ? ";" : "", name);
  for (int i = 0; i <= rows; i++) {
    if (i == rows) strcpy(table[rows++].path, path);
    if (strcmp(table[i].path, path)) continue;
    table[i].n++;
    break;
  }
  return n;
}
static void leave(size_t n) { path[n] = 0; }

P int p_quick(int x) {
  size_t n = enter("p_quick");
  for (int i = 0; i < 10; i++) x += zero;
  leave(n);
  return x;
}
P int p_deep(int x) {
  size_t n = enter("p_deep");
  x += p_quick(x);
  leave(n);
  return x;
}
OWN int between(int x) { return p_deep(x) + 1; }
OWN int wide(int x) { volatile char room[6000]; room[zero] = 1; return p_deep(x) + room[zero]; }
P int p_order(const void *a, const void *b) {
  size_t n = enter("p_order");
  int d = *(const int *)a - *(const int *)b;
  leave(n);
  return d;
}
P int p_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
  size_t n = enter("p_many");
  a += b + c + d + e + f + g + h + i + j;
  leave(n);
  return a;
}
static jmp_buf target;
P int p_jump(int x) {
  enter("p_jump");
  if (!zero) longjmp(target, 1);
  return x;
}
OWN int jumps(int x) { return p_jump(x) + 1; }
P int p_lands(int x) {
  size_t n = enter("p_lands");
  if (!setjmp(target)) jumps(x);
  path[n] = 0, strcat(path, n ? ";p_lands" : "p_lands");
  x += wide(x);
  leave(n);
  return x;
}
#ifdef __cplusplus
P int p_throws(int x) {
  enter("p_throws");
  if (!zero) throw x;
  return x;
}
P int p_catches(int x) {
  size_t n = enter("p_catches");
  try {
    x += p_throws(x);
  } catch (int) {
    path[n] = 0, strcat(path, n ? ";p_catches" : "p_catches");
    x += wide(x);
  }
  leave(n);
  return x;
}
#endif
P int p_all(int x) {
  size_t n = enter("p_all");
  int v[7] = {3, 1, 4, 1, 5, 9, 2};
  for (int i = 0; i < 3; i++) {
    x += p_quick(x);
    x += between(x);
    x += p_quick(x) + wide(x);
    qsort(v, 7, sizeof v[0], p_order);
    x += p_quick(x);
    x += p_many(x, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    char *room = (char *)alloca((size_t)(100 + zero));
    room[zero] = 1;
    x += p_quick(room[zero]);
    x += p_lands(x);
#ifdef __cplusplus
    x += p_catches(x);
#endif
  }
  leave(n);
  return x;
}
int main(void) {
  int x = p_quick(1) + between(2);
  x += p_all(x);
  x += wide(x);
  for (int i = 0; i < rows; i++) printf("%s %ld\n", table[i].path, table[i].n);
  return x == 12345;
}

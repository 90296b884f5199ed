// Functions of the program with the names of functions that wait, which have more arguments than registers hold.
#include <stdio.h>

int thrd_sleep(int a, int b, int c, int d, int e, double f, const char *g);
struct large {
  int v[8];
};
struct large cnd_timedwait(int a, int b, int c, int d, int e, struct large f, int g, int h);

#ifdef OWN
int thrd_sleep(int a, int b, int c, int d, int e, double f, const char *g) { return printf("%d %d %d %d %d %g %s\n", a, b, c, d, e, f, g); }

struct large cnd_timedwait(int a, int b, int c, int d, int e, struct large f, int g, int h) {
  for (int i = 0; i < 8; i++) f.v[i] += a + b + c + d + e + g * h;
  return f;
}
#else
int main(void) {
  struct large l = {{1, 2, 3, 4, 5, 6, 7, 8}};
  for (int i = 0; i < 3; i++) {
    thrd_sleep(1, 2, 3, 4, 5 + i, 6.5, "seven");
    l = cnd_timedwait(1, 2, 3, 4, 5, l, 6, 7 + i);
  }
  printf("%d %d\n", l.v[0], l.v[7]);
  return 0;
}
#endif

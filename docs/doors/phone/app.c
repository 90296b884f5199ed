// A library of an app, with a program in place of the app.
#include <stdio.h>

int decode(int n);
int render(int n);
int share(int n);

__attribute__((noinline)) int decode(int n) { return n * 7 % 13; }
__attribute__((noinline)) int render(int n) { return n + decode(n); }
int share(int n) { return n - 1; }

int main(int argc, char **argv) {
  (void)argv;
  int n = 0;
  for (int i = 0; i < 100; i++) n += render(i);
  printf("%d\n", argc > 5 ? share(n) : n);
  return 0;
}

// A program that has called something, and then waits for the end of its input.
#include <stdio.h>
#define NI __attribute__((noinline))

static volatile int sink;
NI static int inner(int n) {
  for (int i = 0; i < 3; i++) sink += i * n;
  return sink;
}
NI static int outer(int n) { return inner(n) + inner(n + 1); }
int main(void) {
  for (int i = 0; i < 50; i++) outer(i);
  printf("ready\n");
  fflush(stdout);
  getchar();
  return 0;
}

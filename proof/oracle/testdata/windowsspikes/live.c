// A program that has called something, and then waits for the end of its input.
#include <stdio.h>
#define NI __attribute__((noinline))

static volatile int sink;
NI int inner(int n) {
  for (int i = 0; i < 3; i++) sink += i * n;
  return sink;
}
NI int outer(int n) { return inner(n) + inner(n + 1); }
int main(void) {
  for (int i = 0; i < 50; i++) sink += outer(i); /* whose calls are no tail calls */
  printf("ready\n");
  fflush(stdout);
  getchar();
  return 0;
}

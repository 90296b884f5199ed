/* Only the entries of functions are hooked: that stall took long is not known, but that outer did, as it calls another. */
#include <stdio.h>
#include <windows.h>
#define KEEP __attribute__((noinline))
static volatile int sink;

KEEP int stall(int ms) {
  Sleep(ms);
  return sink++;
}

KEEP int other(int n) { return sink += n; }

KEEP int outer(int ms) { return stall(ms) + other(ms) + other(1); }

int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; i++) sum += outer(i == 1 ? 60 : 0);
  printf("%d\n", sum);
}

/* An instruction with an absolute address, in a program that is loaded anywhere. */
#include <stdio.h>

int value = 7;

__attribute__((noinline)) static int *of_value(void) {
  int *p;
  __asm__("movabs $value, %0" : "=r"(p));
  return p;
}

int main(void) {
  int s = 0;
  for (int i = 0; i < 1000; i++) s += *of_value() & i;
  printf("%d\n", s);
  return 0;
}

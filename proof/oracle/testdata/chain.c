// Functions that end with calls of each other, so that one frame is left of three.
#include <stdio.h>

static volatile long sum;

__attribute__((noinline)) long work(long x) {
  for (int i = 0; i < 100; i++)
    if (x * i % 3) sum += x;
  return sum;
}
__attribute__((noinline)) long second(long x) { return work(x + sum % 2); }
__attribute__((noinline)) long first(long x) { return second(x * 3 + sum % 3); }

int main(void) {
  for (int i = 0; i < 300; i++) {
    sum += first(i) % 5 + 1;
  }
  printf("%d\n", sum > 0);
}

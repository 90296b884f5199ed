#include <stdio.h>

__attribute__((noinline)) static int leaf(int x) { return x * 3; }

__attribute__((noinline)) int middle(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += leaf(i);
  return sum;
}

__attribute__((noinline)) int unused(int a) { return a + 1; }

int main(int argc, char **argv) {
  printf("%d\n", middle(argc * 10));
  return argc > 7 ? unused(argc) : 0;
}

/* Calls three deep, by a library function too, and a recursion that is deeper than the 127 frames of perf. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned sum;

__attribute__((noipa)) static void leaf(unsigned n) {
  for (unsigned i = 0; i < n; i++) sum += i ^ n;
}

__attribute__((noipa)) static void middle(unsigned n) {
  leaf(n % 7 + 20);
  sum++;
}

__attribute__((noipa)) static unsigned down(unsigned n) {
  if (n == 0) return sum;
  return down(n - 1) + n;
}

__attribute__((noipa)) static int by_value(const void *a, const void *b) {
  middle(*(const unsigned *)a);
  return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv) {
  int times = argc > 1 ? atoi(argv[1]) : 1;
  unsigned few[16];
  for (int i = 0; i < times; i++) {
    for (unsigned j = 0; j < 16; j++) few[j] = j * 2654435761u % 97;
    qsort(few, 16, sizeof *few, by_value);
    middle((unsigned)i);
    sum += down(200);
  }
  printf("%u\n", sum);
  return 0;
}

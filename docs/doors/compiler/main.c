// A program whose start runs a few of its functions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int parse(const char *s);
int evaluate(int op, int n);
int usage(void);

int main(int argc, char **argv) {
  if (argc < 2) return usage();
  long sum = 0;
  for (int round = 0; round < 200000; round++)
    for (int i = 1; i < argc; i++) sum += evaluate(round % 64 ? 0 : 1, parse(argv[i]));
  printf("%ld\n", sum);
  return 0;
}

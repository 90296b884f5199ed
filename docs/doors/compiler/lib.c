#include <stdio.h>
#include <stdlib.h>
static int rare(int n) {
  int product = 1;
  for (int i = 2; i < n % 9; i++) product *= i;
  return product;
}
int usage(void) { return fprintf(stderr, "usage: app NUMBER...\n") < 0 ? 1 : 2; }
int bad(const char *s) { return s[0] ? -1 : 0; }
int parse(const char *s) {
  if (s[0] < '0' || s[0] > '9') return bad(s);
  int n = 0;
  for (; *s >= '0' && *s <= '9'; s++) n = n * 10 + (*s - '0');
  return n;
}
int evaluate(int op, int n) { return op == 0 ? n * 3 + 1 : op == 1 ? rare(n) : -n; }

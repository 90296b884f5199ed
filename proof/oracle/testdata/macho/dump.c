/* What cairn.h has for programs: files on demand, in a directory of the program's choice. */
#include <stdio.h>

#include "cairn.h"

CAIRN_SKIP __attribute__((noinline)) int skipped(int x) { return x + 1; }
static volatile int three = 3; /* has the compiler leave the calls where they are */
__attribute__((noinline)) int early(int x) { return skipped(x) * three; }
__attribute__((noinline)) int late(int x) { return x * (three + 2); }

int main(int argc, char **argv) {
  int sum = early(argc);
  printf("%d", cairn_dump());
  if (argc > 1) printf(" %d", cairn_set_dir(argv[1]));
  if (argc > 2) printf(" %d", cairn_set_dir(argv[2]));
  cairn_reset();
  sum += late(argc);
  printf(" %d\n", sum);
  return 0;
}

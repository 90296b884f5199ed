/* Prints how many registers slow exits changed, of calls that were and were
 * not slow enough for an episode. */
#include <stdio.h>
#include <unistd.h>

#include "timed.h"

extern unsigned char *__cairn_base __attribute__((visibility("hidden")));
extern int has_avx;
int check(void *, unsigned);

int main(void) {
  int bad = 0;
  has_avx = __builtin_cpu_supports("avx");
  usleep(50000);
  for (int i = 0; i < 200; i++) {
    unsigned clock = *(volatile unsigned *)(__cairn_base - 64);
    bad += check(0, i & 1 ? clock - 20000 : clock - 1);
  }
  bad += check(0, 0);
  printf("%d\n", bad);
  return 0;
}

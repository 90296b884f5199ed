/* Code in two segments, with a hole between them in which there may be nothing. */
#include <stdio.h>

#ifdef WRITABLE
#define FAR ".far,\"awx\",@progbits#"
#else
#define FAR ".far"
#endif

__attribute__((noinline, section(FAR))) static int far(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += i & n;
  return s;
}

int main(void) {
  int s = 0;
  for (int i = 0; i < 1000; i++) s += far(i);
  printf("%d\n", s);
  return 0;
}

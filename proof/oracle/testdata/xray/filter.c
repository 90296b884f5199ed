/* filter.c - calls of more than the 5 microseconds below which the runtime
 * forgets them, and shorter ones. */
#include "truth.h"

SEEN static void quick(void) { sink = sink + 1; }

UNSEEN static void spin(long time) {
  long start = nanoseconds();
  while (nanoseconds() - start < time) {
  }
}

SEEN static void slow(void) {
  CALLED();
  for (int i = 0; i < 5; i++) quick();
  spin(50000);
}

int main(void) {
  CALLED();
  long start = nanoseconds();
  for (int i = 0; i < 10; i++) slow();
  printf("atmost quick 50\nlonger slow %d\nshorter slow %ld\n", 10 * 50000, nanoseconds() - start);
  return truth();
}

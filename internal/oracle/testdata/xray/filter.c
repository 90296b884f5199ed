/* filter.c - calls of more than the 5 microseconds below which the runtime
 * forgets them, and shorter ones. */
#include <time.h>

#include "truth.h"

SEEN static void quick(void) { sink = sink + 1; }

UNSEEN static void spin(long nanoseconds) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  do clock_gettime(CLOCK_MONOTONIC, &b);
  while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < nanoseconds);
}

SEEN static void slow(void) {
  CALLED();
  for (int i = 0; i < 5; i++) quick();
  spin(50000);
}

int main(void) {
  CALLED();
  for (int i = 0; i < 10; i++) slow();
  puts("atmost quick 50");
  return truth();
}

/* second.c - a trace across the border of a wall-clock second, in many blocks. */
#include "truth.h"

SEEN static void leaf(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void batch(int n) {
  CALLED();
  for (int i = 0; i < n; i++) leaf();
}

/* since_second is the time since the last full second. */
UNSEEN static long since_second(void) { return nanoseconds() % 1000000000L; }

int main(void) {
  CALLED();
  enum { BATCHES = 40, PER_BATCH = 25, STEP = 100000 };
  for (int i = 0; i < BATCHES; i++) {
    /* Half of the batches before the border, half after it. */
    long at = 1000000000L - BATCHES / 2 * STEP + i * (long)STEP;
    while (at < 1000000000L ? since_second() < at : since_second() > 500000000L || since_second() < at - 1000000000L) {
    }
    batch(PER_BATCH);
  }
  printf("stack main;batch %d\nstack main;batch;leaf %d\n", BATCHES, BATCHES * PER_BATCH);
  return truth();
}

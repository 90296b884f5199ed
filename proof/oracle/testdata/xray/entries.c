/* entries.c - built with -fxray-instrumentation-bundle=function-entry: calls
 * begin and never end. */
#include "truth.h"

SEEN static void leaf(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void work(void) {
  CALLED();
  for (int i = 0; i < 5; i++) leaf();
}

int main(void) {
  CALLED();
  for (int i = 0; i < 3; i++) work();
  return truth();
}

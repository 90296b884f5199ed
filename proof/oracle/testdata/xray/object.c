/* object.c - one of the shared objects of objects.c: N is its number. */
#include "truth.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define INNER JOIN(inner_, N)
#define OUTER JOIN(outer_, N)

SEEN void INNER(void) {
  sink = sink + 1;
}

SEEN void OUTER(int n) {
  for (int i = 0; i < n; i++) INNER();
}

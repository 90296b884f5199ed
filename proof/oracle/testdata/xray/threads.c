/* threads.c - four threads, each with other numbers of calls. */
#include <pthread.h>
#include <stdlib.h>

#include "truth.h"

static unsigned rounds = 10;

SEEN static void leaf(unsigned i) {
  CALLED();
  sink = sink + i;
}

SEEN static void mid(unsigned n) {
  CALLED();
  for (unsigned i = 0; i < n; i++) leaf(i);
}

SEEN static unsigned recurse(unsigned n) {
  CALLED();
  if (n == 0) return 0;
  unsigned deeper = recurse(n - 1);
  sink = sink + deeper;
  return deeper + 1;
}

SEEN static void *work(void *number) {
  CALLED();
  unsigned n = (unsigned)(size_t)number;
  for (unsigned i = 0; i < rounds; i++) {
    mid(n + 3);
    if (i % 4 == 0) sink = recurse(n + 5);
  }
  return NULL;
}

int main(int argc, char **argv) {
  CALLED();
  enum { THREADS = 4 };
  if (argc > 1) rounds = (unsigned)atoi(argv[1]);
  pthread_t all[THREADS];
  unsigned long leaves = 0;
  for (size_t i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, work, (void *)i);
  for (size_t i = 0; i < THREADS; i++) pthread_join(all[i], NULL), leaves += rounds * (i + 3);
  printf("stack main 1\nstack work %d\nstack work;mid %u\nstack work;mid;leaf %lu\n", THREADS, THREADS * rounds, leaves);
  printf("stack work;recurse %u\nstack work;recurse;recurse %u\n", THREADS * ((rounds + 3) / 4), THREADS * ((rounds + 3) / 4));
  printf("threads %d\n", THREADS + 1);
  return truth();
}

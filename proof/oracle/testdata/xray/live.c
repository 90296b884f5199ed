/* live.c - at the end one thread still waits for ever and a younger one has
 * finished: the runtime writes the younger one's block twice. The older one's
 * block may be missing, so what it called is only a bound. */
#include <pthread.h>
#include <unistd.h>

#include "truth.h"

static pthread_barrier_t begun;

SEEN static void waiter_leaf(void) {
  sink = sink + 1;
}

SEEN static void *waiter(void *unused) {
  waiter_leaf();
  waiter_leaf();
  pthread_barrier_wait(&begun);
  for (;;) pause();
  return unused;
}

SEEN static void leaf(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void *worker(void *unused) {
  CALLED();
  for (int i = 0; i < 3; i++) leaf();
  return unused;
}

int main(void) {
  CALLED();
  pthread_t old, young;
  pthread_barrier_init(&begun, NULL, 2);
  pthread_create(&old, NULL, waiter, NULL);
  pthread_barrier_wait(&begun);
  pthread_create(&young, NULL, worker, NULL);
  pthread_join(young, NULL);
  puts("stack worker 1\nstack worker;leaf 3\natmost waiter 1\natmost waiter_leaf 2\nduplicates 1");
  return truth();
}

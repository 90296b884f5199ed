// Threads that live for a moment: as many as the first argument says, of which the
// second says how many at a time. Each calls, in the end from destructors of
// thread-specific data. It prints the calls of each stack.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define W __attribute__((noinline))
#define NOW __asm__ volatile("")
static pthread_key_t key;

W void w_leaf(void) { NOW; }
W void w_odd(void) { w_leaf(); NOW; }
W void w_last(intptr_t round) {
  w_leaf();
  if (round < 3) pthread_setspecific(key, (void *)(round + 1));
}
W void w_life(intptr_t i) {
  for (int k = 0; k < 3; k++) w_leaf();
  if (i % 2) w_odd();
  NOW;
}
static void destroy(void *round) { w_last((intptr_t)round); }
static void *thread(void *i) {
  pthread_setspecific(key, (void *)1);
  w_life((intptr_t)i);
  return 0;
}

int main(int argc, char **argv) {
  long n = atol(argv[1]), width = atol(argv[2]);
  pthread_t *t = calloc((size_t)width, sizeof *t);
  pthread_key_create(&key, destroy);
  for (long i = 0; i < n; i++) {
    if (i >= width) pthread_join(t[i % width], 0);
    if (pthread_create(&t[i % width], 0, thread, (void *)i)) return 1;
  }
  for (long i = n < width ? 0 : n - width; i < n; i++) pthread_join(t[i % width], 0);
  printf("w_last %ld\nw_last;w_leaf %ld\nw_life %ld\nw_life;w_leaf %ld\nw_life;w_odd %ld\nw_life;w_odd;w_leaf %ld\n", 3 * n, 3 * n, n, 3 * n, n / 2, n / 2);
  free(t);
  /* Not getrusage: that counts what the process had before it became this program. */
  char line[256];
  long used = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &used);
  fprintf(stderr, "%ld KB\n", used);
  return argc < 3;
}

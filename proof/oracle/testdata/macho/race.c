/* Four threads call the same functions at the same time. */
#include <stdio.h>

typedef void *pthread_t;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);

static volatile int waiting, sums[4];
__attribute__((noinline)) void step(int me) { sums[me]++; }
__attribute__((noinline)) void once(int me) { sums[me] += 0; }
static void *work(void *arg) {
  int me = (int)(long)arg;
  __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 4) ;
  once(me);
  for (int i = 0; i < 20000; i++) step(me);
  return 0;
}

int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  printf("%d\n", sums[0] + sums[1] + sums[2] + sums[3]);
  return 0;
}

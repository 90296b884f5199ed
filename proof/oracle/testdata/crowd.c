/* Eight threads that call a hundred functions together, each for the first
 * time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 8
#define F(n) \
  __attribute__((noinline)) static void f##n(void) { __asm__ volatile("" : : "i"(n##0)); }
#define TEN(G, d) G(d##0) G(d##1) G(d##2) G(d##3) G(d##4) G(d##5) G(d##6) G(d##7) G(d##8) G(d##9)
#define HUNDRED(G) \
  TEN(G, 1) TEN(G, 2) TEN(G, 3) TEN(G, 4) TEN(G, 5) TEN(G, 6) TEN(G, 7) TEN(G, 8) TEN(G, 9) TEN(G, 10)
HUNDRED(F)

#define NAME(n) f##n,
static void (*const all[])(void) = {HUNDRED(NAME)};
enum { COUNT = sizeof all / sizeof *all };
static atomic_int arrived[COUNT];

static void *run(void *arg) {
  for (int i = 0; i < COUNT; i++) {
    /* Nobody is a function ahead of the others. */
    atomic_fetch_add(&arrived[i], 1);
    for (int spins = 0; atomic_load(&arrived[i]) < THREADS && spins < 1000; spins++) __asm__ volatile("pause");
    all[i]();
  }
  return arg;
}

int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&t[i], 0, run, 0)) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  printf("%d\n", COUNT);
  return 0;
}

// Coroutines that change stacks in the middle of nested calls, in one thread or in
// several. The program says of each call what it took, and which coroutine made it:
// "name coroutine ns", in the order of ends. Stacks are next to each other.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#define OWN __attribute__((noinline, noclone))
enum { MOST = 8, STACK = 32 << 10 };
static __thread ucontext_t back, co[MOST];
static __thread int left;
static int busy, many; // ms that each piece of work takes; coroutines
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void told(const char *what, int k, long from) { printf("%s %d %ld\n", what, k, now() - from); }
OWN void work(int k) {
  long from = now();
  while (now() - from < busy * 1000000L) ;
  told("work", k, from);
}
OWN void yield(int k) {
  long from = now();
  swapcontext(&co[k], &back);
  told("yield", k, from);
}
OWN void inner(int k) {
  long from = now();
  work(k);
  yield(k);
  work(k);
  told("inner", k, from);
}
OWN void outer(int k) {
  long from = now();
  if (k % 2) yield(k);
  inner(k);
  yield(k);
  told("outer", k, from);
}
OWN void body(int k) {
  for (int i = 0; i < 2; i++) outer(k);
  for (left--;;) swapcontext(&co[k], &back);
}
OWN void resume(int k) {
  long from = now();
  swapcontext(&back, &co[k]);
  told("resume", k, from);
}
OWN void schedule(void) {
  for (int round = 0; left; round++)
    for (int k = 0; k < many; k++) resume((k * 3 + round) % many); // in no order of addresses
}
static void *run(void *unused) {
  char *stacks = malloc(MOST * STACK);
  left = many;
  for (int k = 0; k < many; k++) {
    getcontext(&co[k]);
    co[k].uc_stack.ss_sp = stacks + k * STACK, co[k].uc_stack.ss_size = STACK;
    makecontext(&co[k], (void (*)(void))body, 1, k);
  }
  schedule();
  return unused;
}
int main(int argc, char **argv) {
  pthread_t t;
  many = atoi(argv[1]), busy = atoi(argv[2]);
  if (argc > 3 && !pthread_create(&t, 0, run, 0)) pthread_join(t, 0);
  else run(0);
  return 0;
}

// Coroutines that change stacks in the middle of nested calls, in one thread or in
// several. The program says of each call what it took, and which coroutine made it:
// "name coroutine ns", in the order of ends. Stacks are next to each other.
//
// How it changes stacks is by ucontext, by threads of GNU Pth (-DPTH) or, as C++, by
// Boost.Coroutine2, whose libraries know nothing of probes.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define OWN __attribute__((noinline, noclone))
enum { MOST = 8, STACK = 32 << 10 };
static __thread int left;
OWN void body(int k);

#if defined PTH
#include <pth.h>
static pth_t back, co[MOST];
static void *begin(void *k) { return body((int)(long)k), NULL; }
static void prepare(void) { pth_init(), back = pth_self(); }
static void make(int k, char *stack) {
  pth_attr_t a = pth_attr_new();
  pth_attr_set(a, PTH_ATTR_STACK_ADDR, stack);
  pth_attr_set(a, PTH_ATTR_STACK_SIZE, STACK);
  co[k] = pth_spawn(a, begin, (void *)(long)k);
}
#define TO_BACK(k) pth_yield(back)
#define TO_COROUTINE(k) pth_yield(co[k])
#elif defined __cplusplus
#include <boost/coroutine2/coroutine.hpp>
#include <boost/coroutine2/fixedsize_stack.hpp>
typedef boost::coroutines2::coroutine<void> coroutine;
static __thread coroutine::pull_type *back[MOST];
static __thread coroutine::push_type *co[MOST];
static void prepare(void) {}
static void make(int k, char *) {
  co[k] = new coroutine::push_type(boost::coroutines2::fixedsize_stack(STACK), [k](coroutine::pull_type &to) {
    back[k] = &to;
    body(k);
  });
}
#define TO_BACK(k) (*back[k])()
#define TO_COROUTINE(k) (*co[k])()
#else
#include <ucontext.h>
static __thread ucontext_t back, co[MOST];
static void prepare(void) {}
static void make(int k, char *stack) {
  getcontext(&co[k]);
  co[k].uc_stack.ss_sp = stack, co[k].uc_stack.ss_size = STACK;
  makecontext(&co[k], (void (*)(void))body, 1, k);
}
#define TO_BACK(k) swapcontext(&co[k], &back)
#define TO_COROUTINE(k) swapcontext(&back, &co[k])
#endif

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
  TO_BACK(k);
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
  for (left--;;) TO_BACK(k);
}
OWN void resume(int k) {
  long from = now();
  TO_COROUTINE(k);
  told("resume", k, from);
}
OWN void schedule(void) {
  for (int round = 0; left; round++)
    for (int k = 0; k < many; k++) resume((k * 3 + round) % many); // in no order of addresses
}
static void *run(void *unused) {
  char *stacks = (char *)malloc(MOST * STACK);
  left = many;
  prepare();
  for (int k = 0; k < many; k++) make(k, stacks + k * STACK);
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

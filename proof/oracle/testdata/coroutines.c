// Coroutines that call, in threads, and count every call under its callers on
// their own. The functions whose names begin with w_ are those that the test has
// probes in. A coroutine is entered below whatever first switches to it; each has
// a path of its own, which goes with it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { COROUTINES = 8, STACK = 128 << 10, STEPS = 200, FUNCTIONS = 6, THREADS = 128 };
#define W __attribute__((noinline))

// A tree of calls, in the order of functions.
struct tree {
  long calls;
  struct tree *child[FUNCTIONS];
};
static const char *const names[FUNCTIONS] = {"w_thread", "w_work", "w_leaf", "w_yield", "w_begin", "w_deep"};

struct coroutine {
  ucontext_t context;
  struct tree *at;
  void *sp;
};
struct state {
  struct tree root;
  struct coroutine main, all[COROUTINES], *current;
  unsigned seed;
};
static __thread struct state *S;
static volatile int zero;

static struct tree *enter(int function) {
  struct tree *was = S->current->at, **c = &was->child[function];
  if (!*c) *c = calloc(1, sizeof **c);
  (*c)->calls++;
  S->current->at = *c;
  return was;
}
#define ENTER(f) struct tree *was = enter(f)
#define LEAVE S->current->at = was
static unsigned next(unsigned n) { return (S->seed = S->seed * 1103515245u + 12345u) >> 16 & 0x7fff ? (S->seed >> 16) % n : 0; }

#ifdef BY_HAND
/* jump_fcontext is named as that of Boost.Context, and keeps its stack pointer elsewhere. */
void *jump_fcontext(void **from, void *to);
__asm__(".globl jump_fcontext\n.type jump_fcontext, @function\njump_fcontext:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size jump_fcontext, .-jump_fcontext\n");
#endif

W int w_leaf(int x) {
  ENTER(2);
  x += zero;
  LEAVE;
  return x;
}
W void w_yield(struct coroutine *to) {
  ENTER(3);
  struct coroutine *from = S->current;
  if (to != from) {
    S->current = to;
    if (!to->at) to->at = from->at; /* it begins below here */
#ifdef BY_HAND
    jump_fcontext(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
  }
  w_leaf(1);
  LEAVE;
}
W int w_deep(int n) {
  ENTER(5);
  int x = n ? w_deep(n - 1) + w_leaf(n) : 0;
  if (n % 3 == 0) w_yield(&S->all[next(COROUTINES)]);
  x += w_leaf(x);
  LEAVE;
  return x;
}
W void w_work(int n) {
  ENTER(1);
  switch (n % 3) {
  case 0: w_deep((int)next(10)); break;
  case 1: w_yield(&S->all[next(COROUTINES)]); break;
  default: w_leaf(n);
  }
  w_leaf(n);
  LEAVE;
}
W void w_begin(void) {
  ENTER(4);
  for (int i = 0; i < STEPS; i++) w_work(i);
  w_yield(&S->main); /* ends all, for ever */
  LEAVE;
}
W void w_thread(void) {
  ENTER(0);
  for (int i = 0; i < COROUTINES; i++) {
    struct coroutine *c = &S->all[i];
    char *stack = malloc(STACK);
#ifdef BY_HAND
    void **top = (void **)(((size_t)stack + STACK) & -16ul);
    *--top = 0;
    *--top = (void *)w_begin;
    c->sp = top - 6;
#else
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = stack;
    c->context.uc_stack.ss_size = STACK;
    makecontext(&c->context, w_begin, 0);
#endif
  }
  w_leaf(0);
  w_yield(&S->all[0]);
  w_leaf(0);
  LEAVE;
}

static struct tree sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void merge(struct tree *to, const struct tree *from) {
  to->calls += from->calls;
  for (int i = 0; i < FUNCTIONS; i++)
    if (from->child[i]) {
      if (!to->child[i]) to->child[i] = calloc(1, sizeof *to);
      merge(to->child[i], from->child[i]);
    }
}
static void print(const struct tree *t, char *path, size_t n) {
  if (n) printf("%.*s %ld\n", (int)n, path, t->calls);
  for (int i = 0; i < FUNCTIONS; i++)
    if (t->child[i]) print(t->child[i], path, n + (size_t)sprintf(path + n, n ? ";%s" : "%s", names[i]));
}
static void *thread(void *seed) {
  S = calloc(1, sizeof *S);
  S->seed = (unsigned)(size_t)seed;
  S->current = &S->main;
  S->main.at = &S->root;
  w_thread();
  pthread_mutex_lock(&lock);
  merge(&sum, &S->root);
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  pthread_t t[THREADS];
  for (int i = 0; i < n; i++) pthread_create(&t[i], 0, thread, (void *)(size_t)(i + 1));
  for (int i = 0; i < n; i++) pthread_join(t[i], 0);
  static char path[1 << 20];
  print(&sum, path, 0);
  return argc < 2;
}

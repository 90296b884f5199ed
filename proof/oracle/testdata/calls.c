/* A program that knows how often each of its functions is called. It prints a
 * line for each: its name and how often.
 *
 *   calls threads N     N threads, which end in all ways
 *   calls forks N       N children, one after the other and nested
 *   calls kill          as many calls as it says, then SIGKILL
 *   calls long N        N rounds, then last()
 *   calls signals       a handler that calls functions, at any moment */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
#define NOW __asm__ volatile("")

OWN int leaf(int x) { NOW; return x + 1; }
OWN int inner(int x) { NOW; return leaf(x) + leaf(x); }
OWN int tail(int x) { NOW; return leaf(x); }
OWN void last(void) { NOW; }
static __thread jmp_buf back;
OWN void jumps(void) { longjmp(back, 1); }
OWN int lands(void) { if (!setjmp(back)) jumps(); return leaf(1); }
OWN int variadic(int n, ...) { __builtin_va_list a; __builtin_va_start(a, n); int s = 0; while (n--) s += leaf(__builtin_va_arg(a, int)); return s; }
OWN int nested(int n) { int add(int x) { NOW; n += x; return n; } int (*volatile f)(int) = add; return f(3) + add(4); }

enum { ROUNDS = 3000 };
OWN int round_(int i) { return inner(i) + tail(i) + lands() + variadic(2, i, i) + nested(i); }

/* The trampoline of nested must not be in the page of the thread's control block: qemu keeps pages read-only in which
 * code was executed, and Linux fails a futex there, so that pthread_join aborts a program without probes, too. */
static void *thread(void *p) {
  volatile char away[8192];
  volatile int s = 0;
  away[0] = 0;
  for (int i = 0; i < ROUNDS; i++) s += round_(i);
  if ((long)p % 3 == 1) pthread_exit(0);
  return 0;
}

static void told(const char *name, long n) { printf("%s %ld\n", name, n); }
static void rounds(long n) {
  told("round_", n), told("inner", n), told("tail", n), told("lands", n), told("jumps", n);
  told("variadic", n), told("nested", n), told("leaf", 6 * n);
}

static volatile sig_atomic_t handled;
OWN void in_handler(int n) { handled = handled + leaf(n) - n; }
static void handler(int n) { in_handler(n); }

int main(int argc, char **argv) {
  long n = argc > 2 ? atol(argv[2]) : 0;
  volatile int s = 0;
  setvbuf(stdout, 0, _IOLBF, 0);
  if (!strcmp(argv[1], "threads")) {
    pthread_t t[256];
    for (long i = 0; i < n; i++) pthread_create(&t[i], 0, thread, (void *)i);
    for (long i = 0; i < n; i++) pthread_join(t[i], 0);
    rounds(n * ROUNDS);
  } else if (!strcmp(argv[1], "forks")) {
    for (long i = 0; i < n; i++) {
      if (i % 8 == 7) waitpid(-1, 0, 0);
      if (fork()) continue;
      for (int k = 0; k < 100; k++) s += round_(k);
      if (!fork()) {
        s += round_(1);
        _exit(0);
      }
      while (wait(0) > 0);
      _exit(0);
    }
    while (wait(0) > 0);
    rounds(n * 101);
  } else if (!strcmp(argv[1], "kill")) {
    for (long i = 0; i < n; i++) s += round_(i);
    rounds(n);
    kill(getpid(), SIGKILL);
  } else if (!strcmp(argv[1], "long")) {
    for (long i = 0; i < n; i++) s += round_(i);
    rounds(n);
    last();
  } else if (!strcmp(argv[1], "signals")) {
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, 0);
    for (long i = 0; i < n; i++) s += inner(i);
    setitimer(ITIMER_REAL, &never, 0);
    told("inner", n), told("in_handler", handled);
  }
  return 0;
}

/* What is hard to follow in C: callbacks from the C library, tail calls,
 * recursion, longjmp, signals, jump tables, computed jumps, functions that do
 * not come back, and code that runs before and after main. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static unsigned long sum;
static jmp_buf out;

static void add(unsigned long v) { sum = sum * 31 + v; }

__attribute__((constructor)) static void before(void) { add(1); }
__attribute__((destructor)) static void after(void) { printf("%lu\n", sum); }
static void at_exit(void) { add(2); }

static int by_last_digit(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  if (x % 10 != y % 10) return x % 10 - y % 10;
  return x - y;
}

/* Mutual tail calls: compiled to jumps at -O2. */
NOINLINE static int odd(int n);
NOINLINE static int even(int n) { return n == 0 ? 1 : odd(n - 1); }
NOINLINE static int odd(int n) { return n == 0 ? 0 : even(n - 1); }

NOINLINE static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

/* A tail call through a pointer. */
NOINLINE static int twice(int (*f)(int), int n) { return f(f(n)); }
static int next(int n) { return n + 1; }

NOINLINE static void descend(int n) {
  if (n == 0) longjmp(out, 7);
  descend(n - 1);
  add(99); /* never: the jump skips it */
}

NOINLINE static int jump(int n) {
  volatile int depth = 0;
  int got = setjmp(out);
  if (got) {
    add((unsigned long)(got + depth));
    return got;
  }
  depth = n;
  descend(n);
  return 0;
}

static void handler(int sig) { add((unsigned long)sig); }

NOINLINE static const char *name(int n) {
  switch (n) {
  case 0: return "zero";
  case 1: add(11); return "one";
  case 2: return "two";
  case 3: add(13); /* fall through */
  case 4: return "four";
  case 5: return "five";
  case 6: add(16); return "six";
  case 7: return "seven";
  default: return "many";
  }
}

/* A threaded interpreter. */
NOINLINE static int interpret(const unsigned char *op) {
  static const void *const label[] = {&&inc, &&dbl, &&dec, &&skip, &&stop};
  int v = 0;
  goto *label[*op++];
inc:
  v++;
  goto *label[*op++];
dbl:
  v *= 2;
  goto *label[*op++];
dec:
  v--;
  goto *label[*op++];
skip:
  op++;
  goto *label[*op++];
stop:
  return v;
}

NOINLINE static int total(int n, ...) {
  va_list ap;
  int t = 0;
  va_start(ap, n);
  while (n-- > 0) t += n % 3 ? va_arg(ap, int) : (int)va_arg(ap, double);
  va_end(ap);
  return t;
}

NOINLINE static long on_stack(unsigned n) {
  char *p = __builtin_alloca(n + 1);
  memset(p, 'x', n);
  p[n] = 0;
  return (long)strlen(p);
}

__attribute__((noreturn, cold)) NOINLINE static void leave(int code) {
  add((unsigned long)code);
  exit(code - 3);
}

/* The part that never runs is cold, and split off at -O2. */
NOINLINE static int checked(int n) {
  if (__builtin_expect(n > 1000, 0)) {
    fprintf(stderr, "too many: %d\n", n);
    leave(9);
  }
  if (__builtin_expect(n == 40, 0)) abort();
  return n / 3;
}

static int never_called(int n) {
  if (n & 1) return name(n)[0];
  return checked(n);
}
int (*volatile keep)(int) = never_called;

int main(int argc, char **argv) {
  (void)argv;
  int v[64];
  for (int i = 0; i < 64; i++) v[i] = i * 37 % 101;
  qsort(v, 64, sizeof v[0], by_last_digit);
  for (int i = 0; i < 64; i++) add((unsigned long)v[i]);
  atexit(at_exit);
  add((unsigned long)even(25 + argc));
  add((unsigned long)fib(12));
  add((unsigned long)twice(next, argc));
  for (int i = 0; i < 5; i++) jump(i);
  signal(SIGUSR1, handler);
  for (int i = 0; i < 3; i++) raise(SIGUSR1);
  for (int i = 0; i < 10; i += 2) add((unsigned long)name(i)[1]);
  add((unsigned long)interpret((const unsigned char *)"\0\1\0\1\1\3\2\1\4"));
  add((unsigned long)total(4, 1.0, 5, 6, 2.0));
  for (unsigned i = 0; i < 300; i += 50) add((unsigned long)on_stack(i));
  for (int i = 0; i < 30; i++) add((unsigned long)checked(i));
  leave(3);
}

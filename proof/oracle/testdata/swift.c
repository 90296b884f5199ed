/* Calls as swiftc compiles them, by clang's attributes: the context of a method (self), a thrown error, and functions that wait,
 * which go on by tail calls with a context of their own. Their registers are x20, x21 and x22 on AArch64, and r13, r12 and r14 on
 * x86-64. */
#include <stdio.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define ERROR __attribute__((swift_error_result))
#define ASYNC __attribute__((swiftasynccall))
#define CONTEXT __attribute__((swift_async_context))
#define NOINLINE __attribute__((noinline))
#define TAIL __attribute__((musttail))

/* Names as Swift mangles them, which LLVM writes in parentheses where an ELF object refers to them. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define SWIFT_NAME(name) __asm__(TEXT(__USER_LABEL_PREFIX__) "$s4main" name)

typedef struct counter { long value, limit; } counter;
typedef struct error { int code; } error;

static error too_much = {7};

/* A method that throws. */
SWIFT NOINLINE long add(long n, SELF counter *self, ERROR error **thrown) SWIFT_NAME("7CounterV3addyS2iKF");
SWIFT NOINLINE long add(long n, SELF counter *self, ERROR error **thrown) {
  if (self->value + n > self->limit) {
    *thrown = &too_much;
    return 0;
  }
  self->value += n;
  return self->value;
}

/* It passes on its own self, and what is thrown. */
SWIFT NOINLINE long add_all(const long *n, int count, SELF counter *self, ERROR error **thrown) {
  long sum = 0;
  for (int i = 0; i < count; i++) {
    sum += add(n[i], self, thrown);
    if (*thrown) return sum;
  }
  return sum;
}

/* A closure: code with a context. */
typedef SWIFT long (*closure)(long n, SELF void *context);
SWIFT NOINLINE static long scaled(long n, SELF void *context) SWIFT_NAME("5applyyS2iXEfU_");
SWIFT NOINLINE static long scaled(long n, SELF void *context) { return n * *(long *)context; }
SWIFT NOINLINE static long apply(closure code, void *context, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) sum += code(i, context);
  return sum;
}

/* Four results in registers, which Swift has and C has not. */
typedef struct four { long a, b, c, d; } four;
SWIFT NOINLINE four split(long n) { return (four){n, n * 2, n * 3, n * 4}; }

/* A function that waits: its parts are functions, each of which calls the next, or the part of its caller that goes on. */
typedef struct context {
  struct context *caller;
  ASYNC void (*resume)(CONTEXT struct context *, long);
  long kept;
} context;

ASYNC NOINLINE static void deepest(CONTEXT context *c, long n) SWIFT_NAME("7deepestyS2iYaF");
ASYNC NOINLINE static void deepest(CONTEXT context *c, long n) { TAIL return c->resume(c->caller, n + 1); }
ASYNC NOINLINE static void after_deepest(CONTEXT context *c, long n) SWIFT_NAME("5waitsyS2iYaFTY0_");
ASYNC NOINLINE static void after_deepest(CONTEXT context *c, long n) {
  long kept = c->kept;
  context *caller = c->caller;
  ASYNC void (*resume)(CONTEXT context *, long) = c->resume;
  free(c);
  if (kept % 3 == 0) n += kept;
  TAIL return resume(caller, n);
}
ASYNC NOINLINE static void waits(CONTEXT context *c, long n) {
  c->kept = n;
  context *inner = malloc(sizeof *inner);
  inner->caller = c;
  inner->resume = after_deepest;
  /* deepest goes on with after_deepest, whose context is c. */
  if (n < 0) abort();
  context *next = inner;
  static context leaf;
  leaf.caller = next->caller;
  leaf.resume = next->resume;
  free(inner);
  TAIL return deepest(&leaf, n);
}
static long result;
ASYNC NOINLINE static void done(CONTEXT context *c, long n) {
  (void)c;
  result += n;
}

NOINLINE static long never_called(long n) { return n * n; }

int main(void) {
  counter c = {0, 50};
  long values[] = {3, 9, 20, 30, 1};
  error *thrown = NULL;
  long sum = add_all(values, 5, &c, &thrown);
  printf("%ld %ld %d\n", sum, c.value, thrown ? thrown->code : 0);
  long factor = 3;
  printf("%ld\n", apply(scaled, &factor, 10));
  four f = split(5);
  printf("%ld\n", f.a + f.b + f.c + f.d);
  for (long i = 0; i < 20; i++) {
    context *outer = malloc(sizeof *outer);
    outer->caller = NULL;
    outer->resume = done;
    waits(outer, i);
  }
  printf("%ld\n", result);
  return sum == never_called(-1) ? 1 : 0;
}

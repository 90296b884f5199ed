// What is hard on swapped return addresses, in rounds. Every round checks itself;
// the program prints the sum of what the rounds gave, and "ok".
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <string>

#define OWN __attribute__((noinline, noclone))
#define CHECK(x) ((x) ? (void)0 : fail(#x, __LINE__))
__attribute__((noreturn, no_instrument_function)) static void fail(const char *what, int line) {
  fprintf(stderr, "line %d: %s\n", line, what);
  _exit(1);
}

static thread_local long destroyed;
struct guard {
  OWN ~guard() { destroyed++; }
};

// ---- exceptions ----

OWN int thrower(int depth, int what) {
  guard g;
  if (!depth) {
    if (what & 1) throw what;
    throw std::string("text");
  }
  return thrower(depth - 1, what) + 1;
}

OWN int rethrower(int depth, int what) {
  guard g;
  try {
    return thrower(depth, what);
  } catch (int i) {
    destroyed++;
    throw;
  }
}

OWN long exceptions(long i) {
  long before = destroyed, depth = i % 7;
  try {
    rethrower((int)depth, (int)i);
  } catch (int v) {
    CHECK(v == (int)i && destroyed - before == depth + 3);
    return 1;
  } catch (const std::string &s) {
    CHECK(s == "text" && destroyed - before == depth + 2);
    return 2;
  }
  fail("nothing thrown", __LINE__);
}

// ---- longjmp ----

static thread_local jmp_buf home;
OWN void jumper(int depth, int v) {
  volatile char room[64];
  room[depth & 63] = (char)v;
  if (!depth) longjmp(home, v);
  jumper(depth - 1, v);
  room[0]++;
}
OWN long jumps(long i) {
  int v = setjmp(home);
  if (!v) jumper((int)(i % 9), (int)(i % 100) + 1);
  CHECK(v == (int)(i % 100) + 1);
  return v;
}

// ---- tail calls, many arguments, vectors, structures ----

struct big {
  long a[5];
  double d;
};
OWN big structures(long a, double b, long c, double d, long e, long f, long g, long h, long double l, big s) {
  big r = s;
  r.a[0] = a + c, r.a[1] = e + f, r.a[2] = g + h, r.d = b + d + (double)l + s.d;
  return r;
}
typedef double vec __attribute__((vector_size(32)));
OWN vec vectors(vec a, vec b) { return a * b; }
OWN __int128 wide(__int128 a, long b) { return a * b; }
OWN _Complex long double complexes(_Complex long double a) { return a * 2.0L; }
OWN long last(long a, long b, long c, long d, long e, long f) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f; }
OWN long middle(long a, long b, long c, long d, long e, long f) { return last(b, c, d, e, f, a); }
OWN long first(long a, long b, long c, long d, long e, long f) { return middle(b, c, d, e, f, a); }
OWN double sum(int n, ...) {
  __builtin_va_list list;
  double s = 0;
  __builtin_va_start(list, n);
  for (int i = 0; i < n; i++) s += i & 1 ? __builtin_va_arg(list, double) : (double)__builtin_va_arg(list, long);
  __builtin_va_end(list);
  return s;
}

OWN long aligned(long i) { // gcc copies the return address
  alignas(64) volatile long room[8];
  for (long k = 0; k < 8; k++) room[k] = i + k;
  return room[i & 7] - (i & 7);
}
OWN long roomy(long i) { // the stack pointer is another one at the end
  volatile char *room = (volatile char *)__builtin_alloca((unsigned long)(i % 1000) + 1);
  room[0] = (char)i;
  return aligned(i) + room[0] - (char)i;
}

OWN long values(long i) {
  big b = {{1, 2, 3, 4, 5}, 0.25};
  big r = structures(i, 0.5, 2, 0.25, 3, 4, 5, 6, 1.0L, b);
  CHECK(r.a[0] == i + 2 && r.a[1] == 7 && r.a[2] == 11 && r.a[4] == 5 && r.d == 2.0);
  vec v = vectors(vec{1, 2, 3, 4}, vec{(double)i, 2, 2, 2});
  CHECK(v[0] == (double)i && v[3] == 8);
  __int128 w = wide(((__int128)i << 64) + 3, 5);
  CHECK((long)(w >> 64) == 5 * i && (long)w == 15);
  _Complex long double c = complexes(3.0L + 1.0iL);
  CHECK(__real__ c == 6.0L && __imag__ c == 2.0L);
  CHECK(first(i, 1, 2, 3, 4, 5) == 2 + 2 * 3 + 3 * 4 + 4 * 5 + 5 * i + 6 * 1);
  CHECK(sum(9, 1L, 2.0, 3L, 4.0, 5L, 6.0, 7L, 8.0, i) == 36.0 + (double)i);
  CHECK(roomy(i) == i);
  return r.a[0];
}

// ---- backtrace ----

OWN int tracer(int depth, void **at, int room) {
  int n = depth ? tracer(depth - 1, at, room) : backtrace(at, room);
  return n + !!room - 1; // no tail call
}
OWN long traces(long i) {
  void *at[64];
  int n = tracer(4, at, 64);
  CHECK(n >= 8 && n < 64);
  return n > 0 && i >= 0;
}

// ---- threads that end early ----

OWN void leave_thread(int depth, long *out) {
  guard g;
  if (!depth) {
    *out = 3;
    pthread_exit((void *)5);
  }
  leave_thread(depth - 1, out);
}
OWN void *exiting(void *arg) {
  leave_thread(5, (long *)arg);
  return 0;
}
OWN void wait_here(int depth) {
  guard g;
  if (!depth)
    for (;;) pause();
  wait_here(depth - 1);
}
OWN void *waiting(void *arg) {
  *(volatile long *)arg = 1;
  wait_here(4);
  return 0;
}
OWN void *spinning(void *arg) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
  *(volatile long *)arg = 1;
  for (volatile long n = 0;; n++) first(n, 1, 2, 3, 4, 5);
}
OWN long threads(long i) {
  pthread_t t;
  volatile long seen = 0;
  void *r;
  void *(*kind[])(void *) = {exiting, waiting, spinning};
  CHECK(!pthread_create(&t, 0, kind[i % 3], (void *)&seen));
  if (i % 3) {
    while (!seen) sched_yield();
    pthread_cancel(t);
  }
  CHECK(!pthread_join(t, &r));
  CHECK(i % 3 ? r == PTHREAD_CANCELED : r == (void *)5 && seen == 3);
  return seen;
}

// ---- coroutines ----

static ucontext_t ours, theirs[4];
static long produced;
OWN void yield(int k) { swapcontext(&theirs[k], &ours); }
OWN void produce(int k, int depth) {
  guard g;
  produced++;
  if (depth) produce(k, depth - 1);
  else yield(k);
  produced++;
}
OWN void coroutine(int k) {
  for (;;) {
    try {
      produce(k, k);
      if (produced % 5 == 0) thrower(2, 1);
    } catch (int) {
    }
  }
}
OWN long coroutines(long i) {
  static char *stacks;
  if (!stacks) {
    stacks = (char *)malloc(4 << 16);
    for (int k = 0; k < 4; k++) {
      getcontext(&theirs[k]);
      theirs[k].uc_stack.ss_sp = stacks + (k << 16), theirs[k].uc_stack.ss_size = 1 << 16;
      makecontext(&theirs[k], (void (*)())coroutine, 1, k);
    }
  }
  long before = produced;
  swapcontext(&ours, &theirs[(i ^ i >> 3) & 3]);
  return produced - before;
}

// ---- signals, on another stack and out of one ----

static volatile long signals;
static thread_local sigjmp_buf from_signal;
static volatile int jump_out;
OWN void handle(int s) {
  signals++;
  void *at[16];
  if (!jump_out) CHECK(backtrace(at, 16) > 2);
  if (jump_out && s == SIGUSR1) siglongjmp(from_signal, 1);
}
OWN long raised(long i) {
  static int once;
  if (!once++) {
    static char alternate[1 << 16];
    stack_t st = {};
    st.ss_sp = alternate, st.ss_size = sizeof alternate;
    CHECK(!sigaltstack(&st, 0));
    struct sigaction a = {};
    a.sa_handler = handle;
    sigaction(SIGUSR2, &a, 0);
    a.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &a, 0);
  }
  long before = signals;
  jump_out = i & 1;
  if (!sigsetjmp(from_signal, 1)) raise(SIGUSR1);
  raise(SIGUSR2);
  CHECK(signals == before + 2);
  return 2;
}

// ---- what should be found ----

static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
OWN void busy(double ms) {
  for (double start = now(); now() - start < ms;) {
  }
}
OWN void busy_tail(double ms) {
  busy(ms);
  busy(0);
}
OWN long planted(long i) {
  busy(12);
  busy_tail(12);
  try {
    guard g;
    busy(12);
    thrower(3, 1);
  } catch (int) {
  }
  return i >= 0;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    long (*round)(long);
  } storms[] = {{"exceptions", exceptions}, {"jumps", jumps}, {"values", values}, {"traces", traces},
                {"threads", threads}, {"coroutines", coroutines}, {"raised", raised}, {"planted", planted}};
  for (int a = 1; a + 1 < argc; a += 2)
    for (auto &s : storms)
      if (!strcmp(argv[a], s.name)) {
        long total = 0;
        for (long i = 0, n = atol(argv[a + 1]); i < n; i++) total += s.round(i);
        printf("%s %ld\n", s.name, total);
      }
  puts("ok");
}

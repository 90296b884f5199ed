/* Threads of macOS, for programs with the runtime of modes that measure time: keys whose values are in slots of the thread's
 * block, which code reads at gs or tpidrro_el0; locks, the clock, and signals, as numbers of macOS. The clock has ticks of 125/3 ns, as
 * that of Apple's processors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "libsystem.h"

enum { KEYS = 8, NUMER = 125, DENOM = 3 };

static __thread void *volatile slots[64]; /* on arm64, the block is the thread's register */
static void (*ends[KEYS])(void *);
static unsigned keys;
static pthread_key_t at_end;

#if __x86_64__
enum { FIRST = 7 }; /* Go's word is at 0x30 */
static void *volatile *slot(unsigned k) { return slots + FIRST + k; }
static uint64_t number(unsigned k) { return FIRST + k; }
#else
static void *volatile *slot(unsigned k) { return slots + 8 + k; }
static uint64_t number(unsigned k) { return ((uint64_t)slot(k) - (uint64_t)__builtin_thread_pointer()) / 8; }
#endif

static void end_values(void *unused) {
  for (int again = 1, round = 0; again && round < 4; round++) {
    again = 0;
    for (unsigned k = 0; k < keys; k++) {
      void *v = *slot(k);
      if (!v || !ends[k]) continue;
      *slot(k) = 0;
      ends[k](v);
      again = 1;
    }
  }
  mach_ends();
}

void begin_slots(void) {
  if (!keys) pthread_key_create(&at_end, end_values);
#if __x86_64__
  syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, (void *)slots);
#endif
  pthread_setspecific(at_end, (void *)slots);
  mach_begins();
}

static int my_key_create(uint64_t *key, void (*end)(void *)) {
  if (keys == KEYS) return 35;
  *key = number(keys);
  ends[keys++] = end;
  return 0;
}
static int my_key_delete(uint64_t key) { return key == number(keys - 1) ? keys--, 0 : 0; }
static int my_setspecific(uint64_t key, void *v) {
  for (unsigned k = 0; k < keys; k++)
    if (number(k) == key) *slot(k) = v;
  return 0;
}

/* The C++ library makes threads as well. */
struct start { void *(*run)(void *); void *arg; };
static void *run_thread(void *p) {
  struct start s = *(struct start *)p;
  free(p);
  begin_slots();
  return s.run(s.arg);
}
int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
  static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  struct start *s = malloc(sizeof *s);
  *s = (struct start){run, arg};
  if (!create) create = dlsym(RTLD_NEXT, "pthread_create");
  return create(t, attr, run_thread, s);
}

static uint64_t my_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * DENOM / NUMER;
}
static int my_timebase(uint32_t *t) { return t[0] = NUMER, t[1] = DENOM, 0; }
static int my_wait_until(uint64_t at) {
  uint64_t ns = at * NUMER / DENOM;
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}

/* Only what the runtime does: all signals are blocked, and what was before comes back. */
static int my_sigmask(int how, const uint32_t *set, uint32_t *old) {
  static __thread sigset_t before;
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGSTKFLT); /* Mach suspends threads whatever they block */
  if (how == 1 && *set == ~0u) return pthread_sigmask(SIG_BLOCK, &all, &before);
  return pthread_sigmask(SIG_SETMASK, &before, 0);
}

static int my_threadid(void *none, uint64_t *to) { return *to = (uint64_t)gettid(), 0; }
static int my_setname(const char *name) { return pthread_setname_np(pthread_self(), name); }
static int my_qos(unsigned class, int priority) { return 0; }
static void my_removed(void *f) {}
static size_t stack_of(pthread_t of, int top) {
  pthread_attr_t attr;
  void *low = 0;
  size_t size = 0;
  pthread_getattr_np(of, &attr);
  pthread_attr_getstack(&attr, &low, &size);
  pthread_attr_destroy(&attr);
  return top ? (size_t)low + size : size;
}
static size_t my_stackaddr(pthread_t of) { return stack_of(of, 1); }
static size_t my_stacksize(pthread_t of) { return stack_of(of, 0); }

const struct function thread_functions[] = {
  {"_pthread_key_create", my_key_create}, {"_pthread_key_delete", my_key_delete}, {"_pthread_setspecific", my_setspecific},
  {"_mach_absolute_time", my_time}, {"_mach_timebase_info", my_timebase}, {"_mach_wait_until", my_wait_until},
  {"_pthread_sigmask", my_sigmask}, {"_pthread_threadid_np", my_threadid}, {"_pthread_setname_np", my_setname},
  {"_pthread_set_qos_class_self_np", my_qos},
  {"_pthread_get_stackaddr_np", my_stackaddr}, {"_pthread_get_stacksize_np", my_stacksize},
  {"__dyld_register_func_for_remove_image", my_removed}, {0, 0},
};

/* rename_register makes code of arm64 read another register in place of tpidrro_el0, which Linux does not set. */
void rename_register(void *at, uint64_t size) {
#if __aarch64__
  for (uint32_t *code = at, *end = code + size / 4; code < end; code++)
    if ((*code & ~0x1fU) == 0xd53bd060) *code ^= 0x20; /* mrs of tpidr_el0 */
  __builtin___clear_cache(at, (char *)at + size);
#endif
}

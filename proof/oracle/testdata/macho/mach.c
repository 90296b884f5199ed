/* What Mach tells of threads, by signals and /proc: threads that are suspended, their registers and times; and calls in which threads
 * wait, by a function without a frame that makes the system call, as libSystem has them, with the numbers of macOS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "libsystem.h"

enum { SUSPEND = SIGSTKFLT, THREADS = 1024, FAILS = 5, GONE = 37 };
enum { CVWAIT = 305, MUTEXWAIT = 301, SEMWAIT_SIGNAL = 334, ULOCK_WAIT = 515 };

static struct thread {
  int tid; /* 0: free */
  volatile int wanted, stopped;
  ucontext_t *context;
  int call;
  long arguments[4];
} threads[THREADS];
static __thread struct thread *self;
static __thread volatile int call;
static __thread volatile long arguments[4]; /* of macOS */

/* ---- waits ---- */

long mach_call(long number, ...);
extern const char mach_call_end[];
#if __x86_64__
__asm__(".text\n.globl mach_call, mach_call_end\nmach_call: mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\nmov %r9, %r8\n"
        "syscall\nret\nmach_call_end: nop\n");
#else
__asm__(".text\n.globl mach_call, mach_call_end\nmach_call: mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\nmov x4, x5\nsvc 0\nret\nmach_call_end: nop\n");
#endif

static long waits(int darwin, long number, long a, long b, long c, long d) {
  call = darwin;
  long r = mach_call(number, a, b, c, d, 0L);
  call = 0;
  return r;
}

static int my_nanosleep(const struct timespec *t, struct timespec *rest) {
  struct timespec left = *t;
  while (waits(SEMWAIT_SIGNAL, SYS_nanosleep, (long)&left, (long)&left, 0, 0) == -EINTR) {
  }
  return 0;
}

static int my_usleep(unsigned us) { return my_nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, 0); }

static void futex_wait(int darwin, int *at, int value) { waits(darwin, SYS_futex, (long)at, FUTEX_WAIT_PRIVATE, value, 0); }
static void called_with(long a, long b, long c, long d) { arguments[0] = a, arguments[1] = b, arguments[2] = c, arguments[3] = d; }

/* A plain mutex has its state in its first word, as the C library's own functions do: 2 if threads wait. */
int pthread_mutex_lock(pthread_mutex_t *m) {
  int r = pthread_mutex_trylock(m), *word = &m->__data.__lock;
  static int (*real)(pthread_mutex_t *);
  if (r != EBUSY) return r;
  if (m->__data.__kind & 0x7f) {
    if (!real) real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    return real(m);
  }
  while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE)) {
    called_with((long)m, 0, 0, m->__data.__owner);
    futex_wait(MUTEXWAIT, word, 2);
  }
  m->__data.__owner = gettid();
  m->__data.__nusers++;
  return 0;
}

/* Who waits without an end is told by a number, beside what the C library has. */
static int *told(void *c) {
  static int numbers[256];
  return &numbers[(uintptr_t)c >> 4 & 255];
}
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  int *number = told(c), was = __atomic_load_n(number, __ATOMIC_ACQUIRE);
  pthread_mutex_unlock(m);
  futex_wait(CVWAIT, number, was);
  return pthread_mutex_lock(m);
}
static int tell(void *c, const char *name) {
  int (*real)(void *) = dlsym(RTLD_NEXT, name);
  __atomic_fetch_add(told(c), 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, told(c), FUTEX_WAKE_PRIVATE, 1 << 30, 0, 0, 0);
  return real(c);
}
int pthread_cond_signal(pthread_cond_t *c) { return tell(c, "pthread_cond_signal"); }
int pthread_cond_broadcast(pthread_cond_t *c) { return tell(c, "pthread_cond_broadcast"); }

/* ---- threads that are suspended ---- */

static void stop_here(int sig, siginfo_t *info, void *context) {
  struct thread *t = self;
  int saved = errno;
  if (!t || !t->wanted) return;
  t->context = context, t->call = call;
  for (int i = 0; i < 4; i++) t->arguments[i] = arguments[i];
  __atomic_store_n(&t->stopped, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&t->wanted, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &t->wanted, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0);
  __atomic_store_n(&t->stopped, 0, __ATOMIC_RELEASE);
  errno = saved;
}

static void (*hook)(unsigned, pthread_t, void *, size_t);
static void *my_hook(void *f) {
  void *was = hook;
  hook = f;
  return was;
}

/* mach_begins is called by each thread that begins. Code of macOS uses what is below its stack pointer, so signals have another stack. */
void mach_begins(void) {
  static char stacks[THREADS][16384 * 2];
  int zero = 0, tid = gettid();
  for (int i = 0; i < THREADS && !self; i++, zero = 0)
    if (__atomic_compare_exchange_n(&threads[i].tid, &zero, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) self = &threads[i];
  if (!self) return;
  stack_t other = {.ss_sp = stacks[self - threads], .ss_size = sizeof *stacks};
  sigaltstack(&other, 0);
  struct sigaction a = {.sa_sigaction = stop_here, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigaction(SUSPEND, &a, 0);
  if (hook) hook(2, pthread_self(), 0, 0);
}

void mach_ends(void) {
  if (hook) hook(3, pthread_self(), 0, 0);
  struct thread *t = self;
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, SUSPEND);
  pthread_sigmask(SIG_BLOCK, &one, 0);
  self = 0;
  if (t) t->wanted = 0, __atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
}

/* The lowest bits of a port are set. */
#define TID(port) ((int)((port) >> 2))
static unsigned my_self(void) { return (unsigned)gettid() << 2 | 3; }

static struct thread *find(unsigned port) {
  for (int i = 0; i < THREADS; i++)
    if (__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE) == TID(port)) return &threads[i];
  return 0;
}

static int my_deallocate(unsigned task, unsigned port) { return 0; }

static int my_resume(unsigned port) {
  struct thread *t = find(port);
  if (!t) return FAILS;
  __atomic_store_n(&t->wanted, 0, __ATOMIC_RELEASE);
  syscall(SYS_futex, &t->wanted, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
  while (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == TID(port) && __atomic_load_n(&t->stopped, __ATOMIC_ACQUIRE)) sched_yield();
  return 0;
}

static int suspend(unsigned port) {
  struct thread *t = find(port);
  if (!t || port == my_self()) return FAILS;
  __atomic_store_n(&t->wanted, 1, __ATOMIC_RELEASE);
  if (syscall(SYS_tgkill, getpid(), TID(port), SUSPEND)) return FAILS;
  while (!__atomic_load_n(&t->stopped, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) != TID(port) || !t->wanted) return FAILS;
    sched_yield();
  }
  return 0;
}

/* LOADER_SUSPENDS=0: no thread can be suspended. */
static int my_suspend(unsigned port) {
  const char *can = getenv("LOADER_SUSPENDS");
  return can && *can == '0' ? FAILS : suspend(port);
}

/* Registers of a thread that is not suspended are those of one moment, too. */
static int copy_state(struct thread *t, int flavor, uint64_t *to, unsigned *words) {
  ucontext_t *u = t->context;
#if __x86_64__
  greg_t *g = u->uc_mcontext.gregs;
  const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL};
  if (flavor != 4 || *words < 42) return FAILS;
  for (int i = 0; i < 18; i++) to[i] = (uint64_t)g[order[i]];
  if (to[16] < (uint64_t)mach_call || to[16] >= (uint64_t)mach_call_end) return 0;
  if (*(uint16_t *)to[16] == 0x050f) to[16] += 2; /* it is to be made again */
  to[0] = 2u << 24 | (unsigned)t->call;
  for (int i = 0; i < 4; i++) to[(int[]){4, 5, 3, 10}[i]] = (uint64_t)t->arguments[i];
#else
  if (flavor != 6 || *words < 68) return FAILS;
  for (int i = 0; i < 31; i++) to[i] = u->uc_mcontext.regs[i];
  to[31] = u->uc_mcontext.sp, to[32] = u->uc_mcontext.pc;
  if (to[32] < (uint64_t)mach_call || to[32] >= (uint64_t)mach_call_end) return 0;
  if (*(uint32_t *)to[32] == 0xd4000001) to[32] += 4;
  to[16] = (uint64_t)t->call;
  for (int i = 0; i < 4; i++) to[i] = (uint64_t)t->arguments[i];
#endif
  return 0;
}

static int my_state(unsigned port, int flavor, uint64_t *to, unsigned *words) {
  struct thread *t = find(port);
  if (!t) return FAILS;
  if (t->stopped) return copy_state(t, flavor, to, words);
  int r = suspend(port);
  if (r) return r;
  r = copy_state(t, flavor, to, words);
  my_resume(port);
  return r;
}

/* Times are exact while a thread waits, and late by up to 10 ms while it runs. */
static int my_info(unsigned port, unsigned flavor, void *to, unsigned *words) {
  struct { uint64_t user, system; int usage, policy, state, flags, sleeps, priorities[3]; char name[64]; } x = {0};
  char path[64], text[256];
  struct timespec cpu;
  if (flavor != 5 || *words < sizeof x / 4 || !find(port)) return FAILS;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", TID(port));
  int fd = open(path, O_RDONLY), n = fd < 0 ? -1 : (int)read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0 || syscall(SYS_clock_gettime, ~TID(port) << 3 | 6, &cpu)) return GONE;
  text[n] = 0;
  char *end = strrchr(text, ')'), *begin = strchr(text, '(');
  if (!end || !begin) return GONE;
  x.state = end[2] == 'R' ? 1 : end[2] == 'D' ? 4 : end[2] == 'T' || end[2] == 't' ? 2 : 3;
  memcpy(x.name, begin + 1, (size_t)(end - begin - 1));
  x.user = ((uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec) / 1000 * 1000;
  if (x.state == 1) x.user -= x.user % 10000000;
  memcpy(to, &x, sizeof x);
  return 0;
}

static int my_read(unsigned task, uint64_t at, uint64_t n, uint64_t to, uint64_t *done) {
  int p[2];
  if (pipe2(p, O_NONBLOCK | O_CLOEXEC)) return FAILS;
  int ok = write(p[1], (void *)at, n) == (ssize_t)n && read(p[0], (void *)to, n) == (ssize_t)n;
  close(p[0]), close(p[1]);
  *done = ok ? n : 0;
  return ok ? 0 : 1;
}

/* The word of an unfair lock has the port of its owner; the lowest bit is 0 if others wait. */
static void my_lock(uint32_t *l) {
  uint32_t own = my_self(), was = 0;
  while (!__atomic_compare_exchange_n(l, &was, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    uint32_t waited = was & ~1u;
    if (was && (was == waited || __atomic_compare_exchange_n(l, &was, waited, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))) {
      called_with(2, (long)l, waited, 0);
      futex_wait(ULOCK_WAIT, (int *)l, (int)waited);
      own &= ~1u; /* others may wait yet */
    }
    was = 0;
  }
}
static void my_unlock(uint32_t *l) {
  if (!(__atomic_exchange_n(l, 0, __ATOMIC_RELEASE) & 1)) syscall(SYS_futex, l, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static uint64_t my_cpu(int clock) {
  struct timespec t;
  clock_gettime(clock == 16 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static unsigned task = 259;

const struct function mach_functions[] = {
  {"_mach_task_self_", &task}, {"_mach_thread_self", my_self}, {"_mach_port_deallocate", my_deallocate},
  {"_thread_suspend", my_suspend}, {"_thread_resume", my_resume}, {"_thread_get_state", my_state}, {"_thread_info", my_info},
  {"_vm_read_overwrite", my_read}, {"_clock_gettime_nsec_np", my_cpu}, {"_pthread_introspection_hook_install", my_hook},
  {"_os_unfair_lock_lock", my_lock}, {"_os_unfair_lock_unlock", my_unlock},
  {"_nanosleep", my_nanosleep}, {"_usleep", my_usleep}, {0, 0},
};

/* Functions that the program calls and that could keep faults from us, or must not fault: masks of
 * signals, which never block the signal of faults but appear to; threads, whose stacks are too
 * small for a fault; and ptrace. The same applies to system calls of recorded code. */

#include "lbr.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static const u64 FAULTS = 1ul << (SIGSEGV - 1);

/* The C library's function. */
#define NEXT(name)                                                         \
  ({                                                                       \
    static __typeof__(&name) next;                                         \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name);                  \
    next;                                                                  \
  })

static int result(i64 r) {
  if (r >= 0) return (int)r;
  errno = (int)-r;
  return -1;
}

/* ---- masks ---- */

/* mask changes the thread's mask, and the mask that the program sees. */
static i64 mask(u64 how, const u64 *set, u64 *old, u64 size) {
  struct state *s = lbr_modules[0].code ? lbr_mine() : 0;
  if (!s || size != sizeof *set) return lbr_raw(SYS_rt_sigprocmask, how, (u64)set, (u64)old, size, 0, 0);
  u64 wanted = set ? *set : 0, given = wanted & ~FAULTS, was = s->masked ? FAULTS : 0;
  i64 r = lbr_raw(SYS_rt_sigprocmask, how, set ? (u64)&given : 0, (u64)old, size, 0, 0);
  if (r < 0) return r;
  if (old) *old |= was;
  if (set && how == SIG_BLOCK) s->masked |= (wanted & FAULTS) != 0;
  if (set && how == SIG_UNBLOCK && wanted & FAULTS) s->masked = 0;
  if (set && how == SIG_SETMASK) s->masked = (wanted & FAULTS) != 0;
  if (s->pending && !s->masked) {
    s->pending = 0;
    lbr_raw(SYS_tgkill, (u64)getpid(), (u64)lbr_raw(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGSEGV, 0, 0, 0);
  }
  return r;
}

/* passable returns a set without the signal of faults. */
static const sigset_t *passable(const sigset_t *set, u64 *copy) {
  if (!set || !lbr_modules[0].code) return set;
  *copy = *(const u64 *)set & ~FAULTS;
  return (const sigset_t *)copy; /* the kernel reads as much */
}

/* Signals that the C library reserves: it removes them from masks. */
enum { CANCEL = 32, SET_XID = 33 };

VISIBLE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  u64 given = set ? *(const u64 *)set & ~(1ul << (CANCEL - 1) | 1ul << (SET_XID - 1)) : 0;
  return (int)-mask((u64)how, set ? &given : 0, (u64 *)old, 8);
}

VISIBLE int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  int error = pthread_sigmask(how, set, old);
  return error ? result(-error) : 0;
}

VISIBLE int sighold(int number) {
  sigset_t set;
  sigemptyset(&set);
  return sigaddset(&set, number) < 0 ? -1 : sigprocmask(SIG_BLOCK, &set, 0);
}

VISIBLE int sigrelse(int number) {
  sigset_t set;
  sigemptyset(&set);
  return sigaddset(&set, number) < 0 ? -1 : sigprocmask(SIG_UNBLOCK, &set, 0);
}

static int old_mask(int how, int word) {
  u64 set[16] = {(u32)word}, old[16] = {0};
  return sigprocmask(how, (sigset_t *)set, (sigset_t *)old) < 0 ? -1 : (int)old[0];
}

VISIBLE int sigblock(int word) { return old_mask(SIG_BLOCK, word); }
VISIBLE int sigsetmask(int word) { return old_mask(SIG_SETMASK, word); }

VISIBLE int sigsuspend(const sigset_t *set) {
  u64 copy[16] = {0};
  return NEXT(sigsuspend)(passable(set, copy));
}

int __sigsuspend(const sigset_t *);
VISIBLE int __sigsuspend(const sigset_t *set) { return sigsuspend(set); }

/* The BSD variant takes a mask of the first 32 signals, the System V one the signal to unblock. */
int __sigpause(int, int);
VISIBLE int __sigpause(int what, int is_signal) {
  u64 set[16] = {0};
  if (!is_signal) set[0] = (u32)what;
  else if (sigprocmask(SIG_BLOCK, 0, (sigset_t *)set) < 0 || sigdelset((sigset_t *)set, what) < 0) return -1;
  return sigsuspend((sigset_t *)set);
}

VISIBLE int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set) {
  u64 copy[16] = {0};
  return NEXT(ppoll)(fds, n, timeout, passable(set, copy));
}

int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
VISIBLE int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set, size_t size) {
  u64 copy[16] = {0};
  return NEXT(__ppoll_chk)(fds, n, timeout, passable(set, copy), size);
}

VISIBLE int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *timeout, const sigset_t *set) {
  u64 copy[16] = {0};
  return NEXT(pselect)(n, in, out, other, timeout, passable(set, copy));
}

VISIBLE int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *set) {
  u64 copy[16] = {0};
  return NEXT(epoll_pwait)(fd, events, n, timeout, passable(set, copy));
}

struct timespec;
int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
int pthread_attr_setsigmask_np(pthread_attr_t *, const sigset_t *);
VISIBLE int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout, const sigset_t *set) {
  u64 copy[16] = {0};
  return NEXT(epoll_pwait2)(fd, events, n, timeout, passable(set, copy));
}

VISIBLE int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set) {
  sigset_t copy;
  if (!set || !lbr_modules[0].code) return NEXT(pthread_attr_setsigmask_np)(attr, set);
  copy = *set;
  sigdelset(&copy, SIGSEGV);
  return NEXT(pthread_attr_setsigmask_np)(attr, &copy);
}

/* A jump out of a handler restores the saved mask, without the signal that only appears to be
 * blocked. */
static void jumps(const struct __jmp_buf_tag *to) {
  struct state *s = to->__mask_was_saved && lbr_modules[0].code ? lbr_mine() : 0;
  if (s) s->masked = 0;
}

#define JUMP(name)                                              \
  VISIBLE void name(struct __jmp_buf_tag to[1], int value) {    \
    jumps(to);                                                  \
    NEXT(name)(to, value);                                      \
    __builtin_unreachable();                                    \
  }

void __longjmp_chk(struct __jmp_buf_tag[1], int);
JUMP(siglongjmp)
JUMP(longjmp)
JUMP(_longjmp)
JUMP(__longjmp_chk)

/* ---- threads ---- */

struct begun {
  void *(*start)(void *);
  void *arg;
  u32 used;
};

static struct begun begun[512];

/* begin_thread makes the thread's state, and so its stack for faults, before its first fault. */
static void *begin_thread(void *slot) {
  struct begun b = *(struct begun *)slot;
  __atomic_store_n(&((struct begun *)slot)->used, 0, __ATOMIC_RELEASE);
  lbr_mine();
  return b.start(b.arg);
}

VISIBLE int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
  __typeof__(&pthread_create) next = NEXT(pthread_create);
  if (!lbr_modules[0].code) return next(thread, attr, start, arg);
  for (struct begun *b = begun; b < begun + sizeof begun / sizeof *begun; b++) {
    if (__atomic_exchange_n(&b->used, 1, __ATOMIC_ACQUIRE)) continue;
    b->start = start;
    b->arg = arg;
    int error = next(thread, attr, begin_thread, b);
    if (error) __atomic_store_n(&b->used, 0, __ATOMIC_RELEASE);
    return error;
  }
  return next(thread, attr, start, arg); /* counts threads that have not begun yet */
}

/* ---- to be traced ---- */

static void traced(void) {
  if (lbr_modules[0].size) lbr_give_up("it asks to be traced, and a tracer sees the faults that lead to the copy");
}

VISIBLE long ptrace(enum __ptrace_request request, ...) {
  va_list l;
  va_start(l, request);
  long pid = va_arg(l, long);
  void *at = va_arg(l, void *), *data = va_arg(l, void *);
  va_end(l);
  if (request == PTRACE_TRACEME && lbr_modules[0].code) traced();
  return NEXT(ptrace)(request, pid, at, data);
}

/* ---- system calls of recorded code, and those by syscall() ---- */

struct kernel_action {
  void *handler;
  u64 flags;
  void *restorer;
  u64 mask;
};

static i64 action(i64 number, const struct kernel_action *act, struct kernel_action *old) {
  struct sigaction a = {0}, was = {0};
  if (act) {
    a.sa_handler = (void (*)(int))act->handler;
    a.sa_flags = (int)act->flags;
    *(u64 *)&a.sa_mask = act->mask;
  }
  if (lbr_sigaction((int)number, act ? &a : 0, &was) < 0) return -errno;
  if (old) *old = (struct kernel_action){(void *)was.sa_handler, (u64)(u32)was.sa_flags, 0, *(u64 *)&was.sa_mask};
  return 0;
}

i64 lbr_call(i64 n, u64 *a) {
  const u64 *set = 0;
  u64 copy, two[2];
  int error = errno;
  i64 r;
  if (!lbr_modules[0].code) return lbr_raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
  switch ((u32)n) {
  case SYS_rt_sigprocmask: return mask(a[0], (const u64 *)a[1], (u64 *)a[2], a[3]);
  case SYS_rt_sigaction:
    if (a[3] != 8) break;
    r = action((i64)a[0], (const struct kernel_action *)a[1], (struct kernel_action *)a[2]);
    errno = error;
    return r;
  case SYS_sigaltstack:
    r = sigaltstack((const stack_t *)a[0], (stack_t *)a[1]) < 0 ? -errno : 0;
    errno = error;
    return r;
  case SYS_rt_sigsuspend:
    if ((set = (const u64 *)a[0])) copy = *set & ~FAULTS, a[0] = (u64)&copy;
    break;
  case SYS_ppoll:
    if ((set = (const u64 *)a[3])) copy = *set & ~FAULTS, a[3] = (u64)&copy;
    break;
  case SYS_epoll_pwait:
  case 441: /* epoll_pwait2 */
    if ((set = (const u64 *)a[4])) copy = *set & ~FAULTS, a[4] = (u64)&copy;
    break;
  case SYS_pselect6:
    if (!a[5] || !(set = *(const u64 **)a[5])) break;
    copy = *set & ~FAULTS;
    two[0] = (u64)&copy, two[1] = ((const u64 *)a[5])[1];
    a[5] = (u64)two;
    break;
  case SYS_ptrace:
    if (a[0] == PTRACE_TRACEME) traced();
    break;
  }
  return lbr_raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}

i64 lbr_call_failed(i64 r) { return result(r); }

/* Signals of the program. A fault is how the copy is come to, so the signal of
 * faults must not be blocked, nor taken. Other handlers are called by one of ours: a
 * handler runs code that stores events, as the code does that it interrupts. */

#include "lbr.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 65 };

static struct sigaction handler[SIGNALS]; /* the program's */

static int (*real(void))(int, const struct sigaction *, struct sigaction *) {
  static int (*f)(int, const struct sigaction *, struct sigaction *);
  if (!f) *(void **)&f = dlsym(RTLD_NEXT, "sigaction");
  return f;
}

void lbr_handle(int number, void (*f)(int, siginfo_t *, void *)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = f;
  a.sa_flags = SA_SIGINFO;
  sigfillset(&a.sa_mask); /* a handler of the program's cannot come between */
  real()(number, &a, &handler[number]);
}

static int is_default(const struct sigaction *a) {
  return !(a->sa_flags & SA_SIGINFO) && (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN);
}

static void call(int number, siginfo_t *info, ucontext_t *u) {
  const struct sigaction *a = &handler[number];
  if (a->sa_flags & SA_SIGINFO) a->sa_sigaction(number, info, u);
  else a->sa_handler(number);
}

/* relay calls the program's handler. What it interrupted may have been about to
 * store an event: then the slots of the state are in use, and the position is in
 * rax, which may be another one now. */
static void relay(int number, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  greg_t *regs = u->uc_mcontext.gregs;
  u64 pc = (u64)regs[REG_RIP], original;
  if (!lbr_in_copy(pc)) {
    call(number, info, u);
    return;
  }
  struct state *s = lbr_mine();
  u64 slots[7] = {s->save, s->save_rcx, s->flags, s->target, s->go, s->from, s->module};
  struct event *position = s->position, begun = {0};
  if (position != s->end) begun = *position; /* what the handler's events overwrite */
  regs[REG_RIP] = (i64)(original = lbr_original(pc));
  call(number, info, u);
  s->save = slots[0], s->save_rcx = slots[1], s->flags = slots[2];
  s->target = slots[3], s->go = slots[4], s->from = slots[5];
  s->module = slots[6];
  if (regs[REG_RIP] != (i64)original) return; /* the handler chose where to go on */
  regs[REG_RIP] = (i64)pc;
  if ((u64)regs[REG_RAX] == (u64)position) {
    /* Where nothing is stored yet, or part of an event: that is stored again. Behind the
     * end of the buffer nothing is, and it cannot be read. */
    if (s->position != s->end && position != s->end) *s->position = begun;
    regs[REG_RAX] = (i64)s->position;
  } else if ((u64)regs[REG_RAX] == (u64)(position + 1)) {
    if (s->position == s->end) s->position = lbr_full(s, u, lbr_modules[begun.module].lo + (begun.from & FROM_MASK), begun.from >> KIND_SHIFT);
    *s->position = begun;
    regs[REG_RAX] = (i64)(s->position + 1);
  }
}

void lbr_forward(int number, siginfo_t *info, ucontext_t *u) {
  u64 pc = (u64)u->uc_mcontext.gregs[REG_RIP];
  if (!is_default(&handler[number])) {
    /* It is the program's code, which is come to by faults: ours is left. */
    sigset_t mask;
    sigorset(&mask, &u->uc_sigmask, &handler[number].sa_mask);
    sigdelset(&mask, number);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
    if (lbr_in_copy(pc)) {
      relay(number, info, u);
    } else {
      call(number, info, u);
    }
    return;
  }
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = SIG_DFL;
  real()(number, &a, 0); /* and the fault comes again */
}

/* ---- what the program calls ---- */

VISIBLE int sigaction(int number, const struct sigaction *act, struct sigaction *old) {
  if (number <= 0 || number >= SIGNALS || !lbr_modules[0].code) return real()(number, act, old);
  struct sigaction was = handler[number], ours;
  int r = 0;
  if (number == SIGSEGV) {
    if (act) handler[number] = *act;
  } else if (!act || is_default(act)) {
    r = real()(number, act, &was);
    if (was.sa_sigaction == relay) was = handler[number];
  } else {
    ours = *act;
    ours.sa_sigaction = relay;
    ours.sa_flags |= SA_SIGINFO;
    sigdelset(&ours.sa_mask, SIGSEGV);
    handler[number] = *act;
    struct sigaction before;
    r = real()(number, &ours, &before);
    if (r < 0) handler[number] = was;
    else if (before.sa_sigaction != relay) was = before;
  }
  if (r == 0 && old) *old = was;
  return r;
}

VISIBLE void (*signal(int number, void (*f)(int)))(int) {
  struct sigaction a, old;
  memset(&a, 0, sizeof a);
  a.sa_handler = f;
  a.sa_flags = SA_RESTART;
  return sigaction(number, &a, &old) < 0 ? SIG_ERR : old.sa_handler;
}

/* passable is the set without the signal of faults. */
static const sigset_t *passable(const sigset_t *set, sigset_t *copy) {
  if (!set || !lbr_modules[0].code) return set;
  *copy = *set;
  sigdelset(copy, SIGSEGV);
  return copy;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

VISIBLE int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  sigset_t copy;
  return NEXT(sigprocmask)(how, how == SIG_UNBLOCK ? set : passable(set, &copy), old);
}

VISIBLE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  sigset_t copy;
  return NEXT(pthread_sigmask)(how, how == SIG_UNBLOCK ? set : passable(set, &copy), old);
}

VISIBLE int sigsuspend(const sigset_t *set) {
  sigset_t copy;
  return NEXT(sigsuspend)(passable(set, &copy));
}

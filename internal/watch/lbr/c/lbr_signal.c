/* Signals of the program. The copy is entered by faults, so the signal of faults is never blocked
 * or taken over: the program's settings for it are kept here. Other handlers of the program are
 * called by one of ours: a handler runs code that stores events, and so may the code that it
 * interrupts.
 *
 * Our handlers run on our own stack, as the program's may be very small. Before the program's
 * handler runs, its signal frame is moved to where the kernel would have put it: on the program's
 * signal stack, or on the current one. */

#include "lbr.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 65, RED_ZONE = 128, DISARM = (int)(1u << 31) /* SS_AUTODISARM */ };

/* The kernel's part of a context; that of the C library is longer. */
enum { CONTEXT = offsetof(ucontext_t, uc_sigmask) + 8 };

static struct sigaction handler[SIGNALS]; /* the program's */

static u64 bit(int number) { return 1ul << (number - 1); }

/* word returns the kernel's part of a set. */
static u64 *word(sigset_t *set) { return (u64 *)set; }

static int (*real(void))(int, const struct sigaction *, struct sigaction *) {
  static int (*f)(int, const struct sigaction *, struct sigaction *);
  if (!f) *(void **)&f = dlsym(RTLD_NEXT, "sigaction");
  return f;
}

void lbr_handle(int number, void (*f)(int, siginfo_t *, void *)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = f;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&a.sa_mask); /* no handler of the program may interrupt */
  real()(number, &a, &handler[number]);
}

void lbr_unhandle(int number) { real()(number, &handler[number], 0); }

static int is_default(const struct sigaction *a) {
  return !(a->sa_flags & SA_SIGINFO) && (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN);
}

static void set_mask(u64 mask) { lbr_raw(SYS_rt_sigprocmask, SIG_SETMASK, (u64)&mask, 0, 8, 0, 0); }

/* ---- what is interrupted ---- */

/* The code that a handler interrupted may have been storing an event: then the slots of the state
 * are in use, and rax holds the position, which may change during the handler. */
struct interrupted {
  u64 pc, original, slots[7];
  struct event *position, begun;
};

static int interrupt(struct state *s, ucontext_t *u, struct interrupted *i) {
  greg_t *regs = u->uc_mcontext.gregs;
  i->pc = (u64)regs[REG_RIP];
  if (!s || !lbr_in_copy(i->pc)) return 0;
  u64 slots[7] = {s->save, s->save_rcx, s->flags, s->target, s->go, s->from, s->module};
  memcpy(i->slots, slots, sizeof slots);
  i->position = s->position;
  if (s->position != s->end) i->begun = *s->position; /* what the handler's events overwrite */
  regs[REG_RIP] = (i64)(i->original = lbr_original(i->pc));
  return 1;
}

static void resume(struct state *s, ucontext_t *u, const struct interrupted *i) {
  greg_t *regs = u->uc_mcontext.gregs;
  s->save = i->slots[0], s->save_rcx = i->slots[1], s->flags = i->slots[2];
  s->target = i->slots[3], s->go = i->slots[4], s->from = i->slots[5];
  s->module = i->slots[6];
  if (regs[REG_RIP] != (i64)i->original) return; /* the handler changed the place to continue */
  regs[REG_RIP] = (i64)i->pc;
  u64 rax = (u64)regs[REG_RAX], behind = rax - (u64)i->position;
  if (behind && behind != sizeof *i->position) return;
  /* The event may be stored not at all, partly, or completely: it is stored again, and needs room
   * for that. Nothing is known of the frame here. If the buffer was full before, the store faults
   * as it would have. */
  if (i->position == s->end && s->position == s->end) return;
  if (i->position != s->end) {
    if (s->position == s->end) s->position = lbr_full(s, u, FROM_OUTSIDE);
    *s->position = i->begun;
  }
  regs[REG_RAX] = (i64)((u64)s->position + behind);
}

/* ---- handlers ---- */

static int on_given(const struct state *s, u64 sp) {
  return !(s->given.ss_flags & (SS_DISABLE | DISARM)) && sp - (u64)s->given.ss_sp - 1 < s->given.ss_size;
}

/* lbr_run calls the program's handler, on the stack that it requires; all signals are blocked
 * before and after that. */
void lbr_run(int number, siginfo_t *info, ucontext_t *u) {
  struct sigaction a = handler[number];
  struct interrupted i;
  struct state *s = lbr_mine();
  int in = interrupt(s, u, &i);
  u64 *mask = word(&u->uc_sigmask), during;
  if (number == SIGSEGV && a.sa_flags & (int)SA_RESETHAND) { /* otherwise the kernel has done it */
    handler[number].sa_flags = 0;
    handler[number].sa_handler = SIG_DFL;
  }
  if (s) {
    if (s->masked) *mask |= bit(SIGSEGV);
    u->uc_stack = s->given;
    if (s->given.ss_flags & DISARM) s->given = (stack_t){.ss_flags = SS_DISABLE};
  }
  during = *mask | *word(&a.sa_mask);
  if (!(a.sa_flags & SA_NODEFER)) during |= bit(number);
  if (s) s->masked = (during & bit(SIGSEGV)) != 0;
  set_mask(during & ~bit(SIGSEGV));
  if (a.sa_flags & SA_SIGINFO) a.sa_sigaction(number, info, u);
  else a.sa_handler(number);
  set_mask(~0ul);
  if ((s = lbr_mine())) {
    s->masked = (*mask & bit(SIGSEGV)) != 0;
    s->given = u->uc_stack;
    u->uc_stack = (stack_t){.ss_sp = s->stack, .ss_size = STACK};
    if (in) resume(s, u, &i);
  }
  *mask &= ~bit(SIGSEGV);
}

/* The kernel's signal frame: rt_sigframe. */
struct frame {
  u64 back;
  u8 context[CONTEXT];
  siginfo_t info;
};

/* registers_size returns the size of the vector registers in a context. */
static u64 registers_size(const ucontext_t *u) {
  enum { LEGACY = 512, SOFTWARE = 464, MAGIC = 0x46505853 };
  const u32 *software = (const u32 *)((const u8 *)u->uc_mcontext.fpregs + SOFTWARE);
  if (!u->uc_mcontext.fpregs) return 0;
  return software[0] == MAGIC ? software[1] : LEGACY;
}

/* deliver passes a signal to the program's handler, and does not return if it is on our stack. */
static void deliver(int number, siginfo_t *info, ucontext_t *u) {
  struct state *s = lbr_mine();
  u64 sp = (u64)u->uc_mcontext.gregs[REG_RSP], n = registers_size(u);
  if (!s || (u64)u - (u64)s->stack >= STACK) { /* the thread's first */
    lbr_run(number, info, u);
    return;
  }
  if (handler[number].sa_flags & SA_ONSTACK && !(s->given.ss_flags & SS_DISABLE) && !on_given(s, sp)) sp = (u64)s->given.ss_sp + s->given.ss_size;
  else sp -= RED_ZONE;
  u64 registers = (sp - n) & ~63ul;
  struct frame *f = (struct frame *)(((registers - sizeof *f) & ~15ul) - 8);
  memcpy((void *)registers, u->uc_mcontext.fpregs, n);
  f->back = ((const u64 *)u)[-1];
  memcpy(f->context, u, sizeof f->context);
  f->info = *info;
  if (n) *(u64 *)(f->context + offsetof(ucontext_t, uc_mcontext.fpregs)) = registers;
  lbr_switch(f, number, &f->info, f->context);
}

static void relay(int number, siginfo_t *info, void *context) {
  int error = errno;
  deliver(number, info, context);
  errno = error;
}

void lbr_forward(int number, siginfo_t *info, ucontext_t *u) {
  struct state *s = lbr_mine();
  struct sigaction a = handler[number];
  int sent = info->si_code <= 0;
  if (sent && s && s->masked) { /* until the program unblocks it */
    s->pending = 1;
    return;
  }
  if (!is_default(&a)) {
    deliver(number, info, u);
    return;
  }
  if (sent && a.sa_handler == SIG_IGN) return;
  memset(&a, 0, sizeof a);
  a.sa_handler = SIG_DFL;
  real()(number, &a, 0); /* the fault will occur again */
  if (sent) lbr_raw(SYS_tgkill, (u64)getpid(), lbr_raw(SYS_gettid, 0, 0, 0, 0, 0, 0), (u64)number, 0, 0, 0);
}

/* ---- what the program calls ---- */

int lbr_sigaction(int number, const struct sigaction *act, struct sigaction *old) {
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
    ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    handler[number] = *act;
    struct sigaction before;
    r = real()(number, &ours, &before);
    if (r < 0) handler[number] = was;
    else if (before.sa_sigaction != relay) was = before;
  }
  if (r == 0 && old) *old = was;
  return r;
}

VISIBLE int sigaction(int number, const struct sigaction *act, struct sigaction *old) { return lbr_sigaction(number, act, old); }

/* Erlang defines sigaction itself, and calls the C library's by its other name. */
int __sigaction(int, const struct sigaction *, struct sigaction *);
VISIBLE int __sigaction(int number, const struct sigaction *act, struct sigaction *old) { return lbr_sigaction(number, act, old); }

static void (*set_handler(int number, void (*f)(int), int flags))(int) {
  struct sigaction a, old;
  memset(&a, 0, sizeof a);
  a.sa_handler = f;
  a.sa_flags = flags;
  return lbr_sigaction(number, &a, &old) < 0 ? SIG_ERR : old.sa_handler;
}

VISIBLE void (*signal(int number, void (*f)(int)))(int) { return set_handler(number, f, SA_RESTART); }
VISIBLE void (*bsd_signal(int number, void (*f)(int)))(int) { return set_handler(number, f, SA_RESTART); }
VISIBLE void (*ssignal(int number, void (*f)(int)))(int) { return set_handler(number, f, SA_RESTART); }
VISIBLE void (*sysv_signal(int number, void (*f)(int)))(int) { return set_handler(number, f, (int)(SA_RESETHAND | SA_NODEFER)); }
VISIBLE void (*__sysv_signal(int number, void (*f)(int)))(int) { return sysv_signal(number, f); }

/* The C library's System V functions do not call sigaction. */
VISIBLE int sigignore(int number) { return set_handler(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0; }

VISIBLE void (*sigset(int number, void (*f)(int)))(int) {
  sigset_t set, was;
  sigemptyset(&set);
  if (sigaddset(&set, number) < 0) return SIG_ERR;
  struct sigaction a;
  if (lbr_sigaction(number, 0, &a) < 0) return SIG_ERR;
  if (f != SIG_HOLD && set_handler(number, f, 0) == SIG_ERR) return SIG_ERR;
  if (sigprocmask(f == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &was) < 0) return SIG_ERR;
  return sigismember(&was, number) ? SIG_HOLD : a.sa_handler;
}

/* sigaltstack stores the program's signal stack, and checks it as the kernel does. */
VISIBLE int sigaltstack(const stack_t *give, stack_t *old) {
  struct state *s = lbr_modules[0].code ? lbr_mine() : 0;
  int on = s && on_given(s, (u64)__builtin_frame_address(0)), error = 0;
  if (!s) error = (int)-lbr_raw(SYS_sigaltstack, (u64)give, (u64)old, 0, 0, 0, 0);
  if (!s && !error) return 0;
  stack_t was = s ? s->given : (stack_t){0}, next;
  if (on) was.ss_flags |= SS_ONSTACK;
  if (s && give) {
    next = *give;
    int mode = next.ss_flags & ~DISARM;
    if (on) error = EPERM;
    else if (mode && mode != SS_ONSTACK && mode != SS_DISABLE) error = EINVAL;
    else if (mode == SS_DISABLE) next.ss_sp = 0, next.ss_size = 0;
    else if (next.ss_size < LEAST_STACK) error = ENOMEM;
    else next.ss_flags &= DISARM;
    if (!error) s->given = next;
  }
  if (error) {
    errno = error;
    return -1;
  }
  if (old) *old = was;
  return 0;
}

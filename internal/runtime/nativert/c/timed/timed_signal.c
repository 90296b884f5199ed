/* The clock kept by signals: each thread of the program has a timer, whose signal is delivered
 * before the thread continues. So the clock has advanced when a preempted thread runs again,
 * however late the clock's own thread is. That thread still runs: it creates timers for new
 * threads, and deletes those of ended ones.
 *
 * The cost is one signal per period and thread, and system calls that are not restarted after a
 * handler (nanosleep, poll and others) end early. So this clock must be requested. The handler
 * calls no code of the program and takes no lock. */

#include "task.h"
#include "timed.h"

enum { SIGURG = 23, SIGWINCH = 28, SIG_BITS = 8, PROBES = 16, LOOKS = 16 };
enum { SIGEV_THREAD_ID = 4 };

DEFINE_SIGNAL_RESTORER(__cairn_restore);

/* No other handler may interrupt this one: it could jump out of it, and the lock is held. */
static void on_signal(int number, void *info, void *context) {
  struct process *p = __cairn_state;
  (void)number, (void)info, (void)context;
  if (p && load(word(p, ALIVE))) __cairn_advance(p);
}

static int is_ours(i32 number) {
  struct action a = {0};
  return sys4(SYS_rt_sigaction, number, 0, &a, SIG_BITS) >= 0 && a.handler == on_signal;
}

/* signal_start takes an unused signal, before the threads start. A child made by fork has it
 * already. A program that resets all signals, as many do before exec, receives some more until its
 * timers are deleted: so the default action must be to ignore the signal. */
void __cairn_signal_start(struct process *p) {
  struct action a = {0}, ours = {on_signal, SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART, __cairn_restore, {0}};
  for (u32 i = 0; i < sizeof ours.mask / sizeof(uword); i++) ours.mask[i] = ~(uword)0;
  clear(p->signal.timer, sizeof p->signal.timer);
  clear(p->signal.own, sizeof p->signal.own);
  p->signal.round = p->signal.signalled = p->signal.blocked = p->signal.owned = 0;
  p->signal.spawning = 0;
  p->signal.tasks = p->signal.scanned = p->signal.passed_over = p->signal.taken = 0;
  if (!p->signal.wanted || p->kind == KIND_EXACT || p->signal.number) return;
  static const i32 harmless[] = {SIGURG, SIGWINCH};
  for (u32 i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
    i32 n = harmless[i];
    if (n == p->control.signal || sys4(SYS_rt_sigaction, n, 0, &a, SIG_BITS) < 0 || a.handler) continue;
    if (sys4(SYS_rt_sigaction, n, &ours, 0, SIG_BITS) < 0) continue;
    p->signal.number = n;
    return;
  }
  __cairn_misread("", "tick=signal: neither SIGURG nor SIGWINCH is free; a thread runs the clock");
}

/* ---- threads that do not let the signal through ---- */

/* blocks reads which signals a thread blocks, from a line of its status. A timer has no effect for
 * such a thread; and a thread that waits for all signals would receive the timer's. */
static int blocks(i32 tid, i32 number) {
  char b[2048];
  put(put_task(b, tid), "/status");
  i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return 0;
  n = sys3(SYS_read, fd, b, sizeof b - 1);
  sys1(SYS_close, fd);
  for (i64 i = 0; i + 24 < n; i++)
    if (b[i] == 'S' && b[i + 1] == 'i' && b[i + 2] == 'g' && b[i + 3] == 'B' && b[i + 4] == 'l' && b[i + 5] == 'k') {
      char digit = b[i + 8 + 15 - (number - 1) / 4];
      u32 v = (u32)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
      return v >> (number - 1) % 4 & 1;
    }
  return 0;
}

/* ---- timers ---- */

static void set_timer(i32 id, u64 period) {
  uword spec[4] = {period / SECOND, period % SECOND, period / SECOND, period % SECOND};
  sys4(SYS_timer_settime, id, 0, spec, 0);
}

/* give creates the timer of a thread, unless it has one. Either the thread itself or the clock's
 * thread calls it. */
static void give(struct process *p, i32 tid) {
  struct timer *free = 0;
  i32 number = p->signal.number, nobody = 0, id = 0;
  for (u32 i = 0; i < PROBES; i++) {
    struct timer *t = &p->signal.timer[((u32)tid + i) % TIMERS];
    i32 owner = load(&t->tid);
    if (owner == tid) return;
    if (!owner && !free) free = t;
  }
  if (!free || !__atomic_compare_exchange_n(&free->tid, &nobody, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  free->round = load(&p->signal.round) + 1;
  struct {
    uword value;
    i32 number, notify, tid, pad[11];
  } event = {0, number, SIGEV_THREAD_ID, tid, {0}};
  if (sys3(SYS_timer_create, MONOTONIC, &event, &id) < 0) {
    store(&free->tid, 0);
    return;
  }
  set_timer(id, p->set.period);
  add(&p->signal.signalled, 1);
  store(&free->id, id + 1);
}

/* signal_thread creates the timer of the calling thread, at its first slow exit. */
void __cairn_signal_thread(struct process *p, i32 tid) {
  i32 number = load(&p->signal.number);
  u64 mask = 0;
  if (!number || sys4(SYS_rt_sigprocmask, 0, 0, &mask, SIG_BITS) < 0 || mask >> (number - 1) & 1) return;
  give(p, tid);
}

static struct timer *timer_of(struct process *p, i32 tid) {
  for (u32 i = 0; i < PROBES; i++)
    if (load(&p->signal.timer[((u32)tid + i) % TIMERS].tid) == tid) return &p->signal.timer[((u32)tid + i) % TIMERS];
  return 0;
}

static void end_timer(struct timer *t) {
  if (t->id) sys1(SYS_timer_delete, t->id - 1);
  t->id = 0;
  store(&t->tid, 0);
}

/* threads returns how many threads the program has, without those of the runtime, if its directory
 * /proc/self/task is open as fd. 0: it is not known, as one of the runtime's is being made. */
u32 __cairn_threads(struct process *p, i64 fd) {
  u64 st[STAT_WORDS], own = 0;
  if (sys2(SYS_fstat, fd, st) < 0 || load(&p->signal.spawning)) return 0;
  for (u32 i = 0; i < OWN_THREADS; i++) {
    i32 tid = load(&p->signal.own[i]);
    own += tid && !sys3(SYS_tgkill, p->pid, tid, 0);
  }
  return (u32)less(links_of(st), 2 + own); /* links of the directory: number of threads + 2 */
}

static int is_own(struct process *p, i32 tid) {
  for (u32 i = 0; i < OWN_THREADS; i++)
    if (load(&p->signal.own[i]) == tid) return 1;
  return 0;
}

/* Threads of a round. */
struct round {
  u32 number, looks, passed_over;
};

/* visit creates the timer of a thread, unless it has one. */
static void visit(struct process *p, i32 tid, struct round *r) {
  if (!tid || is_own(p, tid)) return;
  struct timer *t = timer_of(p, tid);
  if (t) t->round = r->number + 1;
  else if (r->looks++ >= LOOKS) return; /* the next time */
  else if (blocks(tid, p->signal.number)) r->passed_over++;
  else give(p, tid);
}

/* list walks the threads of the process, and deletes the timers of ended ones. A timer survives the
 * round in which its thread is listed and the next. A process with one thread is not listed: see
 * task.h. */
static void list(struct process *p, i64 fd, u32 threads) {
  char b[2048];
  i64 n;
  struct round r = {p->signal.round + 1, 0, 0};
  int alone = threads == 1;
  store(&p->signal.round, r.number);
  if (alone) visit(p, p->pid, &r);
  else sys3(SYS_lseek, fd, 0, 0);
  while (!alone && (n = sys3(SYS_getdents64, fd, b, sizeof b)) > 0)
    for (i64 at = 0; at < n; at += *(u16 *)(b + at + 16)) {
      i32 tid = 0;
      for (const char *s = b + at + 19; *s >= '0' && *s <= '9'; s++) tid = tid * 10 + (*s - '0');
      visit(p, tid, &r);
    }
  p->signal.passed_over = r.passed_over;
  for (struct timer *t = p->signal.timer; t < p->signal.timer + TIMERS; t++)
    if (load(&t->tid) && t->id && t->round < r.number) end_timer(t);
}

/* give_up leaves the clock to its thread: the program has installed its own handler. */
static void give_up(struct process *p) {
  store(&p->signal.number, 0);
  for (struct timer *t = p->signal.timer; t < p->signal.timer + TIMERS; t++)
    if (load(&t->tid)) end_timer(t);
  store(&p->signal.taken, 1);
  __cairn_wake(p);
}

/* signal_taken reports that, in the log's thread: the clock's thread has no standard error. */
void __cairn_signal_taken(struct process *p) {
  static const char message[] = "cairn: the program uses the signal of the clock; a thread runs the clock from now on\n";
  if (!load(&p->signal.taken)) return;
  store(&p->signal.taken, 0);
  __cairn_print(message, sizeof message - 1);
}

/* signal_scan is called by the clock's thread at each tick. It looks for new threads when their
 * number has changed, and from time to time. */
void __cairn_signal_scan(struct process *p, u64 now) {
  if (!p->signal.number || load(&p->signal.owned) < 2 /* the log's thread is not known yet */) return;
  i64 fd = open_file("/proc/self/task", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  u32 threads = __cairn_threads(p, fd);
  if (threads && (threads != p->signal.tasks || now - p->signal.scanned > 20 * MS)) {
    p->signal.tasks = threads;
    p->signal.scanned = now;
    if (is_ours(p->signal.number)) list(p, fd, threads);
    else give_up(p);
  }
  sys1(SYS_close, fd);
  if (p->signal.period == p->set.period) return;
  p->signal.period = p->set.period;
  for (struct timer *t = p->signal.timer; t < p->signal.timer + TIMERS; t++)
    if (load(&t->tid) && t->id) set_timer(t->id - 1, p->set.period);
}

/* signal_blocked counts threads that block the signal, for the trailer. */
void __cairn_signal_blocked(struct process *p) {
  i32 number = load(&p->signal.number);
  u32 count = 0;
  if (!number) return;
  for (struct timer *t = p->signal.timer; t < p->signal.timer + TIMERS; t++) {
    i32 tid = load(&t->tid);
    if (tid && blocks(tid, number)) count++;
  }
  p->signal.blocked = (u32)most(p->signal.blocked, count + p->signal.passed_over);
}

/* Callbacks of the program for its spikes. The log's thread cannot call the program: the C library
 * does not know it. It puts spikes into a ring, and a thread that cairn_mark.h creates with the
 * program's pthread_create takes them out. A spike waits there for the texts that follow it. */

#include "timed.h"

#include "told.h"

HIDDEN int __cairn_on_spike(void (*told)(const struct spike *));
HIDDEN void *__cairn_spike_thread(void *none);

/* on_spike sets the function, 0 for none. It returns whether the thread must be created. */
int __cairn_on_spike(void (*told)(const struct spike *)) {
  struct process *p = __cairn_state;
  if (!p || p->off || !load(word(p, ALIVE))) return 0;
  struct spikes *s = load(&p->spikes), *none = 0;
  int first = 0;
  if (!s) {
    if (!told) return 0;
    s = (struct spikes *)map(0, sizeof *s, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(s)) return 0;
    first = __atomic_compare_exchange_n(&p->spikes, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!first) unmap(s, sizeof *s);
    if (!first) s = none;
  }
  store(&s->told, told);
  return first;
}

/* spike_thread calls the function in a loop. Its own calls are never spikes. */
void *__cairn_spike_thread(void *none) {
  (void)none;
  struct process *p = __cairn_state;
  struct spikes *s = load(&p->spikes);
  struct spike one;
  u64 signals = ~(3ull << 31 | 1ull << 6); /* all but two that the C library needs, and SIGBUS */
  sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &signals, 0, 8);
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-spikes");
  __cairn_thread_active(0);
  s->code = __cairn_spike_thread;
  store(&s->tid, (i32)sys0(SYS_gettid));
  for (;;) {
    u32 wake = load(&s->wake);
    while (s->tail != load(&s->ready)) {
      void (*told)(const struct spike *) = load(&s->told);
      copy(&one, &s->spike[s->tail % SPIKES], sizeof one);
      if (told) told(&one);
      store(&s->tail, s->tail + 1);
      add(&s->done, 1);
      sys3(SYS_futex, &s->done, FUTEX_WAKE, NEVER);
    }
    if (load(&p->deserted)) __cairn_follow(p->pid);
    if (load(&s->leaves)) return 0;
    __cairn_rest(p, sys4(SYS_futex, &s->wake, FUTEX_WAIT, wake, 0), DELAY);
  }
}

/* ---- on the log's thread; told.h has what adds spikes ---- */

/* callback_ready releases spikes that have waited long enough, or all at the end, and reports
 * whether any still wait. */
int __cairn_callback_ready(struct process *p, int all) {
  struct spikes *s = load(&p->spikes);
  if (!s) return 0;
  u64 now = __cairn_now(p), was = s->ready;
  while (s->ready < s->head && (all || now - s->since[s->ready % SPIKES] >= DELAY)) store(&s->ready, s->ready + 1);
  if (s->ready != was) {
    add(&s->wake, 1);
    sys3(SYS_futex, &s->wake, FUTEX_WAKE, NEVER);
  }
  return s->ready < s->head;
}

/* callback_desert ends the thread of callbacks: the program has no other threads left. */
void __cairn_callback_desert(struct process *p) {
  struct spikes *s = load(&p->spikes);
  if (!s) return;
  add(&s->wake, 1);
  sys3(SYS_futex, &s->wake, FUTEX_WAKE, NEVER);
}

/* callback_leave removes a callback in [start, end), which is to be unloaded, and waits for the end of
 * a thread that runs there. */
void __cairn_callback_leave(struct process *p, u64 start, u64 end) {
  struct spikes *s = load(&p->spikes);
  if (!s) return;
  i32 tid = load(&s->tid);
  if ((uword)load(&s->told) - start < end - start) store(&s->told, 0);
  if (!tid || (uword)s->code - start >= end - start) return;
  __cairn_callback_end(p);
  store(&s->leaves, 1);
  __cairn_callback_desert(p);
  uword ts[2] = {0, MS};
  for (u64 until = __cairn_now(p) + SECOND; __cairn_now(p) < until && sys3(SYS_tgkill, p->pid, tid, 0) >= 0;)
    sys4(SYS_clock_nanosleep, MONOTONIC, 0, ts, 0);
  store(&p->spikes, 0);
}

/* callback_end waits for a limited time until the program has received all. */
void __cairn_callback_end(struct process *p) {
  struct spikes *s = load(&p->spikes);
  if (!s || (i32)sys0(SYS_gettid) == load(&s->tid)) return;
  uword ts[2] = {0, 10 * MS};
  for (u64 end = __cairn_now(p) + SECOND; __cairn_now(p) < end;) {
    u32 done = load(&s->done);
    if (load(&s->tail) == load(&s->ready)) return;
    sys4(SYS_futex, &s->done, FUTEX_WAIT, done, ts);
  }
}

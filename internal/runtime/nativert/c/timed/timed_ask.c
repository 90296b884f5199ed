/* Threads of the program that ask the thread of the log to look at all threads, and wait. They are looked at
 * while they do, so this needs unwind tables, which timed_open.c does not. */

#include "timed.h"

/* ask lets the writer look at all threads at once, and waits until it has, for some ms at most. */
void __cairn_open_ask(struct process *p, u32 longest) {
  uword ts[2] = {0, MS};
  u32 asked = add(&p->open.asked, 1) + 1;
  store(&p->open.wanted, 1);
  __cairn_wake(p);
  for (u32 i = 0; i < longest && (i32)(load(&p->open.answered) - asked) < 0; i++) sys4(SYS_clock_nanosleep, MONOTONIC, 0, ts, 0);
}

/* cancel lets the writer look at the threads before one of them is cancelled: it unwinds without
 * arriving anywhere, and of calls that waited for less than the threshold at a time nothing is known
 * then. Many may be cancelled in a row: one look is for all of them. */
void __cairn_cancel(void) {
  enum { LONGEST = 200 }; /* ms, of which a crowded machine needs many */
  struct process *p = __cairn_state;
  if (!p || p->off || p->stacks.trees || load(&p->set.quiet) || !load(word(p, ALIVE)) || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return;
  u64 now = __cairn_now(p);
  if (now - load(&p->open.cancelled) < load(&p->set.threshold) / 4) return;
  store(&p->open.cancelled, now);
  __cairn_open_ask(p, LONGEST);
}

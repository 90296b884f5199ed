/* A snapshot: the stack of the thread that requests it, with the times so far of its calls. It is
 * in the log when the request returns. It is an episode whose peak has not ended. */

#include "timed.h"

HIDDEN u64 __cairn_snapshot(u64 cfa);

static u64 take_snapshot(struct process *p, struct thread *t, u64 site, u64 cfa) {
  u64 number = add(&p->count.episodes, 1) + 1, sp = cfa - ENTRY_BELOW_CFA, e = __cairn_now(p);
  u8 *r = __cairn_reserve(t, LOG_EPISODE_SIZE + LOG_MAX_ENTRIES * LOG_ENTRY_SIZE);
  add(&p->count.snapshots, 1);
  if (!r) {
    add(&p->count.dropped, 1);
    return 0;
  }
  u64 *f = (u64 *)r;
  u32 flags = LOG_EPISODE_SNAPSHOT, frames = 0;
  struct entry *stack = (struct entry *)(r + LOG_EPISODE_SIZE);
  u32 n = __cairn_stack(p, t, site, sp, 0, e, stack, LOG_MAX_ENTRIES, &frames, &flags);
  if (!stack[0].hi) stack[0].flags |= LOG_ENTRY_NO_STAMP; /* other peaks have their own times */
  __cairn_settle(t, sp);
  u64 inner = t->notes ? least(sp, t->note[t->notes - 1].sp) : sp; /* a section of the same function */
  n = __cairn_scopes(p, t, inner, e, stack, n, LOG_MAX_ENTRIES);
  f[1] = number, f[2] = e, f[3] = stack[0].lo, f[4] = stack[0].hi, f[5] = load(&p->set.threshold), f[6] = load(&p->frames.current);
  f[7] = flags;
  f[8] = n | (u64)frames << 32;
  f[9] = 0;
  __cairn_publish(p, t, r, LOG_TYPE_EPISODE, LOG_EPISODE_SIZE + n * LOG_ENTRY_SIZE);
  __cairn_scope_names(t, number, inner);
  return number;
}

/* snapshot takes one for the function with that CFA and waits until the log has it. No call is
 * charged for that time. It returns its number, or 0. */
u64 __cairn_snapshot(u64 cfa) {
  u64 site = (uword)__builtin_return_address(0), number = 0;
  struct process *p = __cairn_state;
  if (!p || p->off || p->set.quiet || !load(word(p, ALIVE))) return 0;
  struct thread *t = __cairn_thread(p);
  if (!t || t->busy) return 0;
  __cairn_pause();
  t->busy_since = __cairn_now(p);
  t->busy = 1;
  barrier();
  number = take_snapshot(p, t, site, cfa);
  barrier();
  t->busy = 0;
  __cairn_flush(p);
  __cairn_resume();
  return number;
}

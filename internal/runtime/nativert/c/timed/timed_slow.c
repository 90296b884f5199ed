/* Evaluation of exits that look slow by the coarse clock. The duration of the call lies in an
 * interval, [e - t1, e - t0]. If its lower end reaches the threshold of the frame, that is certain:
 * the call crossed. Callees end before their callers, so the first of a chain to cross is the peak,
 * and opens an episode; the callers that cross later are its parents.
 *
 * The inline threshold is the same for all functions, so each instrumented caller of a slow call is
 * slow as well, and the ring of slow calls has no holes: the chain below the peak can be read from
 * it.
 *
 * The thread allocates only its own state and queue, once, takes no lock and prints nothing: it
 * puts records into its queue for the log's thread. */

#include "timed.h"

#if defined(CAIRN_ATTACH) || __ANDROID__
/* Always 0: running threads have no room for a thread-local variable, and those of Android have one word, for mode stacks. */
static struct thread *own_thread;
#define remember(t) ((void)(t))
#else
#define own_thread (own_local()->thread)
#define remember(t) (own_thread = (t))
#endif

/* ---- the state of a thread ---- */

/* find_thread returns the state of this thread: the one that another module made, or that of a dead
 * thread, or a new one. */
static __attribute__((noinline)) struct thread *find_thread(struct process *p) {
  /* A child of vfork runs in its parent's memory: its state would replace that of the parent's
   * thread. */
  if ((i32)sys0(SYS_getpid) != p->pid) return 0;
  i32 tid = (i32)sys0(SYS_gettid);
  u64 tp = thread_pointer();
  struct thread *t;
  for (t = load(&p->threads); t; t = t->next)
    if (load(&t->owner) == tid && t->tp == tp) goto out;
  for (t = load(&p->threads); t; t = t->next) {
    i32 nobody = 0;
    if (!load(&t->owner) && __atomic_compare_exchange_n(&t->owner, &nobody, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      struct thread *next = t->next;
      t->calls = t->opened = t->notes = t->pauses = t->busy = t->inactive = t->paused = t->named = 0;
      t->parents = t->name_len = t->paused_before = 0;
      t->own_hi = t->regions = 0;
      __cairn_usage_forget(t);
      t->next = next;
      break;
    }
  }
  if (!t) {
    u64 size = (sizeof *t + 4095) & ~4095ul;
    t = (struct thread *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(t)) return 0;
    t->owner = tid;
    t->next = load(&p->threads);
    while (!__atomic_compare_exchange_n(&p->threads, &t->next, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
  }
  t->tp = tp;
  add(&p->thread_count, 1);
  __cairn_signal_thread(p, tid);
out:
  remember(t);
  return t;
}

struct thread *__cairn_thread(struct process *p) {
  struct thread *t = own_thread;
  if (__cairn_plain) return 0;
  return t ? t : find_thread(p);
}

/* forget_threads removes, in a child made by fork, all threads but the current one. */
void __cairn_forget_threads(struct process *p) {
  i32 tid = (i32)sys0(SYS_gettid);
  u64 tp = thread_pointer();
  for (struct thread *t = p->threads; t; t = t->next) {
    int mine = t->owner && t->tp == tp && tid;
    __cairn_queue_forget(t);
    t->busy = t->named = t->opened = 0;
    __cairn_usage_forget(t);
    t->owner = mine ? tid : 0;
    if (mine) tid = 0; /* of two that lived there one after the other, the newer is first */
  }
}

#include "rule.h"

/* ---- episodes ---- */

/* ran returns for how long a call took at least, while its stack ran. */
static u64 ran(const struct slow_call *c) { return less(c->e - c->t1, c->away_hi); }

/* children fills entries with the largest slow callee of the call with sp and entry t1, the largest
 * callee of that one, and so on while a callee has at least half of its caller's time. Ring entries
 * are in the order of exits: callees first, and a call's own callees lie together before it. */
static u32 children(struct process *p, struct thread *t, const struct slow_call *peak, struct entry *out,
                    const struct slow_call **found, u32 max, u32 *flags) {
  u64 first = less(t->calls, CALLS), last = t->calls - 1; /* the peak's own */
  const struct slow_call *of = peak;
  u32 n = 0;
  while (n < max) {
    const struct slow_call *best = 0;
    u64 best_at = 0, ceiling = 0; /* stack pointer of the last direct callee, going backwards */
    u64 inner_entry = NONE;
    for (u64 i = last; i-- > first;) {
      const struct slow_call *c = &t->call[i % CALLS];
      if (c->sp >= of->sp || c->t0 + p->slop < of->t0 || c->stack != of->stack) {
        if (c->e < of->t0) goto scanned;
        continue;
      }
      if (c->sp < ceiling && c->t0 + p->slop >= inner_entry) continue; /* within the last examined callee */
      ceiling = c->sp, inner_entry = c->t0;
      if (!best || ran(c) > ran(best)) best = c, best_at = i;
    }
    if (first) *flags |= LOG_EPISODE_CHILDREN_CUT;
  scanned:
    if (!best || ran(best) * 2 < ran(of)) break;
    struct entry *x = &out[n++];
    x->pc = best->site;
    x->lo = ran(best);
    x->hi = less(best->e - best->t0, best->away_lo);
    x->flags = best->t0 < p->fork_time ? LOG_ENTRY_BEFORE_FORK : 0;
    x->sp = (u32)best->sp;
    found[n - 1] = of = best;
    last = best_at;
  }
  return n;
}

enum { MAX_CHILDREN = 16 };

/* add_open adds a call that later-ending calls may have made. When the ring is full, an older call
 * is dropped if a newer one is on the same stack: its caller either called the newer one too, or
 * has ended. */
static void add_open(struct thread *t, u64 number, const struct slow_call *c) {
  u32 n = t->opened++, first = n < OPEN ? n : n - OPEN, gone = first;
  for (u32 i = n; n >= OPEN && i-- > first;)
    for (u32 k = i + 1; k < n; k++)
      if (t->open[k % OPEN].stack == t->open[i % OPEN].stack) gone = i;
  for (; gone > first; gone--) t->open[gone % OPEN] = t->open[(gone - 1) % OPEN];
  t->open[n % OPEN] = (struct open_episode){number, c->sp, c->t0, c->stack};
}

/* stack_bits returns the flags that say which stack a call is on. */
static u32 stack_bits(const struct slow_call *c) { return c->stack << LOG_STACK_SHIFT; }

/* write_suspended writes for how long the stack of a call did not run. */
static void write_suspended(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  u8 *r = c->away_hi ? __cairn_reserve(t, LOG_SUSPENDED_SIZE) : 0;
  if (c->away_hi && !r) add(&p->count.dropped, 1);
  if (!r) return;
  u64 *f = (u64 *)r;
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp, f[4] = c->away_lo, f[5] = c->away_hi;
  __cairn_publish(p, t, r, LOG_TYPE_SUSPENDED, LOG_SUSPENDED_SIZE);
}

static u64 open_episode(struct process *p, struct thread *t, const struct slow_call *c, u64 frame, u64 rbp, u64 lo, u64 hi,
                        u64 threshold) {
  u64 number = add(&p->count.episodes, 1) + 1;
  add_open(t, number, c);
  __cairn_queue_ready(p, t);
  u8 *r = __cairn_reserve(t, LOG_EPISODE_SIZE + LOG_MAX_ENTRIES * LOG_ENTRY_SIZE);
  if (!r) {
    add(&p->count.dropped, 1);
    return 0;
  }
  u64 *f = (u64 *)r;
  u32 flags = 0, frames = 0, switched = __cairn_usage_read(p, t, c->t0, c->e);
  struct entry *entries = (struct entry *)(r + LOG_EPISODE_SIZE);
  const struct slow_call *found[MAX_CHILDREN];
  u32 stack = __cairn_stack(p, t, c->site, frame, rbp, c->e, entries, LOG_MAX_ENTRIES - MAX_CHILDREN, &frames, &flags);
  if (t->notes) stack = __cairn_scopes(p, t, c->sp, c->e, entries, stack, LOG_MAX_ENTRIES - MAX_CHILDREN);
  u32 below = children(p, t, c, entries + stack, found, MAX_CHILDREN, &flags);
  if (c->t0 < p->fork_time) flags |= LOG_EPISODE_BEFORE_FORK;
  entries[0].lo = lo, entries[0].hi = hi;
  if (t->left.stack) entries[0].flags |= LOG_ENTRY_LEFT;
  if (less(lo, c->away_hi) < threshold) entries[0].flags |= LOG_ENTRY_SUSPENDED;
  f[1] = number, f[2] = c->e, f[3] = lo, f[4] = hi, f[5] = threshold, f[6] = load(&p->frames.current);
  f[7] = flags | stack_bits(c) | (u64)switched << 32;
  f[8] = stack | below << 16 | (u64)frames << 32;
  f[9] = 0; /* the writer sets it */
  __cairn_publish(p, t, r, LOG_TYPE_EPISODE, LOG_EPISODE_SIZE + (stack + below) * LOG_ENTRY_SIZE);
  write_suspended(p, t, number, c);
  __cairn_usage_write(p, t, number, c);
  t->reported = lo;
  if (t->notes) __cairn_scope_names(t, number, c->sp);
  for (u32 i = 0; i < below; i++)
    if (found[i]->section[0])
      __cairn_numbered_text(number, LOG_TEXT_SECTION, found[i]->sp, found[i]->site, found[i]->section, length(found[i]->section));
  if (p->flight.recorder) p->flight.keep_window(p, t, number, lo, hi, c->e);
  return number;
}

/* parent_of adds the call as a parent to the episodes found in its callees, and returns the number
 * of the last one, or 0. */
static u64 parent_of(struct process *p, struct thread *t, const struct slow_call *c, u64 lo, u64 hi, u64 threshold, u32 flags) {
  u64 parent = 0;
  for (u32 i = (u32)less(t->opened, OPEN); i < t->opened; i++) {
    struct open_episode *o = &t->open[i % OPEN];
    if (!o->number || o->stack != c->stack || o->sp >= c->sp || c->t0 > o->t0 + p->slop) continue;
    parent = o->number;
    u8 *r = __cairn_reserve(t, LOG_PARENT_SIZE);
    if (!r) {
      add(&p->count.dropped, 1);
      continue;
    }
    u64 *f = (u64 *)r;
    f[1] = o->number, f[2] = c->e, f[3] = lo, f[4] = hi, f[5] = c->site, f[6] = threshold;
    f[7] = flags | (c->t0 < p->fork_time ? LOG_ENTRY_BEFORE_FORK : 0u) | stack_bits(c) | (u64)(u32)c->sp << 32;
    __cairn_publish(p, t, r, LOG_TYPE_PARENT, LOG_PARENT_SIZE);
  }
  if (!parent) return 0;
  write_suspended(p, t, parent, c);
  if (less(lo, t->reported) >= threshold) { /* without the reported callee it is still too long */
    __cairn_usage_read(p, t, c->t0, c->e);
    __cairn_usage_write(p, t, parent, c);
  }
  t->reported = lo;
  return parent;
}

/* report_if_slow reports the call if it crossed its threshold, and returns the number of its
 * episode, or 0. */
static u64 report_if_slow(struct process *p, struct thread *t, const struct slow_call *c, u64 frame, u64 rbp) {
  u32 flags;
  u64 pause = t->pauses ? paused(t, c->t0, c->e, 1) : 0;
  u64 lo = less(c->e - c->t1, pause), hi = less(c->e - c->t0, t->pauses ? paused(t, c->t1, c->e, 0) : 0);
  u64 threshold = __cairn_rule(p, t, c->sp, c->t0, &flags);
  if (t->left.stack) flags |= LOG_ENTRY_LEFT;
  if (hi < threshold) return 0;
  if (t->inactive || t->paused || load(&p->set.quiet)) return 0;
  if (lo < threshold) {
    add(&p->count.borderline, 1);
    return 0;
  }
  u64 number = parent_of(p, t, c, lo, hi, threshold, flags);
  if (number || flags & LOG_ENTRY_IGNORED) return flags & LOG_ENTRY_IGNORED ? 0 : number;
  return open_episode(p, t, c, frame, rbp, lo, hi, threshold);
}

/* evaluate adds a call to the ring of slow calls, and returns the number of its episode, or 0. */
static u64 evaluate(struct process *p, struct thread *t, u64 site, u64 sp, u64 t0, u64 t1, u64 e, u64 frame, u64 rbp) {
  struct slow_call *c = &t->call[t->calls % CALLS];
  c->site = site, c->sp = sp, c->t0 = t0, c->t1 = t1, c->e = e;
  c->stack = __cairn_region(p, t, sp);
  __cairn_suspended(p, t, sp, t0, t1, e, &c->away_lo, &c->away_hi);
  __cairn_section_of(t, sp, c->section, sizeof c->section);
  t->calls++;
  add(&p->count.slow, 1);
  if (load(&p->open.used)) __cairn_open_ended(p, t->owner, sp, t0, e);
  return report_if_slow(p, t, c, frame, rbp);
}

void __cairn_left(struct process *p, struct thread *t, u64 pc, u64 sp, u64 t0, u64 t1, u64 e) {
  evaluate(p, t, pc, sp, t0, t1, e, sp, 0);
}

u64 __cairn_leave(u64 site, u64 sp, u64 frame, u64 rbp) { return __cairn_leave_at(site, site, sp, frame, rbp); }

u64 __cairn_leave_at(u64 at, u64 site, u64 sp, u64 frame, u64 rbp) {
  struct process *p = __cairn_state;
  if (!p || !load(word(p, ALIVE))) return 0; /* a child in which no fork handler ran */
  if (p->check_pid && (i32)sys0(SYS_getpid) != p->pid) return 0;
  u64 e = __cairn_now(p), t0, t1, number = 0;
  /* At once: single ticks are kept for only 2000 periods, and a thread that makes its state may be
   * preempted for longer. */
  if (!__cairn_entered(p, sp, e, &t0, &t1)) return 0;
  struct thread *t = __cairn_thread(p);
  /* In a signal handler, or the allocator, during this code; or a handler has jumped out of it. */
  if (!t || (t->busy && e - t->busy_since < SECOND)) {
    if (e - t0 >= load(&p->set.threshold)) add(&p->count.dropped, 1);
    return 0;
  }
  t->busy_since = e;
  t->busy = 1;
  t->left_at = at;
  barrier();
  number = evaluate(p, t, site, sp, t0, t1, e, frame, rbp);
  if (e - t->now.at > p->set.threshold) __cairn_usage_read(p, t, e, e);
  t->left_at = 0;
  __cairn_unstamp(p, sp); /* so that the stamps that remain are of calls that go on, or were short */
  barrier();
  t->busy = 0;
  return number;
}

HIDDEN void __cairn_slow_exit(u64 site, u64 sp, u64 rbp) {
  struct process *p = __cairn_state;
  if (p && load(&p->flight.recorder)) p->flight.left(p, sp);
  __cairn_leave(site, sp, sp, rbp);
}

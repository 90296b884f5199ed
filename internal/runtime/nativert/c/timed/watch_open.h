/* Calls that have not ended, as c/timed/timed_open.c has them, for Windows and macOS: a look at a thread finds the calls on its stack, and if one is over
 * its threshold, a record in the log describes the stack, and is kept up to date. The owner of a thread stores only the end. */

enum { INNER = 16, OPEN_ENTRIES = (LOG_OPEN_SLOT - LOG_OPEN_SIZE) / LOG_ENTRY_SIZE };

#include "open_record.h"

static void close_call(struct watched *w, u64 time, u32 how) {
  u64 *f = (u64 *)w->record;
  if (!f || load(&f[ENDED])) return;
  begin_change(f);
  __atomic_fetch_or((u32 *)(f + FLAGS), how, __ATOMIC_RELAXED);
  store(&f[ENDED], time);
  end_change(f);
}

/* goes_on reports whether the call of a record has its stamp: its end removes it. Of old calls the beginning is known less well
 * than before. */
static int goes_on(struct process *p, const struct watched *w, u64 time) {
  u64 t0, t1;
  return entered(p, w->sp, time, &t0, &t1) && t0 <= w->t0 && w->t0 <= t1;
}

/* open_record returns room for the record of a thread: its own, that of one that has ended, or a new one; 0 if there is none. */
static u8 *open_record(struct process *p, struct watch *k, struct watched *w, u64 time) {
  if (w->record) return w->record;
  if (k->frees) return w->record = k->free[--k->frees];
  if (!take(p)) return 0;
  if (k->used % LOG_OPEN_SLOTS == 0 && begin_log(p)) k->chunk = new_chunk(p, LOG_KIND_OPEN, time);
  give(p);
  if (!k->chunk) return 0;
  u8 *r = k->chunk + LOG_CHUNK_HEADER_SIZE + k->used % LOG_OPEN_SLOTS * LOG_OPEN_SLOT;
  if (++k->used % LOG_OPEN_SLOTS == 0) k->chunk = 0;
  ((u16 *)r)[1] = LOG_OPEN_SLOT;
  begin_change((u64 *)r);
  store((u16 *)r, LOG_TYPE_OPEN);
  return w->record = r;
}

/* write_open puts what a look has found into the record of a thread: first the calls from the peak outwards, then those that it
 * made, from the outermost on. */
static void write_open(struct process *p, struct watch *k, const struct watched *w, u32 peak, i64 call) {
  const struct stack *s = &k->stack;
  u64 *f = (u64 *)w->record;
  struct entry *x = (struct entry *)(w->record + LOG_OPEN_SIZE);
  u32 inner = (u32)least(peak, INNER), outer = (u32)least(s->n - peak, OPEN_ENTRIES - inner);
  char name[MAX_NAME];
  const struct thread *t = state_of_watched(p, w);
  u32 length = name_of_watched(w, name);
  begin_change(f);
  ((u32 *)f)[1] = w->tid;
  store(&f[ENDED], 0);
  f[AT] = f[UNTIL] = w->looked, f[SINCE] = w->still ? w->still : w->looked, f[THRESHOLD] = p->threshold, f[FRAME_NUMBER] = load(&p->frames.current);
  f[CPU] = cpu_ns(p, w->ring[0][(w->n - 1) % SAMPLES].cpu);
  f[FLAGS] = (w->still && (is_exact(k) || call >= 0) ? 0 : LOG_OPEN_RUNS) | (u64)(u32)(call < 0 ? 0 : call + 1) << 32;
  f[COUNTS] = outer | inner << 16 | (u64)(s->found - peak) << 32;
  for (u32 i = 0; i < outer; i++) x[i] = s->entry[peak + i];
  for (u32 i = 0; i < inner; i++) x[outer + i] = s->entry[peak - 1 - i];
  for (u32 i = 0; i < LOG_OPEN_NAME; i++) ((u8 *)(f + NAME))[i] = length ? (i < length ? (u8)name[i] : 0) : t && i < t->name_length ? (u8)t->name[i] : 0;
  ((u32 *)(f + NUMBER))[1] = 0;
  u32 holder = call < 0 ? 0 : holder_of(k, w), *to = (u32 *)(x + outer + inner);
  if (holder) to[0] = holder, to[1] = 0, f[FLAGS] |= LOG_OPEN_HELD;
  end_change(f);
}

/* open_found looks for calls over the threshold on the stack that was found, of a thread that waits in a system call, or RAN. */
static void open_found(struct process *p, struct watch *k, struct watched *w, i64 call) {
  const struct stack *s = &k->stack;
  const struct thread *t = state_of_watched(p, w);
  u32 peak = s->n, first = s->n;
  for (u32 i = s->n; i-- > 0;) {
    if (s->entry[i].flags & LOG_ENTRY_NO_STAMP) continue;
    u64 least_away, most_away;
    away(p, k->base, s->t0[i], s->t1[i], w->looked, &least_away, &most_away);
    first = i;
    u64 threshold = open_rule(p, t, s->sp[i]);
    if (threshold && less(s->entry[i].lo, most_away) >= threshold) peak = i;
  }
  w->due = first < s->n ? s->t1[first] + p->threshold : 0; /* what an open call made is over its threshold then */
  if (w->due <= w->looked) w->due = 0;
  w->no_room = 0;
  if (peak == s->n) {
    if (w->record && !goes_on(p, w, w->looked)) close_call(w, w->looked, 0);
    return;
  }
  if (!open_record(p, k, w, w->looked)) {
    w->no_room = 1;
    return;
  }
  w->sp = s->sp[peak], w->t0 = s->t0[peak];
  write_open(p, k, w, peak, call);
  if (!goes_on(p, w, now(p))) close_call(w, w->looked, 0); /* it has ended meanwhile */
}

/* open_lasts notes that a thread is still where it was. */
static void open_lasts(struct watched *w, u64 time) {
  u64 *f = (u64 *)w->record;
  if (f && !load(&f[ENDED])) store(&f[UNTIL], time);
}

/* open_left notes that a thread has ended. */
static void open_left(struct process *p, struct watch *k, struct watched *w) {
  close_call(w, now(p), LOG_OPEN_LEFT);
  if (w->record) k->free[k->frees++] = w->record;
  w->record = 0;
}

/* open_ended notes that a call of this thread has ended, of which the stamp is gone. An outer call ends after an inner one, unless
 * that was left. */
static void open_ended(struct process *p, const struct slow_call *c) {
  struct watched *w = p->watch && load(&p->watch->used) ? watched_of(p->watch, own_tid()) : 0;
  u64 *f = w ? (u64 *)load(&w->record) : 0;
  if (!f || c->sp < w->sp || load(&f[ENDED])) return;
  if (c->sp > w->sp && c->t0 <= w->t0) __atomic_fetch_or((u32 *)(f + FLAGS), LOG_OPEN_LEFT, __ATOMIC_RELAXED);
  store(&f[ENDED], c->e);
}

/* open_all looks at all other threads at once. */
static void open_all(struct process *p) {
  enum { TRIES = 50 };
  struct watch *k = p->watch;
  u64 pc;
  if (!k || is_quiet(p) || others_gone(p) || !lock_watch(k, TRIES)) return;
  for (struct watched *w = k->thread; w < k->thread + WATCHED; w++) {
    k->look_due = 0;
    if (!load(&w->tid) || w->tid == own_tid() || has_ended(w)) continue;
    if (w->n && look_at(p, k, w, &pc)) looked(p, k, w, pc);
  }
  store(&k->lock, 0);
}

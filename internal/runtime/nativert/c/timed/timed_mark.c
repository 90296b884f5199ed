/* What programs report about themselves; timed.h lists the functions. The state belongs to the
 * thread, except for the global threshold and the frame number. */

#include "timed.h"

static struct process *active(void) {
  struct process *p = __cairn_state;
  return p && load(word(p, ALIVE)) ? p : 0;
}

static struct thread *self(void) {
  struct process *p = active();
  return p && !p->off ? __cairn_thread(p) : 0;
}

/* show_low sets the threshold that inserted code uses. */
void __cairn_show_low(struct process *p) {
  int off = p->off || load(&p->set.quiet);
  if (p->kind == KIND_EXACT) store((u64 *)(p->base + EXACT_LOW), off ? EXACT_NEVER : __cairn_ticks(p, p->set.low));
  else store(word(p, LOW), off ? NEVER : p->set.low);
}

/* lower lowers the inline threshold as a threshold requires. It is not raised again when that
 * threshold is gone: others may need it. */
static void lower(struct process *p, u64 ns) {
  u32 was = p->set.low;
  __cairn_set_low(p, ns);
  if (was < p->set.low) {
    p->set.low = was;
    __cairn_show_low(p);
  }
}

/* new_threshold sets the global threshold, and makes the clock fast enough for it. */
void __cairn_new_threshold(struct process *p, u64 ns) {
  store(&p->set.threshold, ns);
  if (p->kind == KIND_EXACT) store(&p->set.period, 0);
  else if (!p->set.fixed_period) store(&p->set.period, least(most(ns / 8, 100000), 2 * MS));
  __cairn_set_low(p, ns);
  store(&p->time.member->threshold, ns);
  store(&p->time.member->period, p->set.period);
  store(&p->time.clock->usual, 0);
  if (load(&p->time.clock->pace) > 2 * p->set.period) __cairn_wake_clock(p); /* it sleeps for half of the old threshold */
  else add(&p->time.clock->wakeups, 1);
}

/* Of the preloaded library, see hook/detour.c. */
FALLBACK void __cairn_rehook(int on) { (void)on; }

/* switch starts or suspends the search for spikes. */
void __cairn_switch(struct process *p, int on) {
  store(&p->set.quiet, (u8)!on);
  __cairn_show_low(p);
  __cairn_rehook(on);
}

void __cairn_set_threshold(u64 ns) {
  struct process *p = active();
  if (p && !p->off && ns) __cairn_new_threshold(p, ns);
}

#include "notes.h"

void __cairn_frame(u64 number) {
  struct process *p = active();
  if (p) store(&p->frames.current, number);
}

/* The writer may read a name while it is set: it may get a mixture of two names once. */
void __cairn_thread_name(const char *name) {
  struct thread *t = self();
  if (!t) return;
  u32 n = (u32)least(length(name), sizeof t->name);
  copy(t->name, name, n);
  store(&t->name_len, n);
  store(&t->named, 0);
}

/* Number 0 means the thread's next episode. */
void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len) {
  struct thread *t = self();
  if (!t) return;
  if (len > LOG_MAX_TEXT) len = LOG_MAX_TEXT;
  u64 size = LOG_TEXT_SIZE + up8(len);
  u8 *r = __cairn_reserve(t, size);
  if (!r) {
    add(&__cairn_state->count.dropped, 1);
    return;
  }
  u64 *f = (u64 *)r;
  f[1] = number;
  f[2] = __cairn_now(__cairn_state);
  f[3] = kind | len << 16 | (u64)(u32)sp << 32;
  f[4] = pc;
  clear(r + LOG_TEXT_SIZE, up8(len));
  copy(r + LOG_TEXT_SIZE, text, len);
  __cairn_publish(__cairn_state, t, r, LOG_TYPE_TEXT, size);
}

void __cairn_text(u32 kind, u64 sp, u64 pc, const char *text, u64 len) {
  __cairn_numbered_text(0, kind, sp, pc, text, len);
}

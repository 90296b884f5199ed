/* Marks, as c/timed/timed_mark.c has them, for Windows and macOS: what programs say of themselves by cairn.h. Their functions are called
 * as any others, and keep the last error of the thread. */

/* self returns the state of this thread, 0 if nothing is timed. */
static struct thread *self(void) {
  struct process *p = __cairn_state;
  u32 error = last_error();
  struct thread *t = p && !p->off ? thread_of(p) : 0;
  set_last_error(error);
  return t;
}

/* lower lowers the inline threshold as a threshold requires. It is not raised again: others may need it. */
static void lower(struct process *p, u64 ns) {
  u32 low = low_of(p, ns);
  if (low < p->low) show_low(p, low);
}

#include "notes.h"

void __cairn_set_threshold(u64 ns) {
  struct process *p = __cairn_state;
  if (!p || p->off || !ns) return;
  store(&p->threshold, ns);
  set_low(p);
}

void __cairn_thread_name(const char *name) {
  struct thread *t = self();
  u32 n = 0;
  if (!t) return;
  for (; name[n] && n < MAX_NAME; n++) t->name[n] = name[n];
  store(&t->name_length, n);
  store(&t->named, 0);
}

/* is_logged reports whether the log has an episode of this thread, or may have its next one, whose number is 0. */
static int is_logged(const struct thread *t, u64 number) {
  for (u32 i = (u32)less(t->opened, OPEN); i < t->opened; i++)
    if (t->open[i % OPEN].number == number) return t->open[i % OPEN].written;
  return 1;
}

void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len) {
  struct thread *t = self();
  struct process *p = __cairn_state;
  if (!t || !is_logged(t, number)) return;
  u32 error = last_error();
  u64 *f = t->record;
  len = least(len, LOG_MAX_TEXT);
  f[1] = number, f[2] = now(p), f[3] = kind | len << 16 | (u64)(u32)sp << 32, f[4] = pc;
  clear(f + LOG_TEXT_SIZE / 8, (len + 7) & ~7ull);
  copy(f + LOG_TEXT_SIZE / 8, text, len);
  if (take(p)) {
    if (begin_log(p)) put_record(p, LOG_TYPE_TEXT, t->tid, f, LOG_TEXT_SIZE + (((u32)len + 7) & ~7u), f[2]);
    __cairn_callback_text(p, number, text, len);
    give(p);
  }
  set_last_error(error);
}

/* ---- scopes ---- */

static void __cairn_stamp(struct process *p, u64 sp) { store(slot(p, sp), load(word(p, CLOCK))); }
static void __cairn_unstamp(struct process *p, u64 sp) { store(slot(p, sp), 0); }
static int __cairn_is_long(struct process *p, u64 sp) { return (i32)(*slot(p, sp) - load(word(p, CLOCK)) + load(word(p, LOW))) < 0; }

/* walk_from finds the stack of this thread, and returns the index of the call with a stack pointer at its entry, or of the next one. */
static u32 walk_from(struct process *p, struct thread *t, u64 sp, u64 e) {
  u32 i = 0;
  capture(&t->context);
  walk(p, &t->context, e, &t->stack);
  while (i < t->stack.n && t->stack.sp[i] < sp) i++;
  return i;
}

/* leave judges a scope that ends now, and returns the number of its episode, or 0. */
static u64 __cairn_leave(u64 site, u64 sp, u64 frame, u64 unused) {
  struct process *p = __cairn_state;
  struct slow_call c = {.site = site, .sp = sp, .e = now(p)};
  u32 error = last_error();
  u64 number = 0;
  int seen = entered(p, sp, c.e, &c.t0, &c.t1);
  struct thread *t = seen ? begin(p) : 0;
  if (t) {
    u32 from = walk_from(p, t, frame, c.e);
    number = evaluate(p, t, c, &t->stack, from);
    end(t);
  } else if (seen && c.e - c.t0 >= p->threshold) {
    add(&p->dropped, 1);
  }
  set_last_error(error);
  return number;
}

#include "timed_scope.c"

/* ---- snapshots ---- */

static u64 take_snapshot(struct process *p, struct thread *t, u64 site, u64 sp) {
  u64 e = now(p), number = add(&p->episodes, 1) + 1, *f = t->record;
  u32 from = walk_from(p, t, sp, e), n = 0;
  const struct stack *s = &t->stack;
  struct entry *x = (struct entry *)((u8 *)f + LOG_EPISODE_SIZE);
  add(&p->snapshots, 1);
  for (u32 i = from; i < s->n; i++) x[n++] = s->entry[i];
  if (!n) x[n++] = (struct entry){site, 0, 0, 0, (u32)sp};
  if (!x->hi) x->flags |= LOG_ENTRY_NO_STAMP; /* other peaks have their own times */
  __cairn_settle(t, sp);
  u64 inner = t->notes ? least(sp, t->note[t->notes - 1].sp) : sp; /* a section of the same function */
  n = __cairn_scopes(p, t, inner, e, x, n, CHAIN);
  f[1] = number, f[2] = e, f[3] = x->lo, f[4] = x->hi, f[5] = p->threshold, f[6] = load(&p->frames.current);
  f[7] = LOG_EPISODE_SNAPSHOT | (s->cut ? LOG_EPISODE_CUT : 0) | stack_of(t) << LOG_STACK_SHIFT;
  f[8] = n | (u64)(s->found - from) << 32;
  f[9] = 0;
  if (!take(p)) return 0;
  int written = begin_log(p);
  if (written && !t->named) write_thread(p, t, e);
  if (written) put_record(p, LOG_TYPE_EPISODE, t->tid, f, LOG_EPISODE_SIZE + n * LOG_ENTRY_SIZE, e);
  if (written) write_status(p);
  give(p);
  if (written) __cairn_scope_names(t, number, inner);
  return written ? number : 0;
}

/* snapshot puts the stack of this thread into the log. No call is charged for that time. */
u64 __cairn_snapshot(u64 cfa) {
  u64 site = (u64)__builtin_return_address(0), number = 0;
  struct process *p = __cairn_state;
  u32 error = last_error();
  if (!p || is_quiet(p)) return 0;
  __cairn_pause();
  struct thread *t = begin(p);
  if (t) number = take_snapshot(p, t, site, cfa - ENTRY_BELOW_CFA), end(t);
  __cairn_resume();
  set_last_error(error);
  return number;
}

/* ---- frames ---- */

/* frame_chunk returns the part of the log that has them, 0 if there is no room. */
static u8 *frame_chunk(struct process *p, u32 kind, u64 time) { return begin_log(p) ? new_chunk(p, kind, time) : 0; }
#define __cairn_file_chunk frame_chunk
#include "frames.h"

/* next_frame ends a frame. */
void __cairn_next_frame(void) {
  struct process *p = __cairn_state;
  if (!p) return;
  u32 error = last_error();
  u64 number = add(&p->frames.current, 1);
  if (p->off) return;
  u64 e = now(p), last = __atomic_exchange_n(&p->frames.end, e, __ATOMIC_ACQ_REL), f[] = {0, number, e, e - last};
  if (number && last && e >= last && take(p)) {
    __cairn_frame_ended(p, f);
    give(p);
  }
  set_last_error(error);
}

/* ---- channels ---- */

static void lock(u32 *l) {
  enum { SPINS = 100, TRIES = 2000 };
  for (u32 i = 0; __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE) && i < TRIES; i++) {
    if (i > SPINS) nap();
    for (u32 k = 0; i <= SPINS && k < SPINS && load(l); k++) relax();
  }
}
static void unlock(u32 *l) { store(l, 0); }

/* word_is reports whether a word is one, or begins with one that ends with =. */
static int __cairn_word_is(const char *s, const char *is) {
  while (*is && *s == *is) s++, is++;
  return !*is && (is[-1] == '=' || !*s || *s == ',');
}

#include "timed_channel.c"

/* channels_go forgets those of a module. */
static void channels_go(struct process *p, const struct module *m) {
  lock(&p->control.lock);
  for (u32 i = 0, n = load(&p->channel.sets); i < n && i < BASES; i++)
    if (is_in(m, p->channel.set[i].from)) p->channel.set[i].to = p->channel.set[i].from;
  unlock(&p->control.lock);
}

/* ---- callbacks ---- */

/* note_episode notes what the program is to be told. */
static void note_episode(struct process *p, const struct thread *t, const u64 *f) {
  if (p->spikes) __cairn_callback_spike(p, f, (i32)t->tid, t->name, t->name_length);
}

/* run_told calls the program's function until no spike is left. Its own calls are never spikes. */
static void run_told(struct process *p) {
  static struct spike one;
  struct spikes *s = load(&p->spikes);
  store(&s->tid, (i32)own_tid());
  __cairn_thread_active(0);
  while (s->tail != load(&s->ready)) {
    void (*told)(const struct spike *) = load(&s->told);
    copy(&one, &s->spike[s->tail % SPIKES], sizeof one);
    if (told) told(&one);
    store(&s->tail, s->tail + 1);
  }
}

/* tell makes spikes ready that have waited for their texts, or all, and a thread for them. It ends when none waits: the process
 * ends with the last thread of the program. */
static void tell(struct process *p, int all) {
  struct spikes *s = load(&p->spikes);
  if (!s || load(&s->tail) == load(&s->head)) return;
  if (take(p)) {
    u64 time = now(p);
    while (s->ready < s->head && (all || time - s->since[s->ready % SPIKES] >= DELAY)) store(&s->ready, s->ready + 1);
    give(p);
  }
  if (s->ready == load(&s->tail) || __atomic_exchange_n(&s->wake, 1, __ATOMIC_ACQ_REL)) return;
  if (!start_told(p)) store(&s->wake, 0);
}

/* tell_last waits for a second at most until the program has been told all. */
static void tell_last(struct process *p) {
  struct spikes *s = load(&p->spikes);
  if (!s || load(&s->tid) == (i32)own_tid()) return;
  for (u64 until = now(p) + SECOND; load(&s->tail) != load(&s->head) && now(p) < until; nap()) tell(p, 1);
}

/* told_goes removes a callback in a module that is to be unloaded, and waits for a second at most for one that runs. */
static void told_goes(struct process *p, const struct module *m) {
  struct spikes *s = load(&p->spikes);
  if (!s || !is_in(m, load(&s->told))) return;
  store(&s->told, 0);
  if (load(&s->tid) == (i32)own_tid()) return;
  for (u64 until = now(p) + SECOND, tail = load(&s->tail); load(&s->tid) && load(&s->tail) == tail && now(p) < until;) nap();
}

/* on_spike sets the function, 0 for none. */
int __cairn_on_spike(void (*told)(const struct spike *)) {
  struct process *p = __cairn_state;
  if (!p || p->off) return 0;
  u32 error = last_error();
  struct spikes *s = load(&p->spikes), *none = 0;
  if (!s && told && (s = (struct spikes *)anonymous(sizeof *s)) &&
      !__atomic_compare_exchange_n(&p->spikes, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    release(s, sizeof *s);
    s = none; /* there is one already */
  }
  if (s) store(&s->told, told);
  set_last_error(error);
  return s != 0;
}

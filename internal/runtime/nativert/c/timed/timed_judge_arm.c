/* Stacks of mode spike on Armv7, in place of timed_stack.c, timed_walk.c and timed_arrive.c. Each call knows which
 * one was innermost when it was entered, and its own return address. So a stack has the functions with probes,
 * and of those without them the ones that call such: no unwind tables are needed, which programs in C do not
 * have there. And the calls that an exception or a longjmp left are those inside of the one that control arrives in. */

#include "timed.h"

enum { TAIL = 8, MAX_FRAMES = 1024, STALE = 1 << 20, SEARCHED = 1 << 20 };
enum { LOST = 1 }; /* in place of the stack pointer of the call around another: it could not be found */

/* ---- what other machines have for unwinders, and for looks at other threads ---- */

int __cairn_has_unwinder(void) { return 0; }
void __cairn_keep_vectors(struct process *p, u8 *area) {}
void __cairn_restore_vectors(struct process *p, u8 *area) {}
void __cairn_arrivals_start(struct process *p) {}
void __cairn_arrivals_forked(struct process *p) {}
void __cairn_open_look(struct process *p, int last) {}
int __cairn_open_any(struct process *p) { return 0; }
u64 __cairn_open_pause(struct process *p, u64 pause) { return pause; }
void __cairn_open_ended(struct process *p, i32 tid, u64 sp, u64 t0, u64 e) {}
void __cairn_open_forget(struct process *p) {}
FALLBACK void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e) {}

/* ---- stacks ---- */

#define call_at(sp) __cairn_call_at(__cairn_state, sp)

/* on_signal_stack reports whether sp is on the stack that this thread has for signal handlers. */
int __cairn_on_signal_stack(u64 sp) {
  uword at[3] = {0, 0, 0}; /* address, flags, size */
  return sys2(SYS_sigaltstack, 0, at) >= 0 && sp - at[0] < at[2];
}

#define above(sp) (call_at(sp)->above)

/* enclosing returns the stack pointer of the call around one that is entered at sp, where that which is innermost is not above sp. It may
 * be of another stack. One just below has been left, by an exception or a longjmp to a function without probes, as have those around it
 * up to sp. */
HIDDEN u32 __cairn_enclosing(u32 sp) {
  u32 at = own_local()->innermost;
  if (sp - at >= STALE || __cairn_on_signal_stack(sp)) return at;
  for (u32 n = 0; at && sp - at < STALE; at = above(at))
    if (n++ == MAX_FRAMES) return LOST;
  return at;
}

/* is_in reports whether an address is in the function that code names. */
static int is_in(u32 code, u32 pc) { return code && pc < code && pc >= START_OF(code); }

struct walk {
  struct process *p;
  u64 e;
  struct entry *out, tail[TAIL]; /* tail: the last ones, a ring */
  u32 max, count;
};

static struct entry *entry_of(struct walk *w, u32 i) {
  u32 plain = w->max - TAIL;
  return i < plain ? &w->out[i] : &w->tail[(i - plain) % TAIL];
}

static void add_frame(struct walk *w, u32 pc, u32 flags, u32 sp) {
  struct entry *x = entry_of(w, w->count++);
  u64 t0, t1;
  *x = (struct entry){pc, 0, 0, flags | LOG_ENTRY_NO_STAMP, sp};
  if (!sp || !__cairn_entered(w->p, sp, w->e, &t0, &t1)) return;
  x->flags = flags | (t0 < w->p->fork_time ? LOG_ENTRY_BEFORE_FORK : 0);
  x->lo = w->e - t1, x->hi = w->e - t0;
}

/* join_ends puts the last frames after the first ones. */
static u32 join_ends(struct walk *w) {
  u32 plain = w->max - TAIL, n = w->count;
  if (n <= plain) return n;
  u32 rest = n - plain, kept = rest < TAIL ? rest : TAIL;
  for (u32 i = 0; i < kept; i++) w->out[plain + i] = *entry_of(w, n - kept + i);
  if (rest > TAIL) w->out[plain].flags |= LOG_ENTRY_GAP;
  return plain + kept;
}

/* outside returns the innermost call that is not inside of a stack pointer of this thread. */
static u32 outside(u32 sp) {
  u32 at = own_local()->innermost;
  for (u32 n = 0; at > LOST && at < sp; at = above(at))
    if (n++ == MAX_FRAMES) return LOST;
  return at;
}

u32 __cairn_stack(struct process *p, struct thread *t, u64 site, u64 sp, u64 rbp, u64 e, struct entry *out, u32 max, u32 *frames, u32 *flags) {
  struct walk w = {p, e, out};
  u32 at = (u32)sp, back = 0, next;
  w.max = max;
  add_frame(&w, (u32)plain_address(site), 0, at);
  if (call_at(at)->function) next = above(at), back = call_at(at)->back;
  else next = outside(at); /* a scope, or a function without probes */
  for (; w.count < MAX_FRAMES && next > LOST; next = above(next)) {
    const struct call *c = call_at(next);
    int inside = is_in(c->function, back & ~1u);
    if (!inside && back) add_frame(&w, back & ~1u, 0, 0);
    add_frame(&w, inside ? back & ~1u : START_OF(c->function), inside ? 0 : LOG_ENTRY_EXACT, next);
    back = c->back;
  }
  if (back) add_frame(&w, back & ~1u, 0, 0);
  if (w.count >= MAX_FRAMES || next == LOST) *flags |= LOG_EPISODE_CUT;
  out[0].flags &= ~LOG_ENTRY_NO_STAMP;
  *frames = w.count;
  return join_ends(&w);
}

/* ---- calls that are left ---- */

static struct process *active(void) {
  struct process *p = __cairn_state;
  return p && load(word(p, ALIVE)) && !(p->check_pid && (i32)sys0(SYS_getpid) != p->pid) ? p : 0;
}

/* judge evaluates a call that was left. pc is in it. */
static void judge(struct process *p, u32 sp, u32 pc) {
  static const struct entry gone;
  u64 e = __cairn_now(p), t0, t1;
  if (!__cairn_entered(p, sp, e, &t0, &t1)) return;
  struct thread *t = __cairn_thread(p);
  if (!t || (t->busy && e - t->busy_since < SECOND)) return;
  t->busy_since = e;
  t->busy = 1;
  barrier();
  t->left = (struct left){&gone, 1};
  __cairn_left(p, t, pc, sp, t0, t1, e);
  t->left = (struct left){0, 0};
  barrier();
  t->busy = 0;
}

/* leave_to ends the calls inside of the one at a stack pointer, 0: all. */
static void leave_to(struct process *p, u32 end) {
  u32 back = 0;
  for (u32 at = own_local()->innermost, next; at > LOST && at != end; at = next) {
    struct call *c = call_at(at);
    next = above(at);
    if (c->stamp && __cairn_is_long(p, at)) judge(p, at, is_in(c->function, back & ~1u) ? back & ~1u : START_OF(c->function));
    back = c->back;
    own_local()->innermost = next;
    clear(c, sizeof *c);
  }
}

/* arrive is called where control is back in a call of the function that code names. Calls of stacks between which switches were
 * not seen may be around each other: a circle comes back to the call that was passed at the last power of two. */
HIDDEN void __cairn_arrive(u32 code, u32 sp) {
  struct process *p = active();
  u32 at = p ? own_local()->innermost : 0, passed = 0;
  for (u32 n = 1; at > LOST && !(call_at(at)->function == code && at > sp); n++) {
    if (!(n & (n - 1))) passed = at;
    at = above(at);
    if (at == passed) return;
  }
  if (at > LOST) leave_to(p, at);
}

/* depart is called in front of the end of a thread. */
HIDDEN void __cairn_depart(u32 none, u32 sp) {
  struct process *p = active();
  if (p) leave_to(p, 0);
}

/* outermost returns the outermost call of the stack that this thread runs on, 0 if it is not known. */
u32 __cairn_outermost(void) {
  u32 at = own_local()->innermost, next;
  for (u32 n = 0; n < MAX_FRAMES && at > LOST; n++, at = next)
    if (!(next = above(at))) return at;
  return 0;
}

/* stack_goes is called in front of a switch of stacks: the next call is the outermost one of its stack. */
HIDDEN void __cairn_stack_goes(u32 none, u32 sp) {
  struct process *p = active();
  if (!p) return;
  __cairn_stamp(p, sp);
  __cairn_stack_left(sp);
  own_local()->innermost = 0;
}

/* stack_comes is called behind one, in a call of the function that code names: the state of the call is the first one above
 * its stack pointer. */
HIDDEN void __cairn_stack_comes(u32 code, u32 sp) {
  struct process *p = active();
  u32 at = sp & ~7u;
  while (p && at - sp + 8 < SEARCHED && call_at(at)->function != code) at += 8;
  if (!p || at - sp + 8 >= SEARCHED) return;
  own_local()->innermost = at;
  __cairn_stack_goes_on(sp);
  __cairn_unstamp(p, sp);
}

HIDDEN void __cairn_slow_exit(u64 site, u64 sp, u64 rbp);
HIDDEN void __cairn_slow_at(u32 site, u32 sp) { __cairn_slow_exit(site & ~1u, sp, 0); }

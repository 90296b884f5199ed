/* A window is the sequence of events that a thread has stored since its buffer was last full. When
 * the buffer is full again, the instructions between its branches are counted: a sample is taken
 * where the count is reached, possibly between two branches. Its branches are the preceding ones.
 * Its stack is the one that was walked at the start of the window, updated by the calls and returns
 * since. Without frame pointers nothing is walked: the stack is that of all calls and returns since
 * the thread began. */

#include "lbr.h"

#include <string.h>
#include <sys/syscall.h>

enum {
  LONGEST = 1 << 20, /* instructions between branches; more means that a signal interrupted them */
  RATE = 16,         /* scale of the average of instructions */
};

u64 lbr_address(const struct module *m, u32 number) { return m->lo + m->starts[number]; }

static u32 ones(u64 v) {
  v -= v >> 1 & 0x5555555555555555;
  v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (u32)(v * 0x0101010101010101 >> 56);
}

/* A place: the number of an instruction, with its module in the high half. So instructions of two
 * modules are far from each other, and NOWHERE is far from all. */
enum { NOWHERE = MAX_MODULES };
#define SPOT(module, number) ((u64)(module) << 32 | (number))

/* found looks up an address that is relative to a module. */
static u64 found(u32 module, u64 at) {
  const struct module *m = &lbr_modules[module];
  if (at >= m->span) {
    u64 addr = m->lo + at;
    if (!(m = lbr_module_at(addr))) return SPOT(NOWHERE, 0);
    at = addr - m->lo;
    module = (u32)(m - lbr_modules);
  }
  const struct rank *r = &m->ranks[at / 64];
  u64 bit = 1ul << at % 64;
  if (!(r->bits & bit)) return SPOT(NOWHERE, 0);
  return SPOT(module, (u32)r->before + ones(r->bits & (bit - 1)));
}

/* arrived returns the target of a branch. */
static inline u64 arrived(const struct event *e) {
  if (e->to_high == TO_NUMBER) return SPOT(e->module, e->to);
  return found(e->module, (u64)(i64)(int16_t)e->to_high << 32 | e->to);
}

/* ran returns the number of instructions from a place to the branch of an event. */
static inline u64 ran(u64 at, const struct event *e) {
  u64 n = SPOT(e->module, e->from & FROM_MASK) - at + 1;
  return n <= LONGEST ? n : 1;
}

/* ---- the stack ---- */

static void push(struct state *s, u64 back, u32 sp) {
  if (s->top) s->frames[--s->top] = (struct seen){back, sp, 0};
}

/* push_outer pushes a call by code without a copy. Its return address is that of the event, or else
 * where the branch before it led. */
static void push_outer(struct state *s, const struct event *e) {
  u32 number = e->from & FROM_MASK;
  struct branch before = lbr_branch(e - 1);
  push(s, number ? s->backs[number - 1] : lbr_module_at(before.to) ? (u64)lbr_dispatch : before.to, e->sp);
  s->frames[s->top].outside = 1;
}

/* left removes the frame of a function that outside code called, and that jumps out again: it never
 * returns to recorded code. */
static void left(struct state *s, const struct event *e) {
  if (!lbr_settings.by_calls || lbr_module_at(lbr_branch(e).to)) return;
  while (s->top < s->bottom && s->frames[s->top].sp == e->sp && s->frames[s->top].outside) s->top++;
}

/* near_by reports whether two places may be on one stack: a thread has several if its signals or its
 * coroutines have some of their own. */
static int near_by(u32 a, u32 b) {
  enum { LARGEST = 8 << 20 };
  i32 d = (i32)(a - b);
  return d > -LARGEST && d < LARGEST;
}

/* pop removes the frames whose return address is at sp or below. */
static void pop(struct state *s, u32 sp) {
  if (lbr_settings.by_calls && s->top < s->bottom && !near_by(s->frames[s->top].sp, sp)) {
    /* It is on another stack: a new one, or one that has called this one. */
    u64 i = s->top;
    while (i < s->bottom && !near_by(s->frames[i].sp, sp)) i++;
    if (i == s->bottom) return;
    s->top = i;
  }
  while (s->top < s->bottom && (i32)(s->frames[s->top].sp - sp) <= 0 && (!lbr_settings.by_calls || near_by(s->frames[s->top].sp, sp))) s->top++;
}

/* after returns the return address of a call. */
static u64 behind(const struct event *e) {
  const struct module *m = &lbr_modules[e->module];
  u32 number = e->from & FROM_MASK;
  u32 n = number + 1 < m->start_count ? m->starts[number + 1] - m->starts[number] : 0;
  enum { LONGEST_CALL = 15, COMMON_CALL = 5 };
  return lbr_address(m, number) + (n && n <= LONGEST_CALL ? n : COMMON_CALL);
}

/* starting reports whether a call is that of the startup code, which has no name for anybody: the stack
 * begins with the function that it calls, as where frame pointers end. */
static int starting(u64 back) {
  enum { START = 64 };
  return back - lbr_settings.entry < START;
}

/* follow updates the frames for a branch. */
static void follow(struct state *s, const struct event *e) {
  struct branch b;
  switch (e->from >> KIND_SHIFT) {
  case CALL: /* sp is the one before the call */
    pop(s, e->sp - 8);
    if (lbr_settings.by_calls && starting(behind(e))) s->top = s->bottom;
    else push(s, behind(e), e->sp - 8);
    break;
  case INDIRECT_CALL: /* after */
    pop(s, e->sp);
    if (lbr_settings.by_calls && starting(behind(e))) s->top = s->bottom;
    else push(s, behind(e), e->sp);
    break;
  case RETURN: pop(s, e->sp - 8); break;
  case INDIRECT_JUMP:
    pop(s, e->sp - 8); __attribute__((fallthrough));
  case TAIL_CALL: left(s, e); break;
  case FROM_OUTSIDE: /* a call, unless it is the end of one */
    pop(s, e->sp - 8);
    b = lbr_branch(e);
    if (!s->walked) { /* the beginning of the thread, which is on no stack that is walked */
      s->top = s->bottom = ROOM;
    } else if ((s->top == s->bottom || s->frames[s->top].sp != e->sp) && lbr_begins(&lbr_modules[e->module], b.to)) {
      push_outer(s, e);
    }
    break;
  }
}

/* follow_to updates the frames up to an event. */
static void follow_to(struct state *s, const struct event *e) {
  for (; s->followed < e; s->followed++) follow(s, s->followed);
}

/* opener searches the last events for the call of the current function; it returns the place of the
 * return address, or 0. */
static u32 opener(const struct state *s) {
  i64 n = s->history < HISTORY ? s->history : HISTORY, inner = 0;
  for (const struct event *e = s->end - 1; e >= s->end - n; e--) {
    u32 kind = e->from >> KIND_SHIFT, at = e->sp;
    switch (kind) {
    case RETURN: inner++; break;
    case FROM_OUTSIDE:
      if (!lbr_begins(&lbr_modules[e->module], lbr_branch(e).to)) inner++;
      else if (!inner--) return at;
      break;
    case CALL: at -= 8; __attribute__((fallthrough));
    case INDIRECT_CALL:
      if (!inner--) return at;
      break;
    }
  }
  return 0;
}

static int readable(const struct state *s, u64 at) { return at >= s->stack_lo && at < s->stack_hi && s->stack_hi - at >= 8 && !(at & 7); }

static void outer(struct state *s, u64 at) {
  if (readable(s, at)) s->frames[s->bottom++] = (struct seen){*(const u64 *)at, (u32)at, 0};
}

/* walk follows the frame pointers. It returns 0 if they are unreliable: code without a copy may use
 * the register for something else, and at a jump that may be a tail call it is already the
 * caller's. A function that has not set up its frame yet is identified by its call. */
static int walk(struct state *s, const ucontext_t *u, u32 kind) {
  u64 sp = (u64)u->uc_mcontext.gregs[REG_RSP], fp = (u64)u->uc_mcontext.gregs[REG_RBP], low = sp;
  u32 opened = opener(s);
  if (kind == FROM_OUTSIDE || ((kind == TAIL_CALL || kind == INDIRECT_JUMP) && !opened)) return 0;
  if (sp < s->stack_lo || sp >= s->stack_hi) lbr_find_stack(s, sp);
  s->walked = 1;
  s->top = s->bottom = ROOM;
  if (kind == RETURN) { /* it is already popped */
    s->frames[s->bottom++] = (struct seen){s->target, (u32)sp - 8, 0};
  } else if (opened) {
    u64 at = sp + (opened - (u32)sp);
    if (at != fp + 8 && readable(s, at)) {
      outer(s, at);
      low = at + 8;
    }
  }
  while (s->bottom < ROOM + FRAMES && fp >= low && readable(s, fp) && readable(s, fp + 8)) {
    const u64 *frame = (const u64 *)fp;
    if (!frame[1]) break;
    outer(s, fp + 8);
    low = fp + 16;
    fp = frame[0];
  }
  return 1;
}

/* ---- samples ---- */

/* take samples an instruction before the branch of an event. */
static void take(struct state *s, const struct event *e, u32 number) {
  i64 known = s->history + (e - s->armed);
  if (known < 0) known = 0;
  follow_to(s, e);
  lbr_sample(s, lbr_address(&lbr_modules[e->module], number), e, known < lbr_settings.depth ? (u32)known : lbr_settings.depth);
}

/* skip returns the first event after the place of the next sample, or the end. */
static inline const struct event *skip(const struct event *e, const struct event *end, u64 *wait, u64 *at) {
  u64 w = *wait, a = *at;
  for (; e < end; e++) {
    if (e->from >> KIND_SHIFT != FROM_OUTSIDE) {
      u64 n = ran(a, e);
      if (n >= w) break;
      w -= n;
    }
    a = arrived(e);
  }
  *wait = w, *at = a;
  return e;
}

static void window_of_instructions(struct state *s, struct event *end, int quiet) {
  u64 wait = s->wait, sum = wait, at = arrived(s->counted - 1), events = (u64)(end - s->counted);
  for (const struct event *e = s->counted; e < end; e++) {
    if (!s->calls && (e = skip(e, end, &wait, &at)) == end) break;
    if (e->from >> KIND_SHIFT != FROM_OUTSIDE) {
      u64 n = ran(at, e);
      for (; wait <= n; wait += lbr_settings.every, sum += lbr_settings.every)
        if (!quiet) take(s, e, (e->from & FROM_MASK) - (u32)(n - wait));
      wait -= n;
    }
    if (s->calls) lbr_follow_truth(s, e);
    at = arrived(e);
  }
  s->wait = wait;
  s->counted = end;
  s->branches += events;
  s->instructions += sum - wait;
  if (events > RATE) {
    u64 rate = (sum - wait) * RATE / events;
    s->rate = s->rate ? (s->rate + rate) / 2 : rate;
  }
}

/* window_of_branches does the same if branches are counted. */
static void window_of_branches(struct state *s, struct event *end, int quiet) {
  u64 at = arrived(s->counted - 1);
  for (const struct event *e = s->counted; e < end; e++, s->branches++) {
    if (e->from >> KIND_SHIFT != FROM_OUTSIDE) {
      s->instructions += ran(at, e);
      if (s->wait == 1 && !quiet) take(s, e, e->from & FROM_MASK);
      if (s->wait-- == 1) s->wait = lbr_settings.every;
    } else if (s->wait > 1) {
      s->wait--;
    }
    if (s->calls) lbr_follow_truth(s, e);
    at = arrived(e);
  }
  s->counted = end;
  s->rate = RATE;
}

void lbr_window(struct state *s, struct event *end, int quiet) {
  if (lbr_settings.branches) window_of_branches(s, end, quiet);
  else window_of_instructions(s, end, quiet);
}

/* expected returns the number of events until the next sample, and some more. */
static u64 expected(const struct state *s) {
  u64 n = s->rate < RATE || s->wait < RATE ? s->wait : s->wait / s->rate * RATE + s->wait % s->rate * RATE / s->rate;
  if (n > CAPACITY) n = CAPACITY;
  n += n / 16 + 1;
  if (!s->walked && n > HISTORY) n = HISTORY;
  return n < CAPACITY ? n : CAPACITY;
}

struct event *lbr_full(struct state *s, const ucontext_t *u, u32 kind) {
  int moved = s->moved != lbr_moved; /* older events may refer to unloaded code */
  lbr_window(s, s->end, moved);
  s->history = moved ? 0 : s->history + (s->end - s->armed);
  s->moved = lbr_moved;
  if (lbr_settings.by_calls || !walk(s, u, kind)) follow_to(s, s->end);
  u64 n = expected(s);
  s->armed = s->end - n;
  s->counted = s->armed;
  s->followed = s->armed;
  memmove(s->armed - HISTORY, s->end - HISTORY, HISTORY * sizeof *s->end);
  return s->armed;
}

void lbr_rest(struct state *s, int quiet) {
  u64 all = ~0ul, mask;
  lbr_raw(SYS_rt_sigprocmask, SIG_SETMASK, (u64)&all, (u64)&mask, 8, 0, 0); /* handlers store events as well */
  lbr_window(s, s->position, quiet);
  lbr_raw(SYS_rt_sigprocmask, SIG_SETMASK, (u64)&mask, 0, 8, 0, 0);
}

void lbr_moves(void) {
  struct state *s = lbr_mine();
  if (s && s->moved == lbr_moved) {
    lbr_rest(s, 0);
    if (lbr_settings.by_calls) follow_to(s, s->position);
    s->history = s->armed - s->position;
    s->moved = lbr_moved + 1;
  }
  lbr_moved++;
}

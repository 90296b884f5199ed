/* Coroutines in mode spike. Which stack a call is on, as c/timed/timed_region.c has it: the thread's own has the number 0, others are
 * known by their outermost frame. And for how long it did not run: inserted code calls the runtime in front of calls that continue on
 * another stack and behind them. The time in front is kept in the window, above the stack pointer, where no call is stamped. */

#include "regions.h"
#include "away.h"

#if __aarch64__
#define SINCE(p, sp) ((u64 *)slot(p, (sp) + 8))
#else
#define SINCE(p, sp) ((u64 *)slot(p, sp))
#endif

static int is_own(const struct thread *t, u64 sp) { return sp >= t->low && sp < t->high; }

/* region_of returns the stack that this thread runs on and which is not its own, 0 if it is not known. A frame that is not on the
 * same stack, which is near, is that of another one, or none: coroutines begin with any frame pointer. */
static struct region *region_of(struct process *p, struct thread *t) {
  enum { FRAMES = 4096, FAR = 1 << 20 };
  u64 sp = (u64)__builtin_frame_address(0), f[2] = {sp, 0}, fp = 0;
  struct region *r = find_region(t, sp);
  if (r) return r;
  for (u32 i = 0; i < FRAMES && f[0] > fp && (!fp || f[0] - fp < FAR); i++) {
    u64 next = f[0];
    if (!read_memory(p->watch, next, f, sizeof f)) break;
    fp = next;
  }
  return fp ? add_region(t, sp, fp + FRAME, 0) : 0;
}

static u32 stack_of(struct thread *t) {
  if (is_own(t, (u64)__builtin_frame_address(0))) return 0;
  struct region *r = region_of(shared.process, t);
  return r ? r->number : LOG_STACK_UNKNOWN;
}

/* stack_base returns what the stack is known by that this thread runs on, 0 if by nothing. */
static u64 stack_base(void) {
  struct thread *t = (struct thread *)own_slot(8 * shared.process->key);
  if (is_own(t, (u64)__builtin_frame_address(0))) return t->high;
  struct region *r = region_of(shared.process, t);
  return r ? r->top : 0;
}

/* of_suspends: what is called next continues on another stack. */
static u64 of_suspends(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  if (p) *SINCE(p, sp) = now(p);
  return 0;
}

/* current returns what is known of the stack that runs, 0 if nothing; it is kept from handlers until end. */
static struct suspended *current(struct process *p, struct thread **t, int make) {
  struct suspended *x = 0;
  if ((*t = p->off ? 0 : begin(p)) && !(x = suspended_of(p, stack_base(), make))) end(*t);
  return x;
}

/* of_resumes: that stack goes on. */
static u64 of_resumes(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  struct suspended *x;
  struct thread *t;
  if (!p) return 0;
  u64 e = now(p), since = *SINCE(p, sp);
  *SINCE(p, sp) = 0;
  if (!since) return 0;
  u64 saved = begin_system(vectors);
  if ((x = current(p, &t, 1))) note_away(p, x, since, e), end(t);
  end_system(saved, vectors);
  return 0;
}

/* of_leaves: what is called next does not return, if it succeeds. */
static u64 of_leaves(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  struct suspended *x;
  struct thread *t;
  if (!p) return 0;
  u64 saved = begin_system(vectors);
  if ((x = current(p, &t, 1))) store(&x->left, now(p)), end(t);
  end_system(saved, vectors);
  return 0;
}

/* of_comes is behind getcontext, which returns again when the stack goes on that such a call left. */
static u64 of_comes(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  struct suspended *x;
  struct thread *t;
  if (!p || !load(&p->suspended)) return 0;
  u64 saved = begin_system(vectors);
  if ((x = current(p, &t, 0))) {
    if (x->left) note_away(p, x, x->left, now(p));
    store(&x->left, 0), end(t);
  }
  end_system(saved, vectors);
  return 0;
}

ROUTINE(suspends)
ROUTINE(resumes)
ROUTINE(leaves)
ROUTINE(comes)

/* The unwinder of the library that is put into a running program: the program may have none,
 * and its own takes locks and does not know this library. It uses tables that
 * internal/watch/attach makes of the unwind tables of all modules. Stacks are read by system
 * calls, as a table may be wrong. */

#include "attach.h"

struct context {
  u64 pc, sp, frame; /* sp: where the callee's frame ends */
  i32 exact;         /* pc is no return address */
};

enum { OUTER = 5 /* _URC_END_OF_STACK */, DEEPEST = 4096 };

static const struct unwind_row *row_of(u64 pc) {
  const struct attach *a = __cairn_attached;
  const struct unwind_module *m = (const struct unwind_module *)a->unwind;
  u64 lo = 0, hi = a->unwind_modules;
  while (lo < hi) { /* the first module after pc */
    u64 mid = lo + (hi - lo) / 2;
    if (m[mid].lo <= pc) lo = mid + 1;
    else hi = mid;
  }
  if (!lo || pc >= m[lo - 1].hi) return 0;
  const struct unwind_row *row = (const struct unwind_row *)m[lo - 1].rows;
  pc -= m[lo - 1].lo;
  hi = m[lo - 1].count, lo = 0;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (row[mid].pc <= pc) lo = mid + 1;
    else hi = mid;
  }
  return lo ? &row[lo - 1] : 0;
}

/* word_at reads a word of a stack, if it is mapped. */
static int word_at(u64 at, u64 *to) {
  u64 local[2] = {(u64)to, 8}, remote[2] = {at, 8};
  return sys6(SYS_process_vm_readv, sys0(SYS_getpid), (i64)local, 1, (i64)remote, 1, 0) == 8;
}

/* interrupted continues with the code that a signal interrupted: c->sp is the saved state. */
static int interrupted(struct context *c) {
  enum { RBP = 40 + 10 * 8, RSP = 40 + 15 * 8, RIP = 40 + 16 * 8 };
  u64 at = c->sp;
  if (!word_at(at + RBP, &c->frame) || !word_at(at + RIP, &c->pc) || !word_at(at + RSP, &c->sp)) return 0;
  c->exact = 1;
  return 1;
}

/* step walks to the caller. pc 0: there is none. */
static int step(struct context *c) {
  const struct unwind_row *r = row_of(c->pc - !c->exact);
  u64 cfa = 0, pc = 0, frame = c->frame;
  if (!r || r->cfa == CFA_NONE) return 0;
  if (r->cfa == CFA_SIGNAL) return interrupted(c);
  switch (r->cfa) {
  case CFA_STACK: cfa = c->sp + (u64)(i64)r->cfa_offset; break;
  case CFA_FRAME: cfa = c->frame + (u64)(i64)r->cfa_offset; break;
  case CFA_PLT: cfa = c->sp + 8 + ((c->pc & 15) >= (u64)r->cfa_offset ? 8 : 0); break;
  case CFA_AT_FRAME:
    if (!word_at(c->frame + (u64)(i64)r->cfa_offset, &cfa)) return 0;
  }
  switch (r->rest & 15) {
  case FRAME_AT_CFA:
    if (!word_at(cfa + (u64)(i64)r->frame_offset, &frame)) return 0;
    break;
  case FRAME_AT_FRAME:
    if (!word_at(c->frame + (u64)(i64)r->frame_offset, &frame)) return 0;
  }
  c->exact = 0;
  switch (r->rest >> 4) {
  case RETURN_IN_WINDOW: /* as hook.S describes it for other unwinders */
    pc = (*(u64 *)(__cairn_attached->returns + (u32)(cfa - 8)) << 16 >> 16) - 1;
    c->exact = 1;
    break;
  case RETURN_PLAIN:
    if (cfa <= c->sp || !word_at(cfa - 8, &pc)) return 0;
  }
  c->pc = pc, c->sp = cfa, c->frame = frame;
  return 1;
}

int _Unwind_Backtrace(int (*tell)(struct context *, void *), void *arg) {
  struct context c;
  c.exact = 1;
  __asm__ volatile("leaq (%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" : "=&r"(c.pc), "=&r"(c.sp), "=&r"(c.frame));
  for (u32 n = 0; n < DEEPEST && step(&c); n++) {
    int r = tell(&c, arg);
    if (r || !c.pc) return r;
  }
  return OUTER;
}

u64 _Unwind_GetIPInfo(struct context *c, int *exact) {
  *exact = c->exact;
  return c->pc;
}
u64 _Unwind_GetCFA(struct context *c) { return c->sp; }
u64 _Unwind_GetRegionStart(struct context *c) {
  (void)c;
  return 0; /* no function has a probe */
}
void *_dl_find_object(void *pc, void *found) {
  (void)pc, (void)found;
  return 0; /* callers only check that it exists */
}

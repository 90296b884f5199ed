/* Which stack of its thread a call is on. Coroutines have stacks of their own, and switch between
 * them while calls continue: of two calls on different stacks none called the other, whatever their
 * stack pointers are. The thread's own stack has the number 0; that of the first thread ends where
 * the kernel put the name of the program, that of another thread at the thread pointer. Other
 * stacks are identified by the outermost frame that the unwinder finds. A handler on a signal stack
 * belongs to the stack that it interrupted. */

#include "timed.h"
#include "regions.h"

struct context;
extern int _Unwind_Backtrace(int (*)(struct context *, void *), void *) WEAK;
extern u64 _Unwind_GetIPInfo(struct context *, int *) WEAK;
extern u64 _Unwind_GetCFA(struct context *) WEAK;

enum {
  AT_EXECFN = 31,
  MAIN_STACK = 128 << 20, /* nothing else is mapped so close below its top */
  SIGNAL_FRAME = 16384,   /* size of the kernel's frame between a handler and the interrupted code */
  BUFFER = 512            /* a coroutine may have a small stack */
};

void __cairn_regions_start(struct process *p) {
  i64 at = auxiliary(AT_EXECFN);
  if (at > 0) p->main_top = (u64)at;
}

/* ---- the thread's own stack ---- */

/* main_stack returns a size that the stack of the first thread does not exceed, and in which nothing else is mapped below its top. An
 * emulator of programs for 32 bits maps other memory below the size that the limit is. */
static u64 main_stack(void) {
#if __arm__
  enum { LIMIT_OF_STACK = 3 };
  uword limit[2];
  if (sys2(SYS_getrlimit, LIMIT_OF_STACK, limit) >= 0 && limit[0] < MAIN_STACK) return limit[0];
#endif
  return MAIN_STACK;
}


struct mapping {
  u64 start, end, *value;
};

/* digit parses a character of a listing of mappings; it returns 0 after the two addresses. */
static int digit(struct mapping *m, char c) {
  u8 d = (u8)c;
  if (c == '-') m->value = &m->end;
  else if (d - '0' < 10u || d - 'a' < 6u) *m->value = *m->value << 4 | (d <= '9' ? d - '0' : d - 'a' + 10u);
  else return 0;
  return 1;
}

/* find_own finds the mapping that contains the thread pointer. There is a guard below it. Another thread may close all
 * descriptors meanwhile, and get the number for a file of its own, which must be neither moved nor closed. */
static void find_own(struct thread *t) {
  char b[BUFFER];
  u64 device, inode, at = 0;
  i64 n, fd = open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  struct mapping m = {0, 0, &m.start};
  int in = 1;
  t->own_lo = t->own_hi = t->tp;
  if (fd < 0) return;
  i64 known = identify((i32)fd, &device, &inode); /* a filter may refuse it; -EBADF: it was closed */
  for (; known != -EBADF && (n = read_at(fd, b, sizeof b, at)) > 0; at += (u64)n)
    for (i64 i = 0; i < n; i++) {
      if (b[i] == '\n') {
        m = (struct mapping){0, 0, &m.start};
        in = 1;
      } else if (in && !(in = digit(&m, b[i])) && t->tp >= m.start && t->tp < m.end) {
        t->own_lo = m.start;
      }
    }
  if (known < 0 ? known != -EBADF : is_file((i32)fd, device, inode) >= 0) sys1(SYS_close, fd);
}

static int is_own(struct process *p, struct thread *t, u64 sp) {
  if (!p->main_top || p->main_top - sp < main_stack()) return 1;
  if (t->owner == p->pid && !p->forked) return 0; /* its thread pointer is elsewhere */
  if (!t->own_hi) find_own(t);
  return sp >= t->own_lo && sp < t->own_hi;
}

/* ---- others ---- */

struct outermost {
  u64 sp, signal; /* signal: the outermost frame of a handler on a signal stack, if there is one */
  u32 frames;
};

static int outer(struct context *c, void *arg) {
  struct outermost *o = arg;
  int exact = 0;
  u64 pc = _Unwind_GetIPInfo(c, &exact);
  u64 sp = _Unwind_GetCFA(c);
  if (exact && o->frames && !o->signal && sp - o->sp > SIGNAL_FRAME) o->signal = o->sp;
  o->sp = sp;
  return !pc || ++o->frames == 4096 ? 5 /* _URC_END_OF_STACK */ : 0;
}

/* walk finds the outermost frame of the current call. */
static int walk(struct process *p, struct thread *t, struct outermost *o) {
  *o = (struct outermost){0, 0, 0};
  if (!__cairn_has_unwinder()) return 0;
  __cairn_keep_vectors(p, t->vectors);
  _Unwind_Backtrace(outer, o);
  __cairn_restore_vectors(p, t->vectors);
  return o->frames > 1;
}

/* other_stack returns the stack of sp, which is not the thread's own. */
static struct region *other_stack(struct process *p, struct thread *t, u64 sp) {
  struct outermost o;
  struct region *r = find_region(t, sp);
  if (r) return r;
#if __arm__ /* without an unwinder */
  u32 top = __cairn_on_signal_stack(sp) ? 0 : __cairn_outermost();
  return top >= sp && !is_own(p, t, top) ? add_region(t, sp, top, 0) : 0;
#endif
  if (!walk(p, t, &o)) return 0;
  if (!o.signal) return add_region(t, sp, o.sp, 0);
  return add_region(t, sp, o.signal, 1);
}

struct region *__cairn_stack_at(struct process *p, struct thread *t, u64 sp, u64 *low, u64 *size) {
  struct region *r = 0;
  *low = *size = 0;
  if (is_own(p, t, sp)) {
    int first = p->main_top - sp < main_stack();
    *low = !p->main_top ? 0 : first ? p->main_top - MAIN_STACK : t->own_lo;
    *size = !p->main_top ? NONE : first ? MAIN_STACK : t->own_hi - t->own_lo;
  } else if ((r = find_region(t, sp)) || !t->busy) { /* otherwise the unwinder is running below */
    if (!r) {
      t->busy_since = __cairn_now(p);
      t->busy = 1;
      r = other_stack(p, t, sp);
      t->busy = 0;
    }
    if (r) *low = r->lo - SLACK, *size = r->top + 1 - *low;
  }
  return r;
}

u64 __cairn_stack_key(struct process *p, struct thread *t, u64 sp) {
  if (is_own(p, t, sp)) return t->tp;
  struct region *r = other_stack(p, t, sp);
  return r && !r->handlers ? r->top : 0;
}

u32 __cairn_region(struct process *p, struct thread *t, u64 sp) {
  struct outermost o;
  if (is_own(p, t, sp)) return 0;
#if __arm__
  if (__cairn_on_signal_stack(sp)) return 0;
#endif
  struct region *r = other_stack(p, t, sp);
  if (!r) return LOG_STACK_UNKNOWN;
  if (!r->handlers) return r->number;
  if (!walk(p, t, &o)) return LOG_STACK_UNKNOWN;
  if (is_own(p, t, o.sp)) return 0;
  r = find_region(t, o.sp);
  return r ? r->number : LOG_STACK_UNKNOWN;
}

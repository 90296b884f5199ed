/* The stack of an episode. It uses the unwinder of the program's compiler, if that takes no lock,
 * as a slow exit may be anywhere; otherwise it follows frame pointers as far as they lead;
 * otherwise the stack is the peak and its caller. The caller's callers become known when they end.
 *
 * The unwinder gives the stack pointer at a frame's entry, so the frame's stamp can be read from
 * the window, and from it the frame's time so far. */

#include "hook.h"
#include "timed.h"

#if !__ANDROID__ && __has_include(<gnu/libc-version.h>)
#define GLIBC 1
extern void *_dl_find_object(void *, void *) WEAK; /* with it, unwinding takes no lock */
#else
#define GLIBC 0
#endif

struct context;
extern int _Unwind_Backtrace(int (*)(struct context *, void *), void *) WEAK;
extern u64 _Unwind_GetIPInfo(struct context *, int *) WEAK;
extern u64 _Unwind_GetCFA(struct context *) WEAK;
extern u64 _Unwind_GetRegionStart(struct context *) WEAK;

void __cairn_keep_vectors(struct process *p, u8 *area) { keep_vectors(p->xsave_mask, area); }
void __cairn_restore_vectors(struct process *p, u8 *area) { restore_vectors(p->xsave_mask, area); }

FALLBACK void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e) { (void)p, (void)t, (void)stack, (void)n, (void)e; }

enum { TAIL = 8, MAX_FRAMES = 1024 };
_Static_assert(sizeof(struct entry) == LOG_ENTRY_SIZE, "layout");

struct walk {
  struct process *p;
  struct hooks *hooks;
  u64 site, at, sp, e;
  struct entry *out;
  u32 max, count; /* count: frames found */
  u32 started, stamped; /* stamped: the last frame found is of an instrumented function */
  struct entry tail[TAIL]; /* the last ones: ring */
};

/* read_self reads memory that may not be mapped. */
static int read_self(struct process *p, u64 at, void *to, u64 n) {
  u64 local[2] = {(u64)to, n}, remote[2] = {at, n};
  return sys6(SYS_process_vm_readv, p->pid, (i64)local, 1, (i64)remote, 1, 0) == (i64)n;
}

/* __cairn_is_stamped reports whether a function begins with the stamping code, which refers to a module's
 * __cairn_base. The slots of other frames hold stamps of earlier calls. */
int __cairn_is_stamped(struct process *p, u64 start) {
  u8 copied[STAMP_REACH];
  const u8 *code = (const u8 *)start;
  u32 n = load(&p->bases);
  if (!start) return 0;
  if ((start & 4095) > 4096 - STAMP_REACH) { /* it may end before the next page, which may be unmapped */
    if (!read_self(p, start, copied, STAMP_REACH)) return 0;
    code = copied;
  }
  for (u64 at = 0; at + REFERENCE <= STAMP_REACH; at += INSTRUCTION) {
    u64 to = refers_to(code + at, start + at);
    for (u32 i = 0; i < n && i < BASES; i++)
      if (to == p->base_word[i]) return 1;
  }
  return 0;
}

/* set_times sets the times of a frame by the stamp of its entry. */
static void set_times(struct walk *w, struct entry *x, u64 sp) {
  u64 t0, t1;
  x->sp = (u32)sp;
  if (!w->stamped || !__cairn_entered(w->p, sp, w->e, &t0, &t1)) return;
  x->flags &= ~LOG_ENTRY_NO_STAMP;
  x->lo = w->e - t1, x->hi = w->e - t0;
  if (t0 < w->p->fork_time) x->flags |= LOG_ENTRY_BEFORE_FORK;
}

/* entry_of returns the place of frame i: the first frames are in order, the last ones of a deep
 * stack in a ring. */
static struct entry *entry_of(struct walk *w, u32 i) {
  u32 plain = w->max - TAIL;
  return i < plain ? &w->out[i] : &w->tail[(i - plain) % TAIL];
}

static void add_frame(struct walk *w, u64 pc, int exact) {
  struct entry *x = entry_of(w, w->count++);
  x->pc = pc;
  x->lo = x->hi = 0;
  x->sp = 0;
  x->flags = exact ? LOG_ENTRY_EXACT | LOG_ENTRY_NO_STAMP : LOG_ENTRY_NO_STAMP;
}

/* is_stub reports whether a frame is that of the stub a hooked function returns to. */
static int is_stub(const struct walk *w, u64 pc) { return w->hooks && pc - w->hooks->stub < w->hooks->stub_end - w->hooks->stub; }

static int is_hook(const struct walk *w, u64 pc) {
  for (u32 i = 0; w->hooks && i < w->hooks->texts; i++)
    if (pc - w->hooks->text[i][0] < w->hooks->text[i][1] - w->hooks->text[i][0]) return 1;
  return 0;
}

/* A frame's own CFA is known from the next frame's stack pointer. The frame after a hooked function
 * is the stub, which is not part of the program. */
static int frame(struct context *c, void *arg) {
  struct walk *w = arg;
  int exact = 0;
  u64 pc = _Unwind_GetIPInfo(c, &exact), cfa = _Unwind_GetCFA(c);
  if (!w->started) {
    if (pc != w->at) return 0; /* if there are several, the innermost is the right one */
    w->started = 1;
    if (w->at != w->site && _Unwind_GetRegionStart(c) + 1 != w->site) {
      add_frame(w, w->site, 0);
      if (is_hook(w, pc)) return 0; /* the hooked call has ended, or has not begun yet */
      /* Inlined, or ended: this is its caller. */
      entry_of(w, 0)->sp = (u32)w->sp;
    }
  } else if (w->count) {
    w->stamped |= (u32)is_stub(w, pc);
    set_times(w, entry_of(w, w->count - 1), cfa - ENTRY_BELOW_CFA);
    if (is_stub(w, pc)) return 0;
  }
  if (!pc) return 5;
  w->stamped = __cairn_is_stamped(w->p, _Unwind_GetRegionStart(c));
  add_frame(w, pc, exact);
  return w->count < MAX_FRAMES ? 0 : 5 /* _URC_END_OF_STACK */;
}

/* return_of returns the real return address of a function whose return address in the slot sp is
 * pc. */
static u64 return_of(const struct walk *w, u64 sp, u64 pc) {
  if (!w->hooks || pc != w->hooks->stub) return pc;
  return *(u64 *)(w->hooks->returns + (u32)sp) << 16 >> 16;
}

/* by_frame_pointers continues the walk from the caller. */
static void by_frame_pointers(struct walk *w, u64 rbp) {
  u64 at = w->sp, two[2];
  while (w->count < MAX_FRAMES && rbp > at && !(rbp & 7) && rbp - at < 8 << 20 && read_self(w->p, rbp, two, sizeof two)) {
    u64 back = two[1];
    two[1] = return_of(w, rbp + 8, plain_address(back));
    w->stamped = plain_address(back) != two[1];
    if (!two[1] || !__cairn_known(w->p, two[1])) break;
    if (FRAME_IS_ENTRY) set_times(w, entry_of(w, w->count - 1), rbp + 8);
    add_frame(w, two[1], 0);
    at = rbp;
    rbp = two[0];
  }
}

int __cairn_has_unwinder(void) {
  if (!_Unwind_Backtrace || !_Unwind_GetIPInfo || !_Unwind_GetCFA || !_Unwind_GetRegionStart) return 0;
#if GLIBC
  return _dl_find_object != 0;
#else
  return !ANDROID; /* whose loader takes a lock, and whose programs have frame pointers */
#endif
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

u32 __cairn_stack(struct process *p, struct thread *t, u64 site, u64 sp, u64 rbp, u64 e, struct entry *out, u32 max,
                  u32 *frames, u32 *flags) {
  struct walk w;
  if (t->left.stack) {
    u32 n = (u32)least(t->left.n, max);
    copy(out, t->left.stack, n * sizeof *out);
    if (n < t->left.n) *flags |= LOG_EPISODE_CUT;
    *frames = t->left.n;
    return n;
  }
  w.p = p, w.hooks = load(&p->hooks), w.site = site, w.at = t->left_at ? t->left_at : site;
  w.sp = sp, w.e = e, w.out = out, w.max = max, w.count = w.started = w.stamped = 0;
  if (__cairn_has_unwinder()) {
    __cairn_keep_vectors(p, t->vectors);
    _Unwind_Backtrace(frame, &w);
    __cairn_restore_vectors(p, t->vectors);
  }
  if (w.count < 2) {
    *flags |= LOG_EPISODE_NO_UNWINDER;
    w.count = w.stamped = 0;
    add_frame(&w, site, 0);
    out[0].sp = (u32)sp;
    add_frame(&w, return_of(&w, sp, returns_to(sp)), 0);
    by_frame_pointers(&w, rbp);
    if (w.count == 2) *flags |= LOG_EPISODE_CALLER_ONLY;
  }
  if (w.count >= MAX_FRAMES) *flags |= LOG_EPISODE_CUT;
  out[0].flags &= ~LOG_ENTRY_NO_STAMP;
  *frames = w.count;
  u32 n = join_ends(&w);
  if (t->made) {
    out[0].sp = (u32)sp;
    __cairn_call_times(p, t, out, n, e);
  }
  return n;
}

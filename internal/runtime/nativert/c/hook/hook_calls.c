/* -finstrument-functions: the compiler calls a hook after the prologue and before the
 * epilogue of each function, and of inlined functions, with the function's address. The
 * stack pointer is not that of the entry, and can differ between the two. So each thread has
 * a list of its open calls, by the stack pointer in the first hook. An entry or exit above
 * other calls ends those: longjmp has skipped their hooks.
 *
 * A second stack of the same thread has the same effect. Coroutines lose calls. */

#include "hook.h"

/* An open call. */
struct call {
  u64 function, caller; /* the return address of the function */
  u64 sp;
  u32 stamp;
  u32 level; /* among inlined calls, which have the same sp */
};

/* The key of a call in other tables must be unique. */
static u64 name_of(const struct call *x) { return x->sp - x->level; }

enum { OPEN_CALLS = 65535, FARTHEST = 1 << 20 };
struct calls {
  u64 count;
  struct call call[OPEN_CALLS];
};

static __thread struct calls *own __attribute__((tls_model("initial-exec")));

/* find returns the list of this thread, which may be that of a thread that has ended. */
static __attribute__((noinline)) struct calls *find(struct process *p) {
  struct thread *t = p->off ? 0 : __cairn_thread(p);
  if (!t) return 0;
  if (!t->made) {
    struct calls *c = (struct calls *)map(0, sizeof *c, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(c)) return 0;
    t->made = c;
  }
  t->made->count = 0;
  return own = t->made;
}

#define EXPORT __attribute__((visibility("default")))
EXPORT void __cyg_profile_func_enter(void *function, void *caller);
EXPORT void __cyg_profile_func_exit(void *function, void *caller);

/* The entry is added before it is filled in: a signal handler, which restores the list,
 * uses the place after it. */
void __cyg_profile_func_enter(void *function, void *caller) {
  u64 sp = (u64)__builtin_dwarf_cfa() - 8;
  struct process *p = __cairn_state;
  struct calls *c = own;
  if (!p || (!c && !(c = find(p)))) return;
  u64 n = c->count;
  while (n && (c->call[n - 1].sp < sp || (c->call[n - 1].sp == sp && c->call[n - 1].caller != (u64)caller))) n--;
  if (n == OPEN_CALLS) n = 0; /* the outer calls are not evaluated */
  struct call *x = &c->call[n];
  x->sp = sp;
  barrier();
  c->count = n + 1;
  barrier();
  u32 stamp = load(word(p, CLOCK));
  x->sp = sp, x->function = (u64)function, x->caller = (u64)caller, x->stamp = stamp;
  x->level = n && x[-1].sp == sp ? (u32)least(x[-1].level + 1, 7) : 0;
}

/* is_of reports whether the second hook, whose return address is at sp, belongs to an open
 * call. The stack pointer is the same, unless the function has allocated memory on the
 * stack, or has removed its frame and jumps to the hook. */
static int is_of(const struct call *x, u64 function, u64 caller, u64 sp) {
  return x->function == function && x->caller == caller && x->sp - sp + FARTHEST <= 2 * FARTHEST;
}

void __cyg_profile_func_exit(void *function, void *caller) {
  u64 sp = (u64)__builtin_dwarf_cfa() - 8;
  struct process *p = __cairn_state;
  struct calls *c = own;
  if (!p || !c) return;
  u64 n = c->count;
  while (n && !is_of(&c->call[n - 1], (u64)function, (u64)caller, sp)) n--;
  if (!n) return;
  const struct call *x = &c->call[n - 1];
  if ((i32)(x->stamp - load(word(p, CLOCK)) + load(word(p, LOW))) < 0) {
    u64 name = name_of(x);
    *(u32 *)slot(p, name) = x->stamp;
    c->count = n; /* with the callers, for the stack */
    __cairn_leave_at((u64)__builtin_return_address(0), (u64)function + 1, name, name, 0);
  }
  c->count = n - 1;
}

/* call_times sets the times of a stack's frames, from the second on, from the open calls. A frame
 * has those between the stack pointers at its entry and at its callee's; the outermost is the
 * function itself, the others were inlined. */
void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e) {
  const struct calls *c = t->made;
  if (!c || !n || !c->count) return;
  u64 k = c->count - 1; /* without the one that ends */
  u32 below = (u32)c->call[k].sp;
  for (u32 i = 1; i < n; i++) {
    struct entry *x = &stack[i];
    const struct call *found = 0;
    u64 t0, t1;
    if (!x->sp) continue;
    for (; k && (i32)((u32)c->call[k - 1].sp - x->sp) < 0; k--)
      if ((i32)((u32)c->call[k - 1].sp - below) >= 0) found = &c->call[k - 1];
    below = x->sp;
    if (!found || !found->stamp || !(x->flags & LOG_ENTRY_NO_STAMP)) continue;
    __cairn_coarse_interval(p, found->stamp, e, &t0, &t1);
    x->sp = (u32)name_of(found);
    x->lo = e - t1, x->hi = e - t0;
    x->flags &= ~LOG_ENTRY_NO_STAMP;
    if (t0 < p->fork_time) x->flags |= LOG_ENTRY_BEFORE_FORK;
  }
}

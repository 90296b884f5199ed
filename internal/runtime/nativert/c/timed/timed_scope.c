/* Scopes that a program marks: functions, and sections of functions. Each is a separate call, with
 * a stamp in the window and a threshold. It is identified by the stack pointer at its function's
 * entry, so that it and the inserted code mean the same call; a nested scope of the same frame has
 * the next slot below. The memory below the entry is the function's own: it holds the scopes'
 * variables, which are larger than a slot, so no live call has its stamp there.
 *
 * A scope is evaluated when it ends, before the function returns. Inserted code in the function
 * would evaluate it again, so a slow scope removes the stamp: no entry was seen.
 *
 * The open scopes of a thread are among its annotations. A scope of a frame below the current one,
 * or of another function in its place, is discarded: longjmp skipped its end. */

#if !defined _WIN32 && !defined __APPLE__
#include "timed.h"
#endif

/* The start of the struct in cairn_mark.h. */
struct scope {
  u64 sp; /* identifies the call; 0: not open */
  u64 frame;
};

HIDDEN void __cairn_scope_begin(struct scope *s, u64 cfa, const char *name);
HIDDEN u64 __cairn_scope_end(struct scope *s);
HIDDEN int __cairn_scope_over(const struct scope *s);
HIDDEN void __cairn_scope_text(const struct scope *s, u64 number, const char *text, u64 len);
HIDDEN void __cairn_mark(u64 cfa, u32 verb, u64 ns);

#if !defined _WIN32 && !defined __APPLE__
static struct thread *self(void) {
  struct process *p = __cairn_state;
  return p && load(word(p, ALIVE)) && !p->off ? __cairn_thread(p) : 0;
}
#endif

/* drop removes annotations below a stack pointer. */
static void drop(struct thread *t, u64 sp) {
  while (t->notes && t->note[t->notes - 1].sp < sp) t->notes--;
}

/* settle removes annotations of frames that have returned, as seen by a function whose stack
 * pointer at entry is frame. */
void __cairn_settle(struct thread *t, u64 frame) {
  for (; t->notes; t->notes--) {
    const struct annotation *n = &t->note[t->notes - 1];
    u64 of = n->flags & NOTE_SCOPE ? n->frame : n->sp;
    if (of > frame || (of == frame && (!(n->flags & NOTE_SCOPE) || n->caller == *(uword *)(uword)frame))) return;
  }
}

/* begin opens a scope in the function with that CFA. If there is no room it stays closed, and its
 * time belongs to the enclosing scope. */
void __cairn_scope_begin(struct scope *s, u64 cfa, const char *name) {
  u64 here = (uword)__builtin_dwarf_cfa(), sp = cfa - ENTRY_BELOW_CFA;
  s->sp = 0, s->frame = sp;
  struct thread *t = self();
  if (!t) return;
  __cairn_settle(t, sp);
  for (u32 i = 0; i < t->notes; i++)
    if (t->note[i].scope == s) t->notes = i; /* left without its end */
  if (t->notes) {
    const struct annotation *top = &t->note[t->notes - 1];
    if (top->sp == sp && !(top->flags & NOTE_SCOPE)) t->notes--; /* of an earlier call */
    else if (top->sp <= sp) sp = top->sp - 8;
  }
  if (name && sp == s->frame) sp -= 8; /* that slot belongs to the function */
  if (sp < here || t->notes == NOTES) return;
  struct annotation *n = &t->note[t->notes++];
  n->sp = s->sp = sp;
  n->at = NONE;
  n->own = n->children = 0;
  n->flags = NOTE_SCOPE;
  n->pc = (uword)__builtin_return_address(0);
  n->name = name;
  n->scope = s;
  n->frame = s->frame;
  n->caller = *(uword *)(uword)s->frame;
  struct process *p = __cairn_state;
  __cairn_stamp(p, sp);
}

/* end closes a scope and returns the number of its episode, 0 if it was not reported. */
u64 __cairn_scope_end(struct scope *s) {
  struct process *p = __cairn_state;
  struct thread *t = s->sp ? self() : 0;
  if (!t) return 0;
  u64 number = 0;
  if (__cairn_is_long(p, s->sp)) {
    number = __cairn_leave((uword)__builtin_return_address(0), s->sp, s->frame, 0);
    __cairn_unstamp(p, s->sp);
  }
  drop(t, s->sp + 1);
  s->sp = 0;
  return number;
}

/* over reports whether a scope has lasted as long as its threshold. */
int __cairn_scope_over(const struct scope *s) { return s->sp && __cairn_over(s->sp); }

/* text writes a text of the program about a scope: with the number that end returned, or with 0
 * before its end, as a message. */
void __cairn_scope_text(const struct scope *s, u64 number, const char *text, u64 len) {
  struct thread *t = self();
  u64 sp = s->sp ? s->sp : s->frame;
  u32 kind = number ? LOG_TEXT_DESCRIPTION : LOG_TEXT_MESSAGE;
  if (!t || t->busy) return; /* in a signal handler that interrupted a write to the queue */
  if (!number) {
    struct process *p = __cairn_state;
    u64 t0 = NONE, t1;
    __cairn_entered(p, sp, __cairn_now(p), &t0, &t1);
    for (u32 i = (u32)less(t->opened, OPEN); i < t->opened; i++) {
      const struct open_episode *o = &t->open[i % OPEN];
      if (o->sp < sp && o->t0 + p->slop >= t0) number = o->number; /* found in a callee */
    }
  }
  t->busy_since = __cairn_now(__cairn_state);
  t->busy = 1;
  barrier();
  __cairn_numbered_text(number, kind, sp, (uword)__builtin_return_address(0), text, len);
  barrier();
  t->busy = 0;
}

/* mark applies a verb to the innermost open scope of the frame with that CFA, or to the frame
 * itself. */
void __cairn_mark(u64 cfa, u32 verb, u64 ns) {
  enum { OWN, CHILDREN, PARENTS, IGNORE, IGNORE_CHILDREN };
  struct thread *t = self();
  u64 sp = cfa - ENTRY_BELOW_CFA;
  if (!t) return;
  __cairn_settle(t, sp);
  if (t->notes && t->note[t->notes - 1].sp < sp) sp = t->note[t->notes - 1].sp;
  if (verb == PARENTS) {
    __cairn_note_parents(sp, ns);
    return;
  }
  if (!ns) ns = 1;
  __cairn_note(sp, verb == OWN ? ns : 0, verb == CHILDREN ? ns : 0,
               verb == IGNORE ? NOTE_IGNORE : verb == IGNORE_CHILDREN ? NOTE_IGNORE_CHILDREN : 0);
}

/* ---- in episodes ---- */

u32 __cairn_scopes(struct process *p, struct thread *t, u64 sp, u64 e, struct entry *stack, u32 n, u32 max) {
  for (u32 i = t->notes, k = 0; i--;) {
    const struct annotation *a = &t->note[i];
    if (!(a->flags & NOTE_SCOPE) || a->sp < sp) continue;
    while (k < n && (!stack[k].sp || (i32)(stack[k].sp - (u32)a->sp) < 0)) k++;
    if (k == n) break;
    struct entry *x = &stack[k];
    if (x->sp != (u32)a->sp) {
      if (n < max) n++;
      for (u32 j = n - 1; j > k; j--) stack[j] = stack[j - 1];
      if (k + 1 < n && !stack[k + 1].hi) stack[k + 1].flags |= LOG_ENTRY_NO_STAMP;
      x->sp = (u32)a->sp;
    }
    u64 t0 = e, t1 = e;
    __cairn_entered(p, a->sp, e, &t0, &t1);
    x->lo = e - t1, x->hi = e - t0;
    x->flags = a->flags & NOTE_IGNORE ? LOG_ENTRY_IGNORED : 0;
    k++;
  }
  return n;
}

/* section_of copies the beginning of the name of the open section with that stack pointer; the
 * program need not keep the name longer than the section. */
void __cairn_section_of(const struct thread *t, u64 sp, char *to, u64 room) {
  to[0] = 0;
  for (u32 i = t->notes; i--;) {
    const struct annotation *a = &t->note[i];
    if (!(a->flags & NOTE_SCOPE) || a->sp != sp || !a->name) continue;
    u64 n = least(length(a->name), room - 1);
    copy(to, a->name, n);
    to[n] = 0;
  }
}

void __cairn_scope_names(struct thread *t, u64 number, u64 sp) {
  for (u32 i = t->notes; i--;) {
    const struct annotation *a = &t->note[i];
    if (a->flags & NOTE_SCOPE && a->sp >= sp && a->name)
      __cairn_numbered_text(number, LOG_TEXT_SECTION, a->sp, a->pc, a->name, length(a->name));
  }
}

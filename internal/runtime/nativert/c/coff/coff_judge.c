/* Evaluation of exits that look slow by the clock, as c/timed/timed_slow.c does it: the duration of the call lies in
 * [e - t1, e - t0]. The first of a chain of calls to cross its threshold is the peak, and opens an episode; callers that
 * cross later are its parents. */

#include "flight.h"

/* See coff_mark.c. */
static u64 bytes_of(const char *s);
static void tell(struct process *p, int all);
static void tell_last(struct process *p);
static void channels_go(struct process *p, const struct module *m);
static void told_goes(struct process *p, const struct module *m);
static void serve_control(struct process *p); /* see coff_control.c */

/* stack_of returns the number of the stack that the thread is on, 0 for its own: fibers have others. */
static u32 stack_of(struct thread *t) {
  u8 *base = (u8 *)stack_base();
  for (u32 i = 0; i < t->stacks; i++)
    if (t->stack_base[i] == base) return i;
  if (t->stacks == STACKS) return LOG_STACK_UNKNOWN;
  t->stack_base[t->stacks] = base;
  return t->stacks++;
}

#include "judge.h"

/* ---- the process ---- */

static u64 log_moment(struct process *p) { return now(p); }
/* names_go forgets names of sections in a module, of frames that have been left without their ends. */
static void names_go(struct process *p, const struct module *m) {
  for (struct thread *t = load(&p->newest); t; t = t->older)
    for (u32 i = 0; i < NOTES; i++)
      if ((u64)load(&t->note[i].name) - (u64)m->base < m->size) store(&t->note[i].name, 0);
}

/* module_goes waits while a stack is walked that may have code of the module. Wine's unwinder may wait for this thread, so not for
 * long. */
static void module_goes(struct process *p, struct module *m) {
  enum { TRIES = 50 };
  channels_go(p, m), told_goes(p, m);
  if (!lock_watch(p->watch, TRIES)) return;
  names_go(p, m);
  store(&p->watch->lock, 0);
}
static void module_again(struct process *p, u32 number) {}
static void module_comes(struct process *p, u8 *base, const u16 *path, u32 bytes) { note_calls(p, base, path, bytes); }
static int start_mode(struct process *p) { return start_watch(p); }
static void begin_thread(void) { watch_thread(state); }
static void end_mode(struct process *p) { open_all(p), tell_last(p); }
static int first_call(struct context *c, u64 at) { return 0; }
static u64 seen_now(struct process *p) { return load(word(p, CLOCK)); }

/* keep_ring keeps the ring of a thread that has ended for another one; without the lock it is lost. */
static void keep_ring(struct process *p, struct ring *r) {
  if (!take(p)) return;
  r->next = p->flight.free, p->flight.free = r;
  give(p);
}

/* free_threads frees the states of threads that have ended, but for the newest. Until then code that runs behind the end of
 * a thread's own, as that of DLLs may, has its state. */
static void free_threads(struct process *p) {
  struct thread *before = load(&p->newest), *t;
  if (!lock_watch(p->watch, 0)) return;
  while (before && (t = before->older)) {
    if (!thread_ended(t->handle)) {
      before = t;
      continue;
    }
    before->older = t->older;
    if (t->ring) keep_ring(p, t->ring);
    for (struct open_calls *c = t->open_calls, *next; c; c = next) next = c->next, VirtualFree(c, 0, MEM_RELEASE);
    CloseHandle(t->handle);
    VirtualFree(t, 0, MEM_RELEASE);
  }
  store(&p->watch->lock, 0);
}

/* write_mode is called by the clock's thread at each tick, and at the end. */
static void write_mode(struct process *p, int final) {
  if (final) return;
  if (p->watch && !p->watch->own) unwatch_own(p->watch);
  tell(p, 0);
  serve_control(p);
  watch_tick(p, now(p));
  if (p->ticks % 128 == 0) free_threads(p);
}

/* note_exception notes what may leave calls, and names that threads are given. */
static i32 note_exception(struct process *p, struct pointers *x) {
  enum { NAME = 0x406d1388 };
  const struct exception *e = x->exception;
  struct thread *t;
  if (e->code == NAME && e->count >= 3 && e->info[0] == 0x1000 && ((u32)e->info[2] == (u32)-1 || (u32)e->info[2] == GetCurrentThreadId())) {
    const char *name = (const char *)e->info[1]; /* of unknown origin: a debugger would read it from outside */
    if (!(t = begin(p))) return 0;
    for (t->name_length = 0; t->name_length < MAX_NAME - 1; t->name_length++) {
      char *to = &t->name[t->name_length];
      if (!ReadProcessMemory((void *)-1, name + t->name_length, to, 1, 0) || !*to) break;
    }
    t->named = 0;
    end(t);
    return 0;
  }
  if (e->code >> 30 != 3 && e->code >> 29 != 1) return 0; /* for debuggers */
  if (!(t = begin(p))) return 0;
  copy(&t->context, x->context, sizeof t->context);
  walk(p, &t->context, now(p), &t->raised);
  note_raised();
  end(t);
  return 0;
}

/* ---- what inserted code calls ---- */

static void get_context(const struct registers *r, struct context *c) {
  c->rbx = r->rbx, c->rbp = r->rbp, c->rsi = r->rsi, c->rdi = r->rdi;
  c->r12 = r->r12, c->r13 = r->r13, c->r14 = r->r14, c->r15 = r->r15;
  c->rip = r->site, c->rsp = (u64)(r + 1);
}

/* of_slow: r11 is the stack pointer at the entry. */
static void of_slow(struct process *p, const struct registers *r) {
  struct slow_call c = {.site = r->site, .sp = r->r11, .e = now(p)};
  struct thread *t;
  if (p->flight.recorder) p->flight.left(p, c.sp);
  if (!entered(p, c.sp, c.e, &c.t0, &c.t1)) return;
  if (!(t = begin(p))) {
    add(&p->dropped, c.e - c.t0 >= p->threshold);
    return;
  }
  get_context(r, &t->context);
  store(slot(p, c.sp), 0); /* the stamps that remain are of calls that go on, or were short */
  evaluate(p, t, c, 0, 0);
  end(t);
}

/* of_arrived: control is back in the call with the stack pointer r11 at its entry. */
static void of_arrived(struct process *p, const struct registers *r) {
  struct thread *t = p->tls == (u32)NO_SLOT ? 0 : TlsGetValue(p->tls);
  if (!t || !t->raised.n || !(t = begin(p))) return;
  left(p, t, r->r11);
  end(t);
}

/* of_raises: what is called next may leave calls. */
static void of_raises(struct process *p, const struct registers *r) {
  struct thread *t = begin(p);
  if (!t) return;
  get_context(r, &t->context);
  walk(p, &t->context, now(p), &t->raised);
  end(t);
}

/* of_departs: what is called next ends the thread. */
static void of_departs(struct process *p, const struct registers *r) {
  struct thread *t = begin(p);
  if (!t) return;
  get_context(r, &t->context);
  walk(p, &t->context, now(p), &t->raised);
  left(p, t, (u64)-1);
  end(t);
}

ROUTINE(slow)
ROUTINE(arrived)
ROUTINE(raises)
ROUTINE(departs)

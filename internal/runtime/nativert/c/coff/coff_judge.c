/* Evaluation of exits that look slow by the clock, as c/timed/timed_slow.c does it: the duration of the call lies in
 * [e - t1, e - t0]. The first of a chain of calls to cross its threshold is the peak, and opens an episode; callers that
 * cross later are its parents. */

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

/* ran returns for how long a call took at least, while its stack ran. */
static u64 ran(const struct slow_call *c) { return less(c->e - c->t1, c->away_hi); }

/* children fills entries with the largest slow callee of the peak, the largest callee of that one, and so on while a callee
 * has at least half of its caller's time. The ring is in the order of exits. */
static u32 children(struct thread *t, struct entry *out, const struct slow_call **found, u32 *flags) {
  u64 first = less(t->calls, CALLS), last = t->calls - 1;
  const struct slow_call *of = &t->call[last % CALLS];
  u32 n = 0;
  while (n < MAX_CHILDREN) {
    const struct slow_call *best = 0;
    u64 best_at = 0, ceiling = 0, inner = (u64)-1;
    u64 i = last;
    while (i-- > first) {
      const struct slow_call *c = &t->call[i % CALLS];
      if (c->e < of->t0) break;
      if (c->sp >= of->sp || c->t0 < of->t0 || c->stack != of->stack) continue;
      if (c->sp < ceiling && c->t0 >= inner) continue; /* within the last examined callee */
      ceiling = c->sp, inner = c->t0;
      if (!best || ran(c) > ran(best)) best = c, best_at = i;
    }
    if (first && i + 1 == first) *flags |= LOG_EPISODE_CHILDREN_CUT;
    if (!best || ran(best) * 2 < ran(of)) break;
    out[n++] = (struct entry){best->site, ran(best), less(best->e - best->t0, best->away_lo), 0, (u32)best->sp};
    found[n - 1] = of = best, last = best_at;
  }
  return n;
}

/* What is known of a call that is judged: its duration without pauses, and its threshold and flags. */
struct judged {
  u64 lo, hi, threshold;
  u32 flags;
};

/* write_suspended writes for how long the stack of a call did not run. */
static void write_suspended(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  if (!c->away_hi) return;
  u64 *f = t->record;
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp, f[4] = c->away_lo, f[5] = c->away_hi;
  write_record(p, LOG_TYPE_SUSPENDED, t->tid, f, LOG_SUSPENDED_SIZE, c->e);
}

/* open_episode writes an episode, of which the stack is s from an index on. */
static u64 open_episode(struct process *p, struct thread *t, const struct slow_call *c, const struct stack *s, u32 from, const struct judged *j) {
  u32 flags = s->cut ? LOG_EPISODE_CUT : 0, n = 0;
  u64 *f = t->record, number = add(&p->episodes, 1) + 1;
  const struct slow_call *found[MAX_CHILDREN];
  struct entry *x = (struct entry *)((u8 *)f + LOG_EPISODE_SIZE);
  for (u32 i = from; i < s->n; i++) x[n++] = s->entry[i];
  if (!n) x[n++] = (struct entry){c->site, 0, 0, 0, (u32)c->sp};
  if (t->notes) n = __cairn_scopes(p, t, c->sp, c->e, x, n, CHAIN);
  x->flags = j->flags | (less(j->lo, c->away_hi) < j->threshold ? LOG_ENTRY_SUSPENDED : 0u), x->lo = j->lo, x->hi = j->hi;
  u32 below = children(t, x + n, found, &flags);
  f[1] = number, f[2] = c->e, f[3] = x->lo, f[4] = x->hi, f[5] = j->threshold, f[6] = load(&p->frames.current);
  f[7] = flags | c->stack << LOG_STACK_SHIFT;
  f[8] = n | below << 16 | (u64)(s->found - from) << 32;
  f[9] = 0;
  int written = write_episode(p, t, f, LOG_EPISODE_SIZE + (n + below) * LOG_ENTRY_SIZE);
  t->reported = j->lo;
  t->open[t->opened++ % OPEN] = (struct open_episode){number, c->sp, c->t0, c->stack, (u32)written};
  if (!written) return number;
  write_suspended(p, t, number, c), write_why(p, t, number, c);
  if (t->notes) __cairn_scope_names(t, number, c->sp);
  for (u32 i = 0; i < below; i++)
    if (found[i]->section[0]) __cairn_numbered_text(number, LOG_TEXT_SECTION, found[i]->sp, found[i]->site, found[i]->section, bytes_of(found[i]->section));
  return number;
}

/* parent_of adds the call as a parent to the episodes found in its callees, and returns the number of the last one, or 0. */
static u64 parent_of(struct process *p, struct thread *t, const struct slow_call *c, const struct judged *j) {
  u64 last = 0, any = 0;
  for (u32 i = (u32)less(t->opened, OPEN); i < t->opened; i++) {
    const struct open_episode *o = &t->open[i % OPEN];
    if (o->stack != c->stack || o->sp >= c->sp || c->t0 > o->t0) continue;
    any = o->number;
    if (!o->written) continue;
    u64 *f = t->record;
    last = o->number;
    f[1] = o->number, f[2] = c->e, f[3] = j->lo, f[4] = j->hi, f[5] = c->site, f[6] = j->threshold;
    f[7] = j->flags | c->stack << LOG_STACK_SHIFT | (u64)(u32)c->sp << 32;
    write_record(p, LOG_TYPE_PARENT, t->tid, f, LOG_PARENT_SIZE, c->e);
  }
  if (last) write_suspended(p, t, last, c);
  if (last && less(j->lo, t->reported) >= j->threshold) write_why(p, t, last, c); /* without the reported callee it is still too long */
  if (any) t->reported = j->lo;
  return any;
}

/* complete adds to a stack what hooks know. */
#ifdef CAIRN_HOOKS
static void complete(struct process *p, struct thread *t, const struct slow_call *call, struct stack *s);
#else
static void complete(struct process *p, struct thread *t, const struct slow_call *call, struct stack *s) {}
#endif

/* evaluate judges a call, whose stack is s from an index on, or if s is 0 that of the context, and returns the number of the episode
 * that it is the peak or a caller of, or 0. */
static u64 evaluate(struct process *p, struct thread *t, struct slow_call now, struct stack *s, u32 from) {
  struct slow_call *c = &t->call[t->calls++ % CALLS];
  *c = now;
  c->stack = stack_of(t);
  away(p, stack_base(), c->t0, c->t1, c->e, &c->away_lo, &c->away_hi);
  __cairn_section_of(t, c->sp, c->section, sizeof c->section);
  add(&p->slow, 1);
  open_ended(p, c);
  struct judged j;
  u64 pause = t->pauses ? paused(t, c->t0, c->e, 1) : 0;
  j.lo = less(c->e - c->t1, pause), j.hi = less(c->e - c->t0, t->pauses ? paused(t, c->t1, c->e, 0) : 0);
  j.threshold = __cairn_rule(p, t, c->sp, c->t0, &j.flags);
  j.flags |= c->left;
  if (p->off || load(&p->quiet) || j.hi < j.threshold || t->inactive || t->paused) return 0;
  if (j.lo < j.threshold) {
    add(&p->borderline, 1);
    return 0;
  }
  u64 number = parent_of(p, t, c, &j);
  if (number || j.flags & LOG_ENTRY_IGNORED) return j.flags & LOG_ENTRY_IGNORED ? 0 : number;
  if (!s) walk(p, &t->context, c->e, s = &t->stack), complete(p, t, c, s);
  return open_episode(p, t, c, s, from, &j);
}

/* begin returns the state of this thread, 0 if it is in use already: in a handler that interrupted this code. */
static struct thread *begin(struct process *p) {
  struct thread *t = p ? thread_of(p) : 0;
  if (!t || t->busy) return 0;
  t->busy = 1;
  return t;
}

static void end(struct thread *t) { store(&t->busy, 0); }

/* left judges the calls of the stack that was raised, below a stack pointer, as ended now. */
static void left(struct process *p, struct thread *t, u64 sp) {
  struct stack *s = &t->raised;
  u64 e = now(p);
  u32 n = 0;
  while (n < s->n && s->sp[n] < sp) n++;
  for (u32 i = 0; i < s->n; i++) set_times(s, i, e);
  for (u32 i = 0; i < n; i++) {
    struct entry *x = &s->entry[i];
    if (x->flags & LOG_ENTRY_NO_STAMP) continue;
    store(slot(p, s->sp[i]), 0);
    if (x->hi > p->low * 1000ull) evaluate(p, t, (struct slow_call){.site = x->pc, .sp = s->sp[i], .t0 = s->t0[i], .t1 = s->t1[i], .e = e, .left = LOG_ENTRY_LEFT}, s, i);
  }
  s->n = 0;
}

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
    for (struct open_calls *c = t->open_calls, *next; c; c = next) next = c->next, VirtualFree(c, 0, MEM_RELEASE);
    CloseHandle(t->handle);
    VirtualFree(t, 0, MEM_RELEASE);
  }
  store(&p->watch->lock, 0);
}

/* write_mode is called by the clock's thread at each tick, and at the end. */
static void write_mode(struct process *p, int final) {
  if (final) return;
  if (!p->watch->own) unwatch_own(p->watch);
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
  struct thread *t = TlsGetValue(p->tls);
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

/* Evaluation of slow exits, for Windows and macOS: which files that include this have what else it calls. */

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
#if defined CAIRN_HOOKS || defined CAIRN_DETOURS
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

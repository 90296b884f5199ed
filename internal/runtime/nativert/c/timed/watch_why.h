/* Why a call took long, for Windows and macOS: for how long its thread ran, and where it waited. */

/* Waits that were seen in a call. */
struct seen {
  u64 waits, in; /* samples */
  i64 call;      /* the system call that most of them were in; -1: none */
};

/* look_back bounds how long the thread had run when the call began, from its samples, and counts its waits since then. */
static void look_back(struct watched *w, const struct slow_call *c, u64 *least_cpu, u64 *most_cpu, struct seen *seen) {
  enum { KINDS = 8 };
  i64 kind[KINDS];
  u64 times[KINDS], kinds = 0;
  for (u32 r = RINGS; r--;) {
    u64 n = load(&w->n), first;
    n = n ? ((n - 1) >> r * SHIFT) + 1 : 0;
    first = less(n, SAMPLES - LAP);
    if (first && w->ring[r][first % SAMPLES].at > c->t0 && r) first = less(n, 1); /* the ring does not reach back so far */
    int covers = n && w->ring[r][first % SAMPLES].at <= c->t1;
    if (covers || !r) kinds = 0, *seen = (struct seen){0, 0, -1};
    for (u64 i = first; i < n; i++) {
      struct sample x = w->ring[r][i % SAMPLES];
      if (x.at <= c->t0) *least_cpu = most(*least_cpu, x.cpu);
      if (x.at < c->t1) continue;
      *most_cpu = least(*most_cpu, x.cpu + slack(x));
      if ((!covers && r) || x.in == RAN || x.in == UNKNOWN) {
        seen->waits += x.in == UNKNOWN && (covers || !r);
        continue;
      }
      seen->waits++;
      u64 k = 0;
      while (k < kinds && kind[k] != x.in) k++;
      if (k == kinds && kinds < KINDS) kind[kinds] = x.in, times[kinds++] = 0;
      if (k < kinds && ++times[k] > seen->in) seen->in = times[k], seen->call = x.in;
    }
  }
}

/* longest returns the longest wait of a thread in a call, 0 if none is known. */
static const struct wait *longest(struct process *p, const struct watched *w, const struct slow_call *c, u64 *time) {
  const struct wait *best = 0;
  *time = 0;
  u64 n = load(&w->waits);
  for (u64 i = less(n, WAITS); i < n; i++) {
    const struct wait *x = &w->wait[i % WAITS];
    u64 t = less(least(load(&x->to) + p->period, c->e), most(x->from, c->t0));
    if (x->to > c->t1 && t > *time) best = x, *time = t;
  }
  return best;
}

/* write_wait writes what a call waited for the longest, if that is known. */
static void write_wait(struct process *p, struct thread *t, const struct watched *w, u64 number, const struct slow_call *c) {
  u64 time, addrs = 0, *f = t->record, *to = f + LOG_WAIT_SIZE / 8;
  const struct wait *x = longest(p, w, c, &time);
  if (!x) return;
  for (u32 i = 0, n = x->slots; i < n && i < LOG_MAX_WAIT_STACK && x->slot[i][0] < c->sp; i++) to[addrs++] = x->slot[i][1];
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp | (u64)(LOG_WAIT_UNKNOWN | LOG_WAIT_UNWOUND) << 32, f[4] = time;
  f[5] = addrs << 16;
  write_record(p, LOG_TYPE_WAIT, t->tid, f, LOG_WAIT_SIZE + 8 * addrs, c->e);
  if (!x->holder) return;
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp | (u64)LOG_REASON_LOCK << 32, f[4] = x->held, f[5] = time;
  f[6] = x->holder, f[7] = x->lock;
  write_record(p, LOG_TYPE_HOLDER, t->tid, f, LOG_HOLDER_SIZE, c->e);
}

/* write_why writes why a call took long, for an episode. These systems count faults and switches of processes only. */
static void write_why(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  struct watch *k = p->watch;
  struct watched *w = watched_of(k, t->tid);
  u64 cpu, before = 0, after, *f = t->record;
  struct seen seen = {0, 0, -1};
  if (!w) return;
  after = cpu = own_cpu(k, w);
  look_back(w, c, &before, &after, &seen);
  if (c->away_hi) seen = (struct seen){0, 0, -1}; /* the waits may be those of another stack */
  u64 step = cpu_step(k), ran_hi = cpu_ns(p, less(cpu, before)) + step;
  f[1] = number, f[2] = c->e, f[4] = least(ran_hi, less(c->e - c->t0, c->away_lo));
  f[3] = least(less(less(cpu_ns(p, less(cpu, after)), step), c->away_hi), f[4]);
  f[5] = f[6] = f[7] = 0;
  f[8] = (u32)c->sp | (u64)(u32)(seen.call + 1) << 32;
  f[9] = least(seen.waits, 0xffff) | least(seen.in, 0xffff) << 16;
  write_record(p, LOG_TYPE_USAGE, t->tid, f, LOG_USAGE_SIZE, c->e);
  if (!c->away_hi) write_wait(p, t, w, number, c);
}

/* The clock of Windows and macOS, and what it tells of when a call was entered. */

/* clock_of returns the value of the clock at a time: us since the start, plus 1. */
static u64 clock_of(const struct process *p, u64 ns) { return less(ns, p->mono) / 1000 + 1; }

/* interval sets the bounds of when a call was entered that read a value of the clock, as of e. */
static void interval(struct process *p, u32 stamp, u64 e, u64 *t0, u64 *t1) {
  u64 at = clock_of(p, e), n = load(&p->ticks);
  at -= (u32)((u32)at - stamp);
  *t0 = p->mono + (at - 1) * 1000;
  for (u64 i = n, first = less(n, TICKS - 16); i-- > first;) {
    const struct tick *k = &p->tick[i % TICKS];
    if (clock_of(p, k->before) > at) continue;
    const struct tick *next = &p->tick[(i + 1) % TICKS];
    u64 after = i + 1 < n ? load(&next->after) : 0;
    *t0 = most(*t0, k->before);
    *t1 = after ? least(after, e) : e;
    return;
  }
  *t1 = least(*t0 + load(&p->worst) + 1000, e);
}

/* entered returns the bounds of the entry of the call with stack pointer sp, or 0 if it was not seen. */
static int entered(struct process *p, u64 sp, u64 e, u64 *t0, u64 *t1) {
  u32 stamp = *slot(p, sp);
  if (stamp) interval(p, stamp, e, t0, t1);
  return stamp != 0;
}

/* low_of returns the inline threshold for a threshold. A call of threshold + 2 periods appears up to a period shorter. */
static u32 low_of(const struct process *p, u64 threshold) {
  u64 low = most(2 * p->period, threshold / 8);
  low = least(low, less(threshold, 2 * p->period));
  low = least(most(low, p->period), threshold) / 1000;
  return (u32)most(low, 1);
}

static void show_low(struct process *p, u32 low) {
  p->low = low;
  if (p->base) store(word(p, LOW), p->off || p->quiet ? 0x7fffffff : low);
}

static void set_low(struct process *p) { show_low(p, low_of(p, p->threshold)); }

static void set_clock(struct process *p, u64 time);

/* set_clocks sets what inserted code reads. */
static void set_clocks(struct process *p, u64 time) {
#if CAIRN_MODE == LOG_MODE_TRACE
  set_clock(p, time);
#else
  store(word(p, CLOCK), (u32)clock_of(p, time));
  store((u64 *)word(p, TREE_CLOCK), clock_of(p, time) + TREE_RUNNING);
#endif
}

static void tick(struct process *p) {
  u64 before = now(p), n = p->ticks;
  struct tick *k = &p->tick[n % TICKS];
  u64 gap = n ? before - p->tick[(n - 1) % TICKS].before : 0;
  if (gap > p->worst) store(&p->worst, gap);
  if (gap > 2 * p->period) p->late++, p->blind += gap - 2 * p->period;
  store(&k->after, 0);
  store(&k->before, before);
  store(&p->ticks, n + 1);
  set_clocks(p, before);
  store(&k->after, now(p));
}

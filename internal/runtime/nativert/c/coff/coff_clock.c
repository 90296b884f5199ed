/* The clock: a thread sets it, and inserted code reads it. And the window of 4 GiB that has the stamps of calls, of which
 * pages come into being when they are first written. */

static u64 scaled(u64 v, u64 by, u64 hz) { return v / hz * by + v % hz * by / hz; }

/* now returns the time in ns, of the counter that all threads read. */
static u64 now(struct process *p) {
  u64 v = 0;
  QueryPerformanceCounter(&v);
  return scaled(v, SECOND, p->hz);
}

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

/* finer asks the system for a timer of 1 ms, as Windows before 10 has no better one. */
static void finer(void) {
  typedef void *(*loader)(const u16 *);
  loader library = (loader)GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "LoadLibraryW");
  void *winmm = library ? library(u"winmm.dll") : 0;
  u32 (*begin)(u32) = winmm ? (u32 (*)(u32))GetProcAddress(winmm, "timeBeginPeriod") : 0;
  if (begin) begin(1);
}

static void look(struct process *p);
static void write_mode(struct process *p, int final);

/* run_clock sets the clock until the process ends, or all threads of the program have. */
static __attribute__((noreturn)) u32 run_clock(void *of) {
  enum { HIGH_RESOLUTION = 2, ALL_ACCESS = 0x1f0003, TIME_CRITICAL = 15, LOOK = 100 };
  struct process *p = of;
  void *timer = CreateWaitableTimerExW(0, 0, HIGH_RESOLUTION, ALL_ACCESS);
  SetThreadPriority((void *)-2, TIME_CRITICAL);
  if (!timer) finer();
  for (u32 n = 1;; n++) {
    i64 due = -(i64)(p->period / 100);
    if (timer && SetWaitableTimer(timer, &due, 0, 0, 0, 0)) WaitForSingleObject(timer, (u32)-1);
    else Sleep((u32)most(p->period / MS, 1));
    tick(p);
    write_mode(p, 0);
    if (n % LOOK) continue;
    int alone = is_alone();
    p->ended |= alone;
    look(p);
    if (alone) end_process();
  }
}

/* ---- the window ---- */

/* commit makes memory of the window, or of the trees, that at is in, and reports whether it is in one of these. */
static int commit(struct process *p, u64 at) {
  u64 from = at & -(u64)GRAIN;
  int inside = (p->base && at - (u64)p->base < WINDOW) || at - (u64)p->stacks.trees < p->stacks.size;
  return inside && VirtualAlloc((void *)from, GRAIN, MEM_COMMIT, READWRITE);
}

/* make_window reserves the window, with a block in front for its words. Mode trace needs none. */
static int make_window(struct process *p) {
  if (CAIRN_MODE == LOG_MODE_TRACE) return 1;
  u8 *m = VirtualAlloc(0, WINDOW + GRAIN, MEM_RESERVE, READWRITE);
  if (!m || !VirtualAlloc(m, GRAIN, MEM_COMMIT, READWRITE)) return 0;
  p->base = m + GRAIN;
  return 1;
}

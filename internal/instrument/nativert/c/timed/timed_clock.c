/* The coarse clock: a word that counts microseconds, and the thread that sets
 * it. What makes the coarse clock honest are the ticks it remembers: a stamp s
 * was read after the tick that stored s began and before the next one was
 * done, so the call was entered in [t0, t1] and what is printed is an interval.
 *
 * A thread that should tick can be late for just what makes calls slow.
 * That costs spikes, never makes them: it is summed up as blind time. */

#include "timed.h"

u64 __cairn_now(struct process *p) {
  u64 ts[2];
  if (!p->gettime || p->gettime(MONOTONIC, ts)) sys2(SYS_clock_gettime, MONOTONIC, ts);
  return ts[0] * SECOND + ts[1];
}

static u64 clock_of(const struct process *p, u64 ns) { return (ns - p->origin) / 1000 + 1; }

enum { LAPPED = 0 }; /* no moment: the clock starts later */

/* search looks for the first tick after clock value c in a level of the ring.
 * NONE: there is none yet. LAPPED: the ring was overwritten while it was read.
 * With cover it is also LAPPED if the ring does not reach back to c. */
static u64 search(struct process *p, u32 level, u64 c, int cover) {
  const struct tick *ring = p->ring[level];
  u32 shift = level * LEVEL_SHIFT;
  u64 head = load(&p->ticks);
  u64 n = head ? ((head - 1) >> shift) + 1 : 0; /* of this level */
  u64 lo = less(n, LEVEL_TICKS - TICK_MARGIN), hi = n;
  if (cover && lo && clock_of(p, ring[lo % LEVEL_TICKS].before) > c) return LAPPED;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (clock_of(p, ring[mid % LEVEL_TICKS].before) > c) hi = mid;
    else lo = mid + 1;
  }
  u64 t = lo < n ? ring[lo % LEVEL_TICKS].after : NONE;
  barrier();
  u64 now = load(&p->ticks);
  return (now ? ((now - 1) >> shift) + 1 : 0) - n < TICK_MARGIN ? t : LAPPED;
}

/* next_after returns by when the first tick after clock value c was done; NONE
 * if there is none yet. Of old ticks only every 8th is remembered, then every
 * 64th and so on, so the answer may be that of a later one. A thread that lost its
 * processor while it searched searches again. */
static u64 next_after(struct process *p, u64 c) {
  for (u32 level = 0; level < LEVELS; level++)
    for (u32 tries = 0; tries < 3; tries++) {
      u64 t = search(p, level, c, level < LEVELS - 1);
      if (t != LAPPED) return t;
    }
  return NONE;
}

/* coarse_interval gives the bounds of the entry that read the stamp, as of e. */
void __cairn_coarse_interval(struct process *p, u32 stamp, u64 e, u64 *t0, u64 *t1) {
  u64 now = clock_of(p, e), c = now - (u32)((u32)now - stamp);
  *t0 = c - 1 < now ? p->origin + (c - 1) * 1000 : p->origin;
  *t1 = most(*t0, least(e, next_after(p, c)));
}

/* late_between sums up what ticks were late by between two moments. */
u64 __cairn_late_between(struct process *p, u64 from, u64 to) {
  u64 sum = 0, n = load(&p->ticks), oldest = less(n, LEVEL_TICKS - TICK_MARGIN), next = to;
  while (n-- > oldest) {
    const struct tick *k = &p->ring[0][n % LEVEL_TICKS];
    if (k->before < next) {
      sum += less(less(next, most(k->before, from)), 2 * p->period);
      next = k->before;
    }
    if (k->before < from) break;
  }
  return sum;
}

/* set_low lowers the inline threshold to what a threshold needs. A call of
 * threshold + 2 periods is seen by more than a period less; what is near the
 * threshold should be, to be counted as borderline. */
void __cairn_set_low(struct process *p, u64 threshold) {
  if (p->kind == KIND_EXACT) {
    p->low = (u32)least(least(most(threshold / 8, 1000), threshold / 2), NEVER - 1);
    __cairn_show_low(p);
    return;
  }
  u64 low = most(2 * p->period, threshold / 8);
  low = least(low, less(threshold, 2 * p->period));
  low = most(most(low, p->period), 1000);
  low = least(low, threshold) / 1000;
  p->low = (u32)least(low, NEVER - 1);
  __cairn_show_low(p);
}

/* ---- the thread ---- */

static void stall(struct process *p, u64 from, u64 to, u64 waited) {
  u64 n = p->stalls;
  if (n - load(&p->stalls_read) >= STALLS) return;
  u64 *s = p->stall[n % STALLS];
  s[0] = from, s[1] = to, s[2] = waited;
  store(&p->stalls, n + 1);
  if (to - from > p->threshold) store(&p->pending, 1);
}

/* account sums up what a tick is late by. */
static void account(struct process *p, u64 gap) {
  u64 reach = 2 * p->period;
  if (gap > p->worst) p->worst = gap;
  if (gap > most(reach, p->pace + p->period)) {
    p->late++;
    p->blind += gap - reach;
  } else if (gap > reach) {
    p->idle += gap - reach;
  }
}

/* move sets the clock to c, if it is not there already: others may set it as well. Who
 * comes behind reads c or more before anything that is read later. */
static void move(struct process *p, u64 c) {
  u32 *word = word(p, CLOCK), was = load(word);
  u64 *tree = (u64 *)(p->base + TREE_CLOCK), tree_was = load(tree);
  while ((i32)((u32)c - was) > 0 && !__atomic_compare_exchange_n(word, &was, (u32)c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  while (c + TREE_RUNNING > tree_was && !__atomic_compare_exchange_n(tree, &tree_was, c + TREE_RUNNING, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}

/* tick sets the clock and remembers when it did. It returns how long after the
 * last tick began this one was done, or 0 if it is not remembered: an entry that read
 * the last tick's clock was made within that time, and no bound of it is further off.
 *
 * A handler of a signal may be here, too, in this thread or another. Only one of them
 * remembers, and none waits: what the others miss makes intervals longer, not wrong. */
u64 __cairn_tick(struct process *p) {
  u64 n = __cairn_now(p), c = clock_of(p, n), gap = 0;
  if (!(u32)c) return 0; /* "no entry seen" */
  move(p, c);
  if (__atomic_exchange_n(&p->tick_lock, 1, __ATOMIC_ACQUIRE)) return 0;
  u64 last = p->last_tick, i = p->ticks;
  /* Ticks are told apart by their clock. Many threads shall not fill the ring. */
  if (!i || (c > clock_of(p, last) && n - last >= p->period / 2)) {
    struct tick k = {n, __cairn_now(p)};
    for (u32 level = 0; level < LEVELS && !(i & ((1ul << level * LEVEL_SHIFT) - 1)); level++)
      p->ring[level][(i >> level * LEVEL_SHIFT) % LEVEL_TICKS] = k;
    store(&p->ticks, i + 1);
    store(&p->last_tick, n);
    gap = k.after - last;
    account(p, gap);
  }
  store(&p->tick_lock, 0);
  return gap;
}

static u64 cpu(int clock) {
  u64 ts[2] = {0, 0};
  sys2(SYS_clock_gettime, clock, ts);
  return ts[0] * SECOND + ts[1];
}

/* run_delay reads how long this thread waited for a processor. */
static u64 run_delay(void) {
  char b[64];
  i64 fd = sys3(SYS_open, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return 0;
  n = sys3(SYS_read, fd, b, sizeof b);
  sys1(SYS_close, fd);
  i64 i = 0;
  while (i < n && b[i] != ' ') i++;
  u64 v = 0;
  for (i++; i < n && b[i] >= '0' && b[i] <= '9'; i++) v = v * 10 + (u64)(b[i] - '0');
  return v;
}

/* switches returns how often the process (0) or this thread (1) was switched away from. */
u64 __cairn_switches(int who) {
  u64 r[18];
  clear(r, sizeof r);
  sys2(SYS_getrusage, who, r);
  return r[16] + r[17];
}

/* idleness tells whether other threads did anything at all since it was asked
 * last: none ran, none was switched to. Then none entered or left a function. */
struct idleness {
  u64 at, cpu, switches, since;
};
static int is_idle(struct process *p, struct idleness *s, u64 n) {
  if (n - s->at < 20 * MS) return s->since != 0;
  u64 own = cpu(THREAD_CPU), c = cpu(PROCESS_CPU) - own;
  u64 w = __cairn_switches(0) - __cairn_switches(1) - load(&p->log_switches);
  int still = s->at && w == s->switches && (i64)(c - s->cpu) < (i64)(n - s->at) / 100;
  p->clock_cpu = own;
  if (__cairn_deserted(p->pid)) store(&p->pending, 1); /* the log's thread sees to it */
  if (!still) s->since = 0;
  else if (!s->since) s->since = s->at;
  s->at = n, s->cpu = c, s->switches = w;
  return still;
}

/* clock_thread ticks for ever. While the process is idle it does so at half
 * the pace, and after a second at half the threshold, until that is changed. What that is longer than the
 * reach of twice the period is summed up: a call that begins then is sure to be
 * found only if it takes as much longer. */
void __cairn_clock_thread(struct process *p) {
  struct idleness idle = {0};
  u64 waited = 0;
  u32 hurry = load(&p->hurry);
  p->pace = p->period;
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-clock");
  if (p->kind == KIND_EXACT) __cairn_exact_thread(p);
  __cairn_tick(p); /* until the thread came to run */
  __cairn_usage_start(p);
  sys2(SYS_prctl, 29 /* PR_SET_TIMERSLACK */, 1);
  i32 priority = 1;
  if (sys3(SYS_sched_setscheduler, 0, 1 /* SCHED_FIFO */, &priority) < 0) sys3(SYS_setpriority, 0, 0, -20);
  for (;;) {
    u64 ts[2] = {p->pace / SECOND, p->pace % SECOND};
    sys4(SYS_futex, &p->hurry, FUTEX_WAIT, hurry, ts);
    hurry = load(&p->hurry);
    if (load(&p->deserted)) __cairn_follow(p->pid);
    u64 last = p->last_tick, gap = __cairn_tick(p), n = p->last_tick, pace = p->period;
    __cairn_signal_scan(p, n);
    __cairn_usage_tick(p, __cairn_now(p));
    if (gap > p->threshold) {
      u64 d = run_delay();
      stall(p, last, last + gap, less(d, waited));
      waited = d;
    } else if (gap > most(2 * p->period, p->pace + p->period)) {
      stall(p, last, last + gap, 0); /* as account says */
    }
    if (is_idle(p, &idle, n)) {
      pace *= 2;
      if (n - idle.since > SECOND) pace = most(pace, p->threshold / 2);
    }
    p->pace = pace;
    if (load(&p->pending)) __cairn_wake(p);
  }
}

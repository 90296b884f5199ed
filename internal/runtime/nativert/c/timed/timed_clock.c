/* The coarse clock: a word that counts microseconds, and the thread that sets it. The remembered
 * ticks make its measurements sound: a stamp s was read after the tick that stored s began and
 * before the next tick was done, so the call was entered in [t0, t1], and reports show an interval.
 *
 * The causes of slow calls can also delay the thread that ticks. That can hide spikes, but never
 * invents any: the delays are summed up as blind time. */

#include "task.h"
#include "timed.h"

u64 __cairn_now(struct process *p) {
  u64 ts[2];
  if (!p->gettime || p->gettime(MONOTONIC, ts)) read_clock(MONOTONIC, ts);
  return ts[0] * SECOND + ts[1];
}

u64 __cairn_clock_of(const struct process *p, u64 ns) { return (ns - p->origin) / 1000 + 1; }
#define clock_of __cairn_clock_of

enum { LAPPED = 0 }; /* no moment: the clock starts later */

/* search looks for the first tick after clock value c in a level of the ring. NONE: there is none
 * yet. LAPPED: the ring was overwritten while it was read. With cover it also returns LAPPED if the
 * ring does not reach back to c.
 *
 * If a thread was stopped before it stored its tick, the entry holds an old one, and search may
 * find a later one. Any tick after c is valid, if its two times belong to one tick, or are no
 * closer to each other. */
static u64 search(struct process *p, u32 level, u64 c, int cover) {
  const struct tick *ring = p->time.clock->ring[level];
  u32 shift = level * LEVEL_SHIFT;
  u64 head = load(&p->time.clock->ticks);
  u64 n = head ? ((head - 1) >> shift) + 1 : 0; /* of this level */
  u64 lo = less(n, LEVEL_TICKS - TICK_MARGIN), hi = n;
  if (cover && lo && clock_of(p, ring[lo % LEVEL_TICKS].before) > c) return LAPPED;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (clock_of(p, ring[mid % LEVEL_TICKS].before) > c) hi = mid;
    else lo = mid + 1;
  }
  struct tick k = {NONE, NONE};
  if (lo < n) k.before = load(&ring[lo % LEVEL_TICKS].before), k.after = load(&ring[lo % LEVEL_TICKS].after);
  if (lo < n && (clock_of(p, k.before) <= c || k.after < k.before)) return LAPPED;
  u64 t = k.after;
  barrier();
  u64 now = load(&p->time.clock->ticks);
  return (now ? ((now - 1) >> shift) + 1 : 0) - n < TICK_MARGIN ? t : LAPPED;
}

/* next_after returns a time by which the first tick after clock value c was done; NONE if there is
 * none yet. Only every 8th of the older ticks is kept, then every 64th and so on, so the result may
 * be the time of a later tick. A thread that was preempted during the search repeats it. */
static u64 next_after(struct process *p, u64 c) {
  for (u32 level = 0; level < LEVELS; level++)
    for (u32 tries = 0; tries < 3; tries++) {
      u64 t = search(p, level, c, level < LEVELS - 1);
      if (t != LAPPED) return t;
    }
  return NONE;
}

/* coarse_interval sets the bounds of the entry that read the stamp, as of e. */
void __cairn_coarse_interval(struct process *p, u32 stamp, u64 e, u64 *t0, u64 *t1) {
  u64 now = clock_of(p, e), c = now - (u32)((u32)now - stamp);
  *t0 = c - 1 < now ? p->origin + (c - 1) * 1000 : p->origin;
  *t1 = most(*t0, least(e, next_after(p, c)));
}

/* late_between returns the sum of the delays of ticks between two times. */
u64 __cairn_late_between(struct process *p, u64 from, u64 to) {
  u64 sum = 0, n = load(&p->time.clock->ticks), oldest = less(n, LEVEL_TICKS - TICK_MARGIN), next = to;
  while (n-- > oldest) {
    const struct tick *k = &p->time.clock->ring[0][n % LEVEL_TICKS];
    if (k->before < next) {
      sum += less(less(next, most(k->before, from)), 2 * p->set.period);
      next = k->before;
    }
    if (k->before < from) break;
  }
  return sum;
}

/* set_low lowers the inline threshold as a threshold requires. A call of threshold + 2 periods
 * appears up to a period shorter; calls close to the threshold must be seen as well, to be counted
 * as borderline. */
void __cairn_set_low(struct process *p, u64 threshold) {
  if (p->kind == KIND_EXACT) {
    p->set.low = (u32)least(least(most(threshold / 8, 1000), threshold / 2), NEVER - 1);
    __cairn_show_low(p);
    return;
  }
  u64 low = most(2 * p->set.period, threshold / 8);
  low = least(low, less(threshold, 2 * p->set.period));
  low = most(most(low, p->set.period), 1000);
  low = least(low, threshold) / 1000;
  p->set.low = (u32)least(low, NEVER - 1);
  __cairn_show_low(p);
}

/* ---- ticks ---- */

/* account adds the delay of a tick, and returns the gap up to which there is no delay. */
static u64 account(struct clock *k, struct member *m, u64 gap) {
  u64 reach = 2 * load(&m->period);
  if (gap > m->worst) m->worst = gap;
  if (gap > most(reach, load(&k->pace) + m->period)) {
    add(&m->late, 1);
    add(&m->blind, gap - reach);
  } else if (gap > reach) {
    add(&m->idle, gap - reach);
  }
  return least(reach, m->worst);
}

/* move sets a clock to c, if it is not past c already, as others may set it too. A later reader
 * gets c or more before anything that it reads afterwards. */
void __cairn_move(u8 *base, u64 c) {
  u32 *word = (u32 *)(base + CLOCK), was = load(word);
  u64 *tree = (u64 *)(base + TREE_CLOCK), tree_was = load(tree);
  while ((i32)((u32)c - was) > 0 && !__atomic_compare_exchange_n(word, &was, (u32)c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  while (c + TREE_RUNNING > tree_was && !__atomic_compare_exchange_n(tree, &tree_was, c + TREE_RUNNING, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}

#define each_member(p, i, m) \
  for (u32 i = 0, i##_end = __cairn_members(p); i < i##_end; i++) \
    for (struct member *m = __cairn_member(p, i); m; m = 0)
#define base_of(m) ((u8 *)(m) + PAGE_SIZE)

/* tick sets the clock and records the time. It returns the time from the beginning of the last tick,
 * which it sets from to, to the end of this one, or 0 if it is not recorded: an entry that read the
 * last tick's clock was made within that time, so none of its bounds is further off.
 *
 * A signal handler in this or another thread, or threads of other processes, may run this at the
 * same time. Only one of them records a time, and none waits: unrecorded ticks make intervals
 * longer, not wrong. */
static u64 tick(struct process *p, u64 *from) {
  struct clock *k = p->time.clock;
  u64 last = load(&k->last_tick), n = __cairn_now(p), c = clock_of(p, n), was;
  if (!(u32)c) return 0; /* "no entry seen" */
  each_member(p, i, m) __cairn_move(base_of(m), c);
  /* Ticks are distinguished by their clock values. Many threads must not fill the ring. */
  if (load(&k->ticks) && (c <= clock_of(p, last) || n - last < least(p->set.period, most(load(&k->pace), 1)) / 2)) return 0;
  if (!__atomic_compare_exchange_n(&k->last_tick, &last, n, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 0;
  u64 number = __atomic_fetch_add(&k->begun, 1, __ATOMIC_ACQ_REL);
  struct tick t = {n, __cairn_now(p)};
  for (u32 level = 0; level < LEVELS && !(number & ((1ul << level * LEVEL_SHIFT) - 1)); level++)
    k->ring[level][(number >> level * LEVEL_SHIFT) % LEVEL_TICKS] = t;
  was = load(&k->ticks);
  while (was <= number && !__atomic_compare_exchange_n(&k->ticks, &was, number + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  if (t.after - last > load(&k->usual)) {
    u64 usual = NONE;
    store(&k->usual, NONE); /* members that join lower it */
    each_member(p, i, m) usual = least(usual, account(k, m, less(t.after, most(last, load(&m->since)))));
    was = NONE;
    __atomic_compare_exchange_n(&k->usual, &was, usual, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  *from = last;
  return t.after - last;
}

/* lose extends the interval of a member's stalls for which there was no room. */
static void lose(struct member *m, u64 from, u64 to) {
  u64 was = load(&m->lost_to), none = 0;
  while (was < to && !__atomic_compare_exchange_n(&m->lost_to, &was, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  __atomic_compare_exchange_n(&m->lost_from, &none, from, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* stall records a stall for a member. The log must have all that are longer than the threshold, since
 * they can hide a spike. */
static void stall(struct member *m, u64 from, u64 to, u64 waited) {
  int is_long = to - from > m->threshold;
  u64 n = load(&m->stalls), *s;
  do {
    if (n - load(&m->stalls_read) < (is_long ? STALLS : SHORT_STALLS)) continue;
    if (is_long) lose(m, from, to);
    return;
  } while (!__atomic_compare_exchange_n(&m->stalls, &n, n + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  s = m->stall[n % STALLS];
  s[0] = from, s[2] = waited;
  store(&s[1], to);
  if (is_long) store((u32 *)(base_of(m) + PENDING), 1);
}

/* was_late reports whether a gap may be a stall. */
static int was_late(struct process *p, u64 gap) { return gap > least(p->time.clock->pace + p->time.clock->period, p->set.threshold); }

/* stalls records a gap for all members for which it was too long. waited is how long this thread
 * waited for a processor during the gap. */
static void stalls(struct process *p, u64 from, u64 to, u64 waited) {
  each_member(p, i, m) {
    u64 start = most(from, load(&m->since)), gap = less(to, start);
    if (gap > m->threshold) stall(m, start, to, waited);
    else if (gap > most(2 * m->period, p->time.clock->pace + m->period)) stall(m, start, to, 0); /* as in account */
  }
}

/* advance makes a tick outside of the loop of the thread. */
void __cairn_advance(struct process *p) {
  u64 from, gap = tick(p, &from);
  if (was_late(p, gap)) stalls(p, from, from + gap, 0);
}

/* ---- the whole process ---- */

/* What the thread knows of itself and of the process, to tell a process that stood still (SIGSTOP, a
 * cgroup freezer, a pause of the machine) from one whose threads waited for a processor. */
struct still {
  u64 from, sleep;     /* when the thread went to sleep, and for how long */
  u64 cpu;             /* processor time of the process then */
  u64 delay, delay_at; /* how long the thread had waited for a processor, and when that was read */
};

static u64 run_delay(void);

static void still_sleep(struct still *s, u64 now, u64 sleep) {
  enum { FRESH = 50 * MS };
  s->from = now, s->sleep = sleep, s->cpu = __cairn_cpu(PROCESS_CPU);
  if (now - s->delay_at >= FRESH) s->delay = run_delay(), s->delay_at = now;
}

/* still_wake looks at a sleep that lasted too long. */
static void still_wake(struct process *p, struct still *s, u64 now) {
  enum { LEAST = 20 * MS }; /* a virtual machine loses a few milliseconds at times */
  u64 gap = less(now, s->from);
  if (!s->from || gap <= s->sleep + most(p->set.threshold, LEAST)) return;
  u64 cpu = less(__cairn_cpu(PROCESS_CPU), s->cpu), delay = run_delay(), delayed = less(delay, s->delay);
  s->delay = delay, s->delay_at = now;
  if (!delay || delayed > (gap - s->sleep) / 4 || cpu > (gap - s->sleep) / 4) return; /* 0: the kernel does not count it */
  u32 n = load(&p->log.freezes);
  if (n - load(&p->log.freezes_read) >= FREEZES) return;
  u64 *f = p->log.freeze[n % FREEZES];
  f[0] = s->from, f[1] = now, f[2] = delayed, f[3] = cpu;
  store(&p->log.freezes, n + 1);
  store(word(p, PENDING), 1);
}

/* ---- the thread ---- */

/* cpu reads a processor time clock; NONE if there is none. */
u64 __cairn_cpu(i64 clock) {
  u64 ts[2] = {0, 0};
  if (read_clock(clock, ts) < 0) return NONE;
  return ts[0] * SECOND + ts[1];
}

/* run_delay returns how long this thread has waited for a processor. */
static u64 run_delay(void) {
  char b[64];
  put(put_task(b, sys0(SYS_gettid)), "/schedstat");
  i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return 0;
  n = sys3(SYS_read, fd, b, sizeof b);
  sys1(SYS_close, fd);
  i64 i = 0;
  while (i < n && b[i] != ' ') i++;
  u64 v = 0;
  for (i++; i < n && b[i] >= '0' && b[i] <= '9'; i++) v = v * 10 + (u64)(b[i] - '0');
  return v;
}

/* switches returns the number of context switches of the process (0) or of this thread (1). */
u64 __cairn_switches(int who) {
  uword r[18];
  clear(r, sizeof r);
  sys2(SYS_getrusage, who, r);
  return r[16] + r[17];
}

/* idleness reports whether no other thread has run since the last call: no processor time and no
 * context switches. Then no thread entered or left a function. */
struct idleness {
  u64 at, cpu, switches;
};
static void look(struct process *p, struct idleness *s, u64 n) {
  struct member *m = p->time.member;
  u32 log = load(&p->log.tid);
  u64 own = __cairn_cpu(THREAD_CPU), c = __cairn_cpu(PROCESS_CPU) - own;
  if (log) c -= __cairn_cpu((i64)(i32)(~log << 3 | 6));
  u64 w = __cairn_switches(0) - __cairn_switches(1) - load(&p->log.switches);
  int still = s->at && w == s->switches && (i64)(c - s->cpu) < (i64)(n - s->at) / 100;
  p->time.cpu = own;
  if (__cairn_deserted(p->pid)) store(word(p, PENDING), 1); /* the log's thread handles that */
  if (!still) store(&m->idle_since, 0);
  else if (!m->idle_since) store(&m->idle_since, s->at);
  s->at = n, s->cpu = c, s->switches = w;
  store(&m->question, 0);
}

/* pace returns the shortest interval between ticks that a member needs. While a process is idle its
 * clock advances at half the pace, and after a second at half the threshold. The excess over twice
 * the period is summed up: a call that begins then is sure to be found only if it takes longer by
 * that much. */
static u64 pace(struct process *p, u64 n) {
  u64 least_pace = NONE, period = p->set.period;
  each_member(p, i, m) {
    u64 since = load(&m->idle_since), wanted = load(&m->period);
    if (since) wanted *= 2;
    if (since && n - since > SECOND) wanted = most(wanted, load(&m->threshold) / 2);
    least_pace = least(least_pace, wanted);
    period = least(period, m->period);
  }
  store(&p->time.clock->period, period);
  return least_pace == NONE ? p->set.period : least_pace;
}

/* wake_clock wakes the thread that sets the clock, which then checks again what members need. */
void __cairn_wake_clock(struct process *p) {
  struct clock *k = p->time.clock;
  add(&k->wakeups, 1);
  sys3(SYS_futex, &k->wakeups, FUTEX_SHARED_WAKE, NEVER);
}

/* lead sets the clock until another thread leads. */
static void lead(struct process *p, struct idleness *idle, struct still *still) {
  struct clock *k = p->time.clock;
  u64 waited = 0, scanned = 0;
  u32 seen = load(&k->wakeups) - 1, looked, first = p->time.had_other_leader;
  store(&p->time.member->at_work, 1);
  while (__cairn_leads(p)) {
    u64 from = 0, gap = tick(p, &from), n = load(&k->last_tick);
    if (first) waited = run_delay(); /* after the tick, for which the others wait */
    first = 0;
    __cairn_signal_scan(p, n);
    __cairn_usage_tick(p, __cairn_now(p));
    if (was_late(p, gap)) {
      u64 before = waited;
      if (gap > p->set.threshold) waited = run_delay();
      stalls(p, from, from + gap, less(waited, before));
    }
    if (n - idle->at >= LOOK_PAUSE) look(p, idle, n);
    if (p->time.family && n - scanned >= LOOK_PAUSE) {
      __cairn_family_scan(p, n);
      scanned = n;
      seen--;
    }
    looked = load(&k->wakeups);
    if (looked != seen || !p->time.family) store(&k->pace, pace(p, n));
    seen = looked;
    if (p->time.family) __cairn_family_look(p, n);
    if (load(word(p, PENDING))) __cairn_wake(p);
    uword ts[2] = {k->pace / SECOND, k->pace % SECOND};
    still_sleep(still, n, k->pace);
    __cairn_rest(p, sys4(SYS_futex, &k->wakeups, FUTEX_SHARED_WAIT, seen, ts), k->pace);
    still_wake(p, still, __cairn_now(p));
    if (load(&p->deserted)) __cairn_follow(p->pid);
  }
}

/* prefer gives the clock's thread precedence over others, as far as the process may do that. tid is 0
 * for the thread itself. */
void __cairn_prefer(i32 tid) {
  i32 priority = 1;
  if (sys3(SYS_sched_setscheduler, (i64)tid, 1 /* SCHED_FIFO */, &priority) < 0) sys3(SYS_setpriority, 0, (i64)tid, -20);
}

/* clock_thread sets the clock, or follows the leader, in a loop. */
void __cairn_clock_thread(struct process *p) {
  struct idleness idle = {0};
  struct still still = {0, 0, 0, 0, 0};
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-clock");
  int own_files = leave_files();
  if (p->kind == KIND_EXACT) __cairn_exact_thread(p);
  if (p->time.family) __cairn_family_join(p);
  __cairn_advance(p); /* until the thread was scheduled */
  __cairn_usage_start(p, own_files);
  sys2(SYS_prctl, 29 /* PR_SET_TIMERSLACK */, 1);
  __cairn_prefer(0);
  for (;;) {
    lead(p, &idle, &still);
    for (;;) {
      u64 n = __cairn_now(p);
      /* A thread of an idle process sleeps until its turn. */
      still_sleep(&still, n, __cairn_is_busy(p->time.member, n) ? most(2 * p->time.member->period, p->time.member->threshold / 2) : SECOND);
      if (__cairn_family_wait(p)) break;
      still_wake(p, &still, n = __cairn_now(p));
      if (load(&p->deserted)) __cairn_follow(p->pid);
      if (load(&p->time.member->question) || (n - idle.at >= LOOK_PAUSE && __cairn_is_busy(p->time.member, n))) look(p, &idle, n);
      __cairn_usage_tick(p, n);
      if (load(word(p, PENDING))) __cairn_wake(p);
    }
  }
}

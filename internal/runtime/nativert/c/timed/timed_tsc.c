/* The exact clock: inserted code stamps calls with the processor's time stamp counter, and an exit
 * compares with the counter itself. No thread keeps a clock.
 *
 * Ticks become nanoseconds by a rate that is measured against CLOCK_MONOTONIC, as the rate that
 * processors report is often wrong. The rate has a known error; reading two clocks takes time too.
 * So durations are intervals here as well, some tens of nanoseconds wide. */

#include "timed.h"

/* The kernel changes the rate of its clock by up to that much, in 10^-9, while it is adjusted. */
enum { DRIFT = 1000, LONGEST_NAP = 10 * MS, FIRST_LOOK = 300000 };

/* read_clocks reads the two clocks together. It takes the closest of several readings, as a thread may be
 * preempted in between. */
static struct moment read_clocks(struct process *p, int tries) {
  struct moment best = {0, NONE, 0};
  while (tries--) {
    struct moment x;
    x.tsc = ticks_between();
    x.ns = __cairn_now(p);
    x.width = ticks_between() - x.tsc;
    if (x.width < best.width) best = x;
  }
  return best;
}

/* ---- the rate ---- */

/* measure sets the rate from the clocks at two times. Readers may see a rate that is a few
 * measurements old. */
static void measure(struct process *p, struct moment from, struct moment to) {
  u64 ticks = to.tsc - from.tsc, ns = to.ns - from.ns;
  if ((i64)ticks <= 0 || (i64)ns <= 0 || ns > 1ull << 40 || ticks > 1ull << 44) return;
  struct rate *r = &p->exact.rates[(p->exact.number + 1) % RATES];
  r->hz = most(muldiv(ticks, SECOND, ns), 1000000);
  r->error = least(muldiv(least(from.width + to.width, ticks), SECOND, ticks) + DRIFT, SECOND / 2);
  store(&p->exact.number, p->exact.number + 1);
}

static const struct rate *rate(struct process *p) { return &p->exact.rates[load(&p->exact.number) % RATES]; }

/* refine measures the rate over the last 30 to 60 seconds, or since the start. */
static void refine(struct process *p) {
  struct moment now = read_clocks(p, 8);
  measure(p, p->exact.reference[0], now);
  __cairn_show_low(p);
  if (now.ns - p->exact.reference[1].ns < 30ul * SECOND) return;
  p->exact.reference[0] = p->exact.reference[1];
  p->exact.reference[1] = now;
}

/* exact_start measures the rate briefly while the process waits; better measurements follow while
 * it runs. */
void __cairn_exact_start(struct process *p) {
  static const char message[] =
      "cairn: the machine has no invariant time stamp counter: no spikes are recorded; build with --clock coarse\n";
  struct moment now;
  if (!is_steady()) {
    __cairn_print(message, sizeof message - 1);
    p->off = 1;
  }
  p->slop = 500;
  p->exact.reference[0] = p->exact.reference[1] = read_clocks(p, 8);
  do now = read_clocks(p, 8);
  while (now.ns - p->exact.reference[0].ns < FIRST_LOOK);
  measure(p, p->exact.reference[0], now);
}

/* ---- calls ---- */

u64 __cairn_ticks(struct process *p, u64 ns) { return muldiv(ns, rate(p)->hz, SECOND); }

/* exact_interval sets the bounds of the entry with that stamp, as of e. A stamp in the future, of a
 * processor whose counter is ahead, gives a call of length 0. */
void __cairn_exact_interval(struct process *p, u64 stamp, u64 e, u64 *t0, u64 *t1) {
  struct moment now = read_clocks(p, 2);
  const struct rate *r = rate(p);
  *t0 = *t1 = e;
  if ((i64)(now.tsc - stamp) < 0) {
    add(&p->count.backwards, 1);
    return;
  }
  if (now.tsc - stamp > 1ull << 60) return;
  u64 least_ns = muldiv(now.tsc - stamp, SECOND, r->hz), most_ns = muldiv(now.tsc + now.width - stamp, SECOND, r->hz);
  *t1 = least(e, less(now.ns, less(least_ns, muldiv(least_ns, r->error, SECOND) + 1)));
  *t0 = least(*t1, less(now.ns, most_ns + muldiv(most_ns, r->error, SECOND) + 1));
}

/* exact_thread is what the clock's thread does if there is no coarse clock: it measures the rate,
 * at growing intervals, and wakes the writer of the log. */
void __cairn_exact_thread(struct process *p) {
  u64 next = 0;
  for (u64 nap = MS;; nap = least(2 * nap, LONGEST_NAP)) {
    uword ts[2] = {0, nap};
    u64 cpu[2] = {0, 0};
    __cairn_rest(p, sys4(SYS_clock_nanosleep, MONOTONIC, 0, ts, 0), nap);
    u64 now = __cairn_now(p);
    store(&p->time.clock->last_tick, now);
    if (now >= next) {
      refine(p);
      next = now + least(now - p->exact.reference[0].ns, SECOND);
      sys2(SYS_clock_gettime, THREAD_CPU, cpu);
      p->time.cpu = cpu[0] * SECOND + cpu[1];
    }
    if (load(&p->deserted)) __cairn_follow(p->pid);
    if (load(word(p, PENDING))) __cairn_wake(p);
  }
}

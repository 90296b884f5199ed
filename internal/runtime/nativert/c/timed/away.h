/* For how long stacks did not run, for Windows and macOS. A coroutine that another one takes the thread from does not run, and its
 * calls take no time meanwhile. As in c/timed/timed_switch.c, for each stack the sum of these times is kept, and some earlier values
 * of it, as many per power of four: of a call that began at any time the sum since then is known, to a quarter at worst. What is
 * suspended in one thread may continue in another, so the stacks are those of the process; of one only the thread that runs it
 * writes. */

enum { SUSPENDED = 1024, KEPT = 16, SUM_RINGS = 8, SUM_SHIFT = 2 };

struct sum {
  u64 at;          /* the end of a suspension, by its tick */
  u64 before, all; /* ns */
};
struct suspended {
  u64 base; /* what a stack is known by; 0: free */
  u64 n, all;
  u64 left; /* when it was left by a call that does not return; 0: it runs, or such a call will */
  struct sum ring[SUM_RINGS][KEPT]; /* every one, every 4th, every 16th ... */
};

/* suspended_of returns what is known of the stack with a base, 0 if there is nothing or, if it is to be made, no room. */
static struct suspended *suspended_of(struct process *p, u64 base, int make) {
  enum { TRIES = 64 };
  struct suspended *s = load(&p->suspended), *none = 0;
  if (!s && make && (s = (struct suspended *)anonymous(SUSPENDED * sizeof *s)) &&
      !__atomic_compare_exchange_n(&p->suspended, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    release(s, SUSPENDED * sizeof *s), s = none;
  for (u64 h = base * 0x9e3779b97f4a7c15ull >> 32, i = 0; s && base && i < TRIES; i++) {
    struct suspended *x = &s[(h + i) % SUSPENDED];
    u64 found = load(&x->base);
    if (!found && make && __atomic_compare_exchange_n(&x->base, &found, base, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return x;
    if (found == base) return x;
    if (!found) return 0;
  }
  return 0;
}

/* note_away adds the time from since to e, in which a stack did not run. */
static void note_away(struct process *p, struct suspended *x, u64 since, u64 e) {
  u64 at, unused;
  if (!x || e <= since) return;
  interval(p, load(word(p, CLOCK)), e, &at, &unused);
  struct sum now = {at, x->all, x->all + e - since};
  u64 n = x->n++;
  x->all = now.all;
  for (u32 r = 0; r < SUM_RINGS && !(n & ((1ull << r * SUM_SHIFT) - 1)); r++) x->ring[r][(n >> r * SUM_SHIFT) % KEPT] = now;
}

/* away bounds for how long the stack with a base did not run in a call that was entered in [t0, t1], until e. */
static void away(struct process *p, u64 base, u64 t0, u64 t1, u64 e, u64 *lo, u64 *hi) {
  struct suspended *x = suspended_of(p, base, 0);
  *lo = *hi = 0;
  if (!x) return;
  /* A call that was entered behind a suspension was so at its tick or later, one in front of it at an earlier tick. The next tick
   * is set a little before t1. */
  u64 least_sum = 0, most_sum = x->all; /* when the call began */
  for (u32 r = SUM_RINGS; r--;) {
    u64 n = x->n ? ((x->n - 1) >> r * SUM_SHIFT) + 1 : 0;
    for (u64 i = less(n, KEPT); i < n; i++) {
      const struct sum *was = &x->ring[r][i % KEPT];
      if (was->at <= t0) least_sum = most(least_sum, was->all);
      if (was->at > t0 && was->at + p->period / 2 >= t1) most_sum = least(most_sum, was->before);
    }
  }
  *hi = least(less(x->all, least_sum), e - t0);
  *lo = least(less(x->all, most_sum), *hi);
}

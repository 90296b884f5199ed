/* Stacks that are suspended. A coroutine that another one takes the thread from does not run, and its
 * calls take no time meanwhile. Inserted code calls the runtime before and behind calls that continue
 * on another stack (swapcontext, Boost.Context, libco), see timed_switch_MACHINE.S: the value of the
 * clock before is in the slot of the window at the stack pointer, in which no call is stamped. If it
 * has changed behind the call, the stack was suspended. setcontext does not return: the clock is then in the
 * stack's state, and a getcontext of that stack that returns finds it.
 *
 * For each stack the sum of these times is kept, and some earlier values of it, as many per power of
 * four: of a call that began at any time the sum since then is known, to a quarter at worst. The
 * clock moves in steps. The sum of the steps is right on the average, its error that of as many
 * roundings. What is suspended in one thread may continue in another, so the stacks are those of
 * the process; of one only the thread that runs it writes. */

#include "timed.h"

enum { STACKS = sizeof(uword) == 8 ? 4096 : 1024, PLACES = 8192, KEPT = 16, RINGS = 8, RING_SHIFT = 2, INDEX_BITS = 12, ALIGN_BITS = 3 };

struct sum {
  u64 at;          /* the end of a suspension, by the coarse clock its tick */
  u64 before, all; /* ns */
  u64 squares;     /* of the steps of the clock, us */
};
struct suspended {
  u64 key; /* 0: free */
  u64 n, all, squares;
  u64 left; /* the clock when setcontext left it */
  u32 gone; /* it did, and none of its calls has returned since */
  struct sum ring[RINGS][KEPT]; /* every one, every 4th, every 16th ... */
};
struct switches {
  u64 place[PLACES]; /* a stack pointer and the index of its stack */
  struct suspended of[STACKS];
};

static u64 hash(u64 x) { return x * 0x9e3779b97f4a7c15ul >> 32; }

static struct switches *all_stacks(struct process *p) {
  struct switches *s = load(&p->switches), *none = 0;
  if (s) return s;
  u64 size = (sizeof *s + 4095) & ~4095ul;
  s = (struct switches *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(s)) return 0;
  if (__atomic_compare_exchange_n(&p->switches, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return s;
  unmap(s, size);
  return none;
}

/* stack_of returns the stack with a key, 0 if there is none or, if it is to be made, no room. */
static struct suspended *stack_of(struct switches *s, u64 key, int make) {
  enum { TRIES = 64 };
  for (u64 h = hash(key), i = 0; key && i < TRIES; i++) {
    struct suspended *x = &s->of[(h + i) % STACKS];
    u64 found = load(&x->key);
    if (!found && make && __atomic_compare_exchange_n(&x->key, &found, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return x;
    if (found == key) return x;
    if (!found) return 0;
  }
  return 0;
}

/* stack_at returns the stack of the running call with a stack pointer. To find it takes an unwinding,
 * so it is remembered for that stack pointer. */
static struct suspended *stack_at(struct process *p, struct thread *t, struct switches *s, u64 sp) {
  u64 *place = &s->place[hash(sp) % PLACES], was = load(place);
  if (was >> INDEX_BITS == sp >> ALIGN_BITS) return &s->of[was % STACKS];
  struct suspended *x = stack_of(s, __cairn_stack_key(p, t, sp), 1);
  if (x) store(place, sp >> ALIGN_BITS << INDEX_BITS | (u64)(x - s->of));
  return x;
}

void __cairn_resumed(u64 sp) {
  struct process *p = __cairn_state;
  u64 e, t0, t1, took, step, at;
  if (!p || !load(word(p, ALIVE)) || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return;
  e = __cairn_now(p);
  if (!__cairn_entered(p, sp, e, &t0, &t1) || t0 >= e) return;
  step = t1 - t0;
  took = e - t1;
  at = e;
  if (p->kind != KIND_EXACT) {
    u32 clock = load(word(p, CLOCK));
    took = least((u64)(clock - load((u32 *)slot(p, sp))) * 1000, e - t0);
    __cairn_coarse_interval(p, clock, e, &at, &t1);
  }
  struct thread *t = __cairn_thread(p);
  struct switches *s = all_stacks(p);
  if (!took || !s || !t || (t->busy && e - t->busy_since < SECOND)) return;
  t->busy_since = e;
  t->busy = 1;
  barrier();
  struct suspended *x = stack_at(p, t, s, sp);
  if (x) {
    struct sum now = {at, x->all, x->all + took, x->squares + (step / 1000) * (step / 1000)};
    u64 n = x->n++;
    x->all = now.all, x->squares = now.squares;
    for (u32 r = 0; r < RINGS && !(n & ((1ul << r * RING_SHIFT) - 1)); r++) x->ring[r][(n >> r * RING_SHIFT) % KEPT] = now;
  }
  barrier();
  t->busy = 0;
}

/* known_at returns the stack of the running call with a stack pointer, 0 if it is not to be known now. */
static struct suspended *known_at(struct process *p, u64 sp, int make) {
  if (!p || !load(word(p, ALIVE)) || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return 0;
  u64 e = __cairn_now(p);
  struct switches *s = make ? all_stacks(p) : load(&p->switches);
  struct thread *t = s ? __cairn_thread(p) : 0;
  if (!t || (t->busy && e - t->busy_since < SECOND)) return 0;
  t->busy_since = e;
  t->busy = 1;
  barrier();
  struct suspended *x = stack_at(p, t, s, sp);
  barrier();
  t->busy = 0;
  return x;
}

/* left notes that setcontext leaves a stack: suspends has put the clock into the slot. */
void __cairn_stack_left(u64 sp) {
  struct process *p = __cairn_state;
  struct suspended *x = known_at(p, sp, 1);
  if (!x) return;
  x->left = p->kind == KIND_EXACT ? *(u64 *)slot(p, sp) : load((u32 *)slot(p, sp));
  store(&x->gone, 1);
}

/* came is behind getcontext, which returns again when setcontext has continued on its stack. */
void __cairn_stack_goes_on(u64 sp) {
  struct process *p = __cairn_state;
  struct suspended *x = known_at(p, sp, 0);
  if (!x || !load(&x->gone)) return;
  store(&x->gone, 0);
  if (p->kind == KIND_EXACT) *(u64 *)slot(p, sp) = x->left;
  else store((u32 *)slot(p, sp), (u32)x->left);
  __cairn_resumed(sp);
}

static u64 root(u64 x) {
  u64 r = 0;
  for (u64 bit = 1ul << 31; bit; bit >>= 1)
    if ((r + bit) * (r + bit) <= x) r += bit;
  return r;
}

/* suspended bounds for how long the stack of a call did not run that was entered in [t0, t1]. */
void __cairn_suspended(struct process *p, struct thread *t, u64 sp, u64 t0, u64 t1, u64 e, u64 *lo, u64 *hi) {
  struct switches *s = load(&p->switches);
  struct suspended *x = s ? stack_of(s, __cairn_stack_key(p, t, sp), 0) : 0;
  *lo = *hi = 0;
  if (!x) return;
  /* A call that was entered behind a suspension was so at its tick or later, one in front of it at an
   * earlier tick. The next tick is set a little before t1. */
  u64 slack = p->kind == KIND_EXACT ? 0 : p->set.period / 2;
  u64 least_sum = 0, most_sum = x->all, squares = 0; /* when the call began */
  for (u32 r = RINGS; r--;) {
    u64 n = x->n ? ((x->n - 1) >> r * RING_SHIFT) + 1 : 0;
    for (u64 i = less(n, KEPT); i < n; i++) {
      const struct sum *was = &x->ring[r][i % KEPT];
      if (was->at <= t0 && was->all >= least_sum) least_sum = was->all, squares = was->squares;
      if (was->at > t0 && was->at + slack >= t1) most_sum = least(most_sum, was->before);
    }
  }
  u64 doubt = 2 * 1000 * root(x->squares - squares);
  *lo = less(less(x->all, most_sum), doubt);
  *hi = least(x->all - least_sum + (x->all > least_sum ? doubt : 0), e - t0);
  *lo = least(*lo, *hi);
}

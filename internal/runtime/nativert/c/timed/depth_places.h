/* Where mode trace with --depth keeps the lists of stacks that another one has taken the thread from, by the stack pointer at the call
 * that does so. Places are shared by all threads. One stays after its stack has gone on, as getcontext may return again, and is then
 * given away if no other one is free. A stack that lost its place begins again with depth 1, so that more is recorded. */

enum { PLACES = 4096, PLACE_SHIFT = 4, PLACE_TRIES = 8 };
enum { PLACE_FREE, PLACE_USED, PLACE_WAITS, PLACE_WRITTEN };

struct kept_list {
  u64 key, count;
  u32 use;
  u64 call[KEPT_DEPTH];
};

static struct kept_list *place_try(struct kept_list *all, u64 sp, u32 i) {
  return &all[(((sp >> PLACE_SHIFT) * 0x9e3779b97f4a7c15ull >> 32) + i) % PLACES];
}

/* place_left returns the place of a stack, 0 if it has none, and how it was used. */
static struct kept_list *place_left(struct kept_list *all, u64 sp, u32 *use) {
  for (u32 i = 0; i < PLACE_TRIES; i++) {
    struct kept_list *x = place_try(all, sp, i);
    *use = load(&x->use);
    if ((*use == PLACE_USED || *use == PLACE_WAITS) && x->key == sp) return x;
  }
  return 0;
}

/* place_used returns a place for a stack that is used so, 0 if there is none. */
static struct kept_list *place_used(struct kept_list *all, u64 sp, u32 use) {
  for (u32 i = 0; i < PLACE_TRIES; i++)
    if (load(&place_try(all, sp, i)->use) == use) return place_try(all, sp, i);
  return 0;
}

/* take_place takes a place for a stack, 0 if other threads are faster each time. */
static struct kept_list *take_place(struct kept_list *all, u64 sp) {
  for (u32 i = 0; i < PLACE_TRIES; i++) {
    u32 use;
    struct kept_list *x = place_left(all, sp, &use);
    if (!x && (x = place_used(all, sp, PLACE_FREE))) use = PLACE_FREE;
    if (!x && (x = place_used(all, sp, PLACE_USED))) use = PLACE_USED;
    if (!x && (x = place_used(all, sp, PLACE_WAITS))) use = PLACE_WAITS;
    if (x && __atomic_compare_exchange_n(&x->use, &use, PLACE_WRITTEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return x;
  }
  return 0;
}

/* keep_list keeps a list of calls. */
static void keep_list(struct kept_list *all, u64 sp, const u64 *call, u64 count) {
  struct kept_list *x = take_place(all, sp);
  if (!x) return;
  x->key = sp;
  __atomic_thread_fence(__ATOMIC_RELEASE); /* who sees a new call sees the key */
  x->count = count < KEPT_DEPTH ? count : KEPT_DEPTH;
  for (u64 i = 0; i < x->count; i++) ((volatile u64 *)x->call)[i] = call[i];
  store(&x->use, PLACE_WAITS);
}

/* kept_calls gives a stack its list back, and returns how many calls it has. */
static u64 kept_calls(struct kept_list *all, u64 sp, u64 *call) {
  u32 use;
  struct kept_list *x = place_left(all, sp, &use);
  u64 n = x ? x->count : 0;
  for (u64 i = 0; i < n && i < KEPT_DEPTH; i++) ((volatile u64 *)call)[i] = x->call[i];
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (!x || load(&x->key) != sp) return 0;
  __atomic_compare_exchange_n(&x->use, &use, PLACE_USED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return n;
}

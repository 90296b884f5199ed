/* Who is watched, for Windows and macOS. */

enum { SHARE = 100, PAUSE = SECOND, ROUND = 8 };

/* See watch_open.h. */
static void open_found(struct process *p, struct watch *k, struct watched *w, i64 call);
static void open_lasts(struct watched *w, u64 time);
static void open_left(struct process *p, struct watch *k, struct watched *w);

/* watched_of returns what is known of a thread, 0 if it is not watched. */
static struct watched *watched_of(struct watch *k, u32 tid) {
  for (u32 i = 0; k && i < WATCHED; i++) {
    struct watched *w = &k->thread[(tid / 4 + i) % WATCHED];
    if (load(&w->tid) == tid) return w;
  }
  return 0;
}

/* lock_watch takes what belongs to who looks at threads, and reports whether it did: another thread may have been ended with it. */
static int lock_watch(struct watch *k, u32 tries) {
  if (!k) return 0;
  while (__atomic_exchange_n(&k->lock, 1, __ATOMIC_ACQUIRE)) {
    if (!tries--) return 0;
    nap();
  }
  return 1;
}

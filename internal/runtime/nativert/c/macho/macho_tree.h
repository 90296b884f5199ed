/* What the trees of calls (tree.h) get from macOS. A thread that has called nothing yet has no node. */

#define INLINE static inline

#define __cairn_state (shared.process)
#define own_node() ((struct node *)own_slot(8 * __cairn_state->key))
#define set_node(n) set_slot(8 * __cairn_state->key, (u64)(n))

#define failed(address) ((address) == (u8 *)-1)
#define unmap(address, size) munmap((void *)(address), size)
#define unmap_chunk(c) munmap(c, CHUNK)
#define has_memory(block) 1
#define reserve_nodes(size) (u8 *)mmap(0, size, PROT_RW, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0)
#define may_have_nodes(p) 1
#define keep_thread(t) ((t)->thread = 0)
#define tree_ended(p, t) ((t)->thread != 0) /* see thread_ends */
#define has_new_window(p) 0
#define log_time(p) now(p)
#define begin_file(p) begins(p)
#define write_modules(p, more) ((void)(more))
#define __cairn_now tree_now
#define __cairn_file_header(p) ((void)0)
#define __cairn_file_chunk tree_chunk

/* An app for iOS has few gigabytes of addresses beside the window. */
#if __ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__
#define TREES_MOST (1ul << 28)
#else
#define TREES_MOST (1ul << 32)
#endif

static u64 tree_now(struct process *p) { return now(p); }

/* lock waits only for so long: its holder may have been ended. */
static void lock(u32 *l) {
  struct process *p = shared.process;
  for (u32 i = 0; __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE) && i < 2000; i++) mach_wait_until(mach_absolute_time() + MS * p->denom / p->numer);
}
static void unlock(u32 *l) { store(l, 0); }

/* begins begins the log, and reports whether there is one. */
static int begins(struct process *p) {
  take(p);
  int ok = !p->failed && begin_log(p);
  give(p);
  return ok;
}

/* tree_chunk returns another chunk of the log, which stays mapped. */
static u8 *tree_chunk(struct process *p, u32 kind, u64 time) {
  take(p);
  u8 *c = p->failed ? 0 : new_chunk(p, kind, time);
  give(p);
  return c;
}

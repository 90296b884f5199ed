/* What the trees of calls (tree.h) get from Windows. */

#define HIDDEN
#define INLINE static inline

struct local {
  struct node *node;
};
#define own_local() ((struct local *)own_word())
#define own_node() (own_local()->node)
#define set_node(n) (own_local()->node = (n))
#define __cairn_state state

#define failed(address) (!(address))
#define unmap(address, size) VirtualFree((void *)(address), 0, MEM_RELEASE)
#define has_memory(block) VirtualAlloc(block, BLOCK, MEM_COMMIT, READWRITE)
#define reserve_nodes(size) reserve(size)
#define may_have_nodes(p) ((p)->mask)
#define thread_number() ((i32)GetCurrentThreadId())
#define keep_thread(t) hold_thread(&(t)->thread)
#define tree_ended(p, t) (!(p)->terminates && thread_ended((t)->thread))
#define block_most() 0
#define unblock(mask) ((void)(mask))
#define log_time(p) now(p)
#define begin_file(p) begins(p)
#define write_modules(p, more) ((void)(more))
#define __cairn_now tree_now
#define __cairn_file_header(p) ((void)0)
#define __cairn_file_chunk tree_chunk

static u64 tree_now(struct process *p) { return now(p); }

/* lock waits only for so long: its holder may have been ended. */
static void lock(u32 *l) {
  for (u32 i = 0; __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE) && i < 2000; i++) Sleep(i > 100);
}
static void unlock(u32 *l) { store(l, 0); }

enum { NODES_HEAD = 2 << 20 };

/* reserve returns addresses of which memory is made when they are used, see commit; of the first, which are used before that
 * is known, at once. */
static u8 *reserve(u64 size) {
  u8 *m = VirtualAlloc(0, size, MEM_RESERVE, READWRITE);
  return m && VirtualAlloc(m, NODES_HEAD, MEM_COMMIT, READWRITE) ? m : 0;
}

/* begins begins the log, and reports whether there is one. */
static int begins(struct process *p) {
  if (!take(p)) return 0;
  int ok = begin_log(p);
  give(p);
  return ok;
}

/* tree_chunk returns another chunk of the log, which stays mapped. */
static u8 *tree_chunk(struct process *p, u32 kind, u64 time) {
  if (!take(p)) return 0;
  u8 *c = p->failed ? 0 : new_chunk(p, kind, time);
  give(p);
  return c;
}

/* The depth of a thread's calls, for mode trace with --depth, as c/timed/trace_depth.c has it. Behind the thread's position, a thread has the
 * stack pointer of the last recorded call once these have reached the depth, else 0, which inserted code compares with its own; and the list
 * of the stack pointers of its recorded open calls. */

struct deep_list {
  u64 count, call[CAIRN_TRACE_DEPTH];
};

enum { DEEP = 8, LIST = 16 };

static void set_deep(u64 sp) { set_slot(8 * shared.process->key + DEEP, sp); }

static void depth_ends(void *list) {
  set_deep(0);
  munmap(list, sizeof(struct deep_list));
}

/* own_list returns the list of this thread, which it makes. Without memory there is none, and calls are recorded that are deeper. */
static struct deep_list *own_list(struct process *p, u8 *vectors) {
  struct deep_list *l = (struct deep_list *)own_slot(8 * p->key + LIST);
  if (l) return l;
  u64 saved = begin_system(vectors);
  l = mmap(0, sizeof *l, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (l == (struct deep_list *)-1) l = 0;
  else pthread_setspecific(p->key + 2, l);
  end_system(saved, vectors);
  return l;
}

/* list_above returns the list without calls that have ended: those at a stack pointer or below. */
static struct deep_list *list_above(u64 sp, u8 *vectors) {
  struct process *p = shared.process;
  struct deep_list *l = p ? own_list(p, vectors) : 0;
  while (l && l->count && l->call[l->count - 1] <= sp) l->count--;
  return l;
}

/* of_trace_deeper: a call is entered, and recorded. r is the stack pointer at its entry. */
static u64 of_trace_deeper(u64 r, u8 *vectors, u64 sp) {
  if (!shared.process) {
    u64 saved = begin_system(vectors);
    start();
    end_system(saved, vectors);
  }
  struct deep_list *l = list_above(r, vectors);
  if (!l) return 0;
  if (l->count < CAIRN_TRACE_DEPTH) l->call[l->count++] = r;
  set_deep(l->count == CAIRN_TRACE_DEPTH ? r : 0);
  return 0;
}

/* of_trace_upper: a recorded call ends. */
static u64 of_trace_upper(u64 r, u8 *vectors, u64 sp) {
  if (list_above(r, vectors)) set_deep(0);
  return 0;
}

ROUTINE(trace_deeper)
ROUTINE(trace_upper)

/* ---- stacks that are left ---- */

/* A stack that another one takes the thread from leaves the list, by the stack pointer at that call, and the other one begins with none.
 * Places are few and shared: a stack that lost its place begins again with depth 1, so that more is recorded. */
enum { PLACES = 4096, PLACE_SHIFT = 4 };

struct kept_list {
  u64 key; /* 0: being written */
  struct deep_list list;
};
static struct kept_list *kept_lists;

static struct kept_list *place_of_stack(u64 sp, u8 *vectors) {
  if (!load(&kept_lists)) {
    u64 saved = begin_system(vectors);
    struct kept_list *l = mmap(0, PLACES * sizeof *l, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (l != (struct kept_list *)-1) store(&kept_lists, l);
    end_system(saved, vectors);
  }
  return kept_lists ? &kept_lists[((sp >> PLACE_SHIFT) * 0x9e3779b97f4a7c15ul >> 32) % PLACES] : 0;
}

static u64 of_depth_leaves(u64 r, u8 *vectors, u64 sp) {
  struct deep_list *l = list_above(sp, vectors);
  struct kept_list *k = l ? place_of_stack(sp, vectors) : 0;
  if (!l) return r;
  if (k) {
    store(&k->key, 0);
    copy(&k->list, l, sizeof *l);
    store(&k->key, sp);
  }
  l->count = 0;
  set_deep(0);
  return r;
}

static u64 of_depth_returns(u64 r, u8 *vectors, u64 sp) {
  struct deep_list *l = list_above(0, vectors);
  const struct kept_list *k = l ? place_of_stack(sp, vectors) : 0;
  if (!l) return r;
  if (k && load(&k->key) == sp) copy(l, &k->list, sizeof *l);
  else l->count = 0;
  set_deep(l->count == CAIRN_TRACE_DEPTH ? l->call[l->count - 1] : 0);
  return r;
}

ROUTINE(depth_leaves)
ROUTINE(depth_returns)

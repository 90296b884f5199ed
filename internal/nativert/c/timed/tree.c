/* The tree of calls of mode stacks. A thread alone makes the nodes of its tree;
 * the thread that writes the log reads them, every second and at the end, and
 * puts what they have into records that it updates in place. Signal handlers
 * may run at any moment, and make nodes as well: so a place is taken by one
 * instruction, and a node is linked by one. */

#include "tree.h"

struct node __cairn_tree_empty;
#define EMPTY &__cairn_tree_empty
struct node __cairn_tree_none = {.function = TREE_NONE, .slot = {[0 ... TREE_SLOTS - 1] = EMPTY}};
static struct node sink = {
    .parent = &sink, .function = TREE_LOST, .slot = {[0 ... TREE_SLOTS - 1] = EMPTY}};

struct node *__cairn_tree_table[TREE_TABLE];

#define clock_word(p) load((u64 *)((p)->base + TREE_CLOCK))

static void write_trees(struct process *p, int final);
static void forked(struct process *p);

static struct block *block_of(struct node *n) { return (struct block *)((u64)n & -(u64)BLOCK); }

/* shared returns the state of the process, and makes it for the first node. */
static struct trees *shared(struct process *p) {
  struct trees *s = load(&p->trees), *none = 0;
  if (s) return s;
  if (!p->mask) return 0; /* all calls have one slot */
  for (u64 size = 1ul << 33; size >= 1ul << 24; size >>= 1) {
    u8 *m = (u8 *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(m)) continue;
    s = (struct trees *)m;
    s->used = TREE_HEAD;
    s->size = size;
    s->lost.parent = &s->lost;
    s->lost.function = TREE_LOST;
    for (u32 i = 0; i < TREE_SLOTS; i++) s->lost.slot[i] = &s->empty;
    p->tree_write = write_trees;
    p->tree_forked = forked;
    if (__atomic_compare_exchange_n(&p->trees, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return s;
    sys2(SYS_munmap, m, size);
    return none;
  }
  return 0;
}

/* ---- nodes ---- */

static struct block *new_block(struct trees *s) {
  u64 at = add(&s->used, BLOCK);
  if (at + BLOCK <= s->size) return (struct block *)((u8 *)s + at);
  store(&s->used, s->size); /* lest it wrap round one day */
  return 0;
}

static void init(struct trees *s, struct node *n, struct node *parent, u64 function) {
  n->parent = parent;
  for (u32 i = 0; i < TREE_SLOTS; i++) n->slot[i] = &s->empty;
  store(&n->function, function);
}

/* new_tree makes that of the calling thread and returns its root. */
static struct node *new_tree(struct trees *s) {
  struct block *b = new_block(s);
  if (!b) return &s->lost;
  struct tree *t = &b->own;
  struct node *root = (struct node *)((u8 *)b + NODE);
  b->tree = t;
  t->last = b;
  t->owner = (i32)sys0(SYS_gettid);
  t->position = (u64)b + 2 * NODE;
  init(s, root, 0, TREE_ROOT);
  t->next = load(&s->list);
  while (!__atomic_compare_exchange_n(&s->list, &t->next, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ;
  return root;
}

/* place returns room for a node. */
static struct node *place(struct trees *s, struct tree *t) {
  for (;;) {
    u64 old = load(&t->position), at = old;
    struct block *b = 0;
    if (old % BLOCK == 0 || old % BLOCK + NODE > BLOCK) {
      if (!(b = new_block(s))) return 0;
      b->tree = t;
      at = (u64)b + NODE;
    }
    if (!__atomic_compare_exchange_n(&t->position, &old, at + NODE, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    if (b) {
      store(&t->last->next, b);
      t->last = b;
    }
    return (struct node *)at;
  }
}

/* child returns the node of a function below the current one. In front of what
 * names the function is how far it is behind its start, and the number of its
 * slot. */
struct node *__cairn_tree_child(const u8 *function) {
  struct node *parent = __cairn_node, *n;
  struct trees *s = shared(__cairn_state);
  if (!s) return &sink; /* there is no room at all: nobody reads it */
  if (parent->function == TREE_LOST) return parent;
  if (parent->function == TREE_NONE) parent = new_tree(s);
  for (n = load(&parent->first); n; n = n->next)
    if (n->function == (u64)function) goto found;
  if (parent->function == TREE_LOST || !(n = place(s, block_of(parent)->tree))) return &s->lost;
  copy(&n->behind, function - 5, 4);
  init(s, n, parent, (u64)function);
  n->next = load(&parent->first);
  while (!__atomic_compare_exchange_n(&parent->first, &n->next, n, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ;
found:
  store(&__cairn_tree_table[tree_place(parent, (u64)function)], n);
  parent->slot[function[-1] % TREE_SLOTS] = n;
  return n;
}

/* find makes the node of the innermost live call of a function the current one.
 * Nodes below have a stack pointer below: their calls were left without an exit. */
void __cairn_tree_find(u64 function, u64 sp) {
  struct node *n = __cairn_node, *m = n;
  while (m->parent && !(m->function == function && (i32)(m->sp - (u32)sp) > 0)) {
    if (m->parent == m) return;
    m = m->parent;
  }
  if (!m->parent) return;
  u64 c = clock_word(__cairn_state);
  for (; n != m; n = n->parent)
    if (n->time < 0) {
      n->time += (i64)c;
      n->unwound++;
    }
  __cairn_node = m;
}

/* ---- the log ---- */

/* record returns the record with a number, and makes its chunk. */
static u8 *record(struct process *p, struct trees *s, u32 number) {
  enum { EACH = (LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) / LOG_NODE_SIZE };
  u32 chunk = (number - 1) / EACH;
  if (chunk >= TREE_CHUNKS) return 0;
  if (!s->chunk[chunk]) {
    u8 *c = __cairn_file_chunk(p, LOG_KIND_TREE, p->last_tick);
    if (!c) return 0;
    *(u64 *)(c + LOG_CHUNK_NUMBER_OFFSET) = number;
    s->chunk[chunk] = c;
    s->chunks = chunk + 1;
  }
  return s->chunk[chunk] + LOG_CHUNK_HEADER_SIZE + (number - 1) % EACH * LOG_NODE_SIZE;
}

/* new_record takes the next number. */
static u8 *new_record(struct process *p, struct trees *s, u32 *number, u32 type, u32 a) {
  u8 *r = record(p, s, s->records + 1);
  if (!r) return 0;
  *number = ++s->records;
  ((u32 *)r)[1] = a;
  ((u16 *)r)[1] = LOG_NODE_SIZE;
  store((u16 *)r, (u16)type);
  return r;
}

/* write_node writes what a node has; 0 if its parent has no record yet. */
static int write_node(struct process *p, struct trees *s, struct tree *t, struct node *n, u64 c) {
  u64 calls = load(&n->calls), function = load(&n->function);
  i64 time = load(&n->time);
  u32 open = 0;
  u64 *f;
  if (!calls && !time) return 1;
  if (!n->number) {
    u32 parent = n->parent->parent ? n->parent->number : t->number;
    if (!parent) return 0;
    if (!(f = (u64 *)new_record(p, s, &n->number, LOG_TYPE_NODE, parent))) return 1;
    f[1] = function - n->behind;
  } else {
    f = (u64 *)record(p, s, n->number);
  }
  for (; time < 0 && open < 1000; open++) time += (i64)c;
  if (time < 0) time = 0; /* read while it was being changed */
  f[2] = calls, f[3] = (u64)time * 1000, f[4] = n->unwound, f[5] = open;
  return 1;
}

static int write_tree(struct process *p, struct trees *s, struct tree *t, u64 c) {
  struct block *b = (struct block *)((u64)t & -(u64)BLOCK);
  int all = 1;
  if (!t->number && !new_record(p, s, &t->number, LOG_TYPE_TREE, (u32)t->owner)) return 1;
  for (u64 at = 2 * NODE; b; b = load(&b->next), at = NODE)
    for (; at + NODE <= BLOCK; at += NODE) {
      struct node *n = (struct node *)((u8 *)b + at);
      if (load(&n->function)) all &= write_node(p, s, t, n, c);
    }
  return all;
}

/* bury ends the calls that a thread was in when it ended. */
static void bury(struct tree *t, u64 c) {
  for (struct block *b = (struct block *)((u64)t & -(u64)BLOCK); b; b = b->next)
    for (u64 at = NODE; at + NODE <= BLOCK; at += NODE) {
      struct node *n = (struct node *)((u8 *)b + at);
      if (n->time < 0) n->time += (i64)c, n->unwound++;
    }
}

/* write_trees runs in the thread that writes the log. */
static void write_trees(struct process *p, int final) {
  struct trees *s = load(&p->trees);
  u64 now = __cairn_now(p), c = clock_word(p);
  u32 before = s->records;
  if (!final && now - s->written_at < most(SECOND, 20 * s->took)) return;
  if (!__cairn_begin(p)) return;
  if (!s->records) __cairn_file_header(p); /* which did not know of the tree */
  for (struct tree *t = load(&s->list); t; t = t->next) {
    i32 owner = t->owner;
    if (!owner) continue;
    int dead = sys3(SYS_tgkill, p->pid, owner, 0) == -ESRCH;
    if (dead) bury(t, c);
    for (int i = 0; i < 3 && !write_tree(p, s, t, c); i++) ;
    if (dead) t->owner = 0;
  }
  if (s->records != before) __cairn_modules(p);
  if (s->records) ((u64 *)record(p, s, 1))[2] = s->lost.calls;
  s->took = __cairn_now(p) - now;
  s->written_at = now;
}

/* forked leaves a child with the tree of its thread, of which the nodes have
 * counted nothing yet and the calls that go on begin now. */
static void forked(struct process *p) {
  struct trees *s = p->trees;
  struct node *current = __cairn_node;
  u64 c = clock_word(p);
  for (u32 i = 0; i < s->chunks; i++) {
    if (s->chunk[i]) sys2(SYS_munmap, s->chunk[i], LOG_CHUNK_SIZE);
    s->chunk[i] = 0;
  }
  s->chunks = s->records = 0;
  s->lost.calls = 0;
  s->written_at = 0;
  s->list = 0;
  if (current->function == TREE_NONE || current->function == TREE_LOST) return;
  struct block *b = block_of(current);
  struct tree *t = b->tree;
  t->next = 0;
  t->number = 0;
  t->owner = (i32)sys0(SYS_gettid);
  s->list = t;
  for (b = (struct block *)((u64)t & -(u64)BLOCK); b; b = b->next)
    for (u64 at = NODE; at + NODE <= BLOCK; at += NODE) {
      struct node *n = (struct node *)((u8 *)b + at);
      n->calls = n->unwound = 0;
      n->time = 0;
      n->number = 0;
    }
  for (struct node *n = current; n->parent; n = n->parent) {
    n->time = -(i64)c;
    *(struct node **)slot(p, n->sp) = n; /* where the window is a new one */
  }
}

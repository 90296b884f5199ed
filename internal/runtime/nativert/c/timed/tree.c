/* The call tree of mode stacks: its nodes, and the threads that own them. Only the owner creates
 * nodes in its tree; the thread that writes the log reads them (tree_log.c). Signal handlers may
 * run at any time and create nodes as well: so one instruction allocates a node, and one links it. */

#include "tree.h"

struct node __cairn_tree_empty;
#define EMPTY &__cairn_tree_empty
struct node __cairn_tree_none = {.function = TREE_NONE, .slot = {[0 ... TREE_SLOTS - 1] = EMPTY}};
static struct node sink = {
    .parent = &sink, .function = TREE_LOST, .slot = {[0 ... TREE_SLOTS - 1] = EMPTY}};

struct node *__cairn_tree_table[TREE_TABLE];

#ifndef CAIRN_TREE_DEPTH
#define CAIRN_TREE_DEPTH ~0u
#endif
u32 __cairn_tree_depth = CAIRN_TREE_DEPTH;

/* trees_of returns the shared state of the process, and creates it for the first node. */
static struct trees *trees_of(struct process *p) {
  struct trees *s = load(&p->stacks.trees), *none = 0;
  if (s) return s;
  if (!may_have_nodes(p)) return 0;
  for (u64 size = TREES_MOST; size >= 1ull << 24; size >>= 1) {
    u8 *m = (u8 *)reserve_nodes(size);
    if (failed(m)) continue;
    s = (struct trees *)m;
    s->used = TREE_HEAD;
    s->size = size;
    s->lost.parent = &s->lost;
    s->lost.function = TREE_LOST;
    for (u32 i = 0; i < TREE_SLOTS; i++) s->lost.slot[i] = &s->empty;
    if (__atomic_compare_exchange_n(&p->stacks.trees, &none, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return s;
    unmap(m, size);
    return none;
  }
  return 0;
}

#if !_WIN32 && !__APPLE__
/* trees_start names what the process does with its trees. The functions must not be in a library that
 * is unloaded. */
void __cairn_trees_start(struct process *p) {
  p->stacks.write = __cairn_tree_write;
  p->stacks.forked = __cairn_tree_forked;
  p->stacks.retire = __cairn_tree_retire;
  p->stacks.revive = __cairn_tree_revive;
}

/* The memory reserved here is a multiple of the window's size, and a hole of that size between
 * thread stacks could make two of them share slots. So it is reserved before other threads exist,
 * which might do so too and release theirs. */
static void start(void) {
  struct trees *s = __cairn_state ? trees_of(__cairn_state) : 0;
  if (s) __cairn_tree_reserve(__cairn_state, s);
}
__attribute__((section(".init_array.00001"), used)) static void (*const init_trees)(void) = start;
#endif

/* ---- nodes ---- */

static struct block *new_block(struct trees *s, struct tree *t) {
  u64 at = add(&s->used, BLOCK);
  if (at + BLOCK <= s->size && has_memory((u8 *)s + at)) {
    struct block *b = (struct block *)((u8 *)s + at);
    b->tree = t;
    return b;
  }
  store(&s->used, s->size); /* so that it never overflows */
  return 0;
}

static void init(struct trees *s, struct node *n, struct node *parent, u64 function, u32 behind, u32 flags) {
  n->parent = parent;
  n->behind = behind;
  n->flags = flags;
  n->depth = parent ? parent->depth + 1 : 0;
  for (u32 i = 0; i < TREE_SLOTS; i++) n->slot[i] = &s->empty;
  store(&n->function, function);
}

/* append puts a block at a tree's end; a signal handler may do so at the same time. */
static void append(struct tree *t, struct block *b) {
  struct block *last = load(&t->last), *next = 0;
  while (!__atomic_compare_exchange_n(&last->next, &next, b, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) last = next, next = 0;
  store(&t->last, b);
}

/* place returns room for a node. */
static struct node *place(struct trees *s, struct tree *t) {
  for (;;) {
    u64 old = load(&t->position), at = old;
    struct block *b = 0;
    if (old % BLOCK == 0 || old % BLOCK + NODE > BLOCK) {
      if (!(b = new_block(s, t))) return 0;
      at = (uword)b + NODE;
    }
    if (!__atomic_compare_exchange_n(&t->position, &old, at + NODE, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    if (b) append(t, b);
    return (struct node *)(uword)at;
  }
}

static struct node *find_child(struct node *parent, u64 function) {
  struct node *n = load(&parent->first);
  while (n && n->function != function) n = n->next;
  return n;
}

/* make creates a child of a node; 0 if there is no room. */
static struct node *make(struct trees *s, struct node *parent, u64 function, u32 behind, u32 flags) {
  struct node *n = place(s, block_of(parent)->tree);
  if (!n) return 0;
  init(s, n, parent, function, behind, flags);
  n->next = load(&parent->first);
  while (!__atomic_compare_exchange_n(&parent->first, &n->next, n, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ;
  return n;
}

/* ---- trees ---- */

static struct tree *make_tree(struct trees *s, i32 owner) {
  struct block *b = new_block(s, 0);
  if (!b) return 0;
  struct tree *t = b->tree = &b->own;
  t->last = b;
  t->owner = owner;
  t->position = (uword)b + 2 * NODE;
  init(s, root_of(t), 0, TREE_ROOT, 0, 0);
  return t;
}

/* join_node adds a node's counts to the tree of ended threads. It returns 0 if the parent has not
 * been added yet. */
static int join_node(struct trees *s, struct node *n, u64 c) {
  struct node *parent = n->parent->into, *m = parent;
  u32 open;
  if (!parent) return 0;
  if (parent != &s->lost && !(m = find_child(parent, n->function)) && !(m = make(s, parent, n->function, n->behind, n->flags & TREE_FLAGS)))
    m = &s->lost;
  n->into = m;
  m->calls += n->calls;
  m->time += (i64)__cairn_tree_time(n->time, c, &open);
  m->unwound += n->unwound + open;
  m->longest = most(m->longest, open && n->flags & TREE_LONGEST ? most(n->longest, c - n->stamp) : n->longest);
  n->calls = n->longest = 0;
  n->time = 0;
  n->unwound = 0;
  return 1;
}

/* join adds the calls of an ended thread to those that ended before. Its tree remains, with its
 * counts set to zero. */
static void join(struct trees *s, struct tree *t, u64 c) {
  u64 left = 0, before;
  root_of(t)->into = root_of(s->ended);
  do {
    before = left;
    left = 0;
    for_nodes(n, t)
      if (n->parent && !n->into) left += !join_node(s, n, c);
  } while (left && left != before); /* parents precede their children, except for nodes that signal handlers created */
  for_nodes(n, t) {
    n->into = 0;
    n->flags &= TREE_FLAGS;
  }
  s->ended->ended++;
}

/* reuse_tree returns the tree of an ended thread, or 0. It examines only a few trees: enough, as
 * many of them belong to ended threads by then. */
static struct tree *reuse_tree(struct process *p, struct trees *s) {
  u64 mask = block_most();
  struct tree *found = 0;
  if (!__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE)) {
    for (u32 i = 0; i < TREE_LOOKS && !found; i++) {
      struct tree *t = s->look ? s->look : load(&s->list);
      s->look = t->next;
      if (!t->owner || tree_ended(p, t)) found = t;
    }
    if (found && !s->ended) s->ended = make_tree(s, 0);
    if (!s->ended) found = 0;
    if (found) {
      join(s, found, clock_word(p));
      keep_thread(found);
      store(&found->owner, thread_number());
    }
    store(&s->lock, 0);
  }
  unblock(mask);
  return found;
}

/* new_tree gives the calling thread a tree and returns its root. */
static struct node *new_tree(struct process *p, struct trees *s) {
  struct tree *t = load(&s->count) >= TREE_KEPT ? reuse_tree(p, s) : 0;
  if (t) return root_of(t);
  if (!(t = make_tree(s, thread_number()))) return &s->lost;
  keep_thread(t);
  add(&s->count, 1);
  t->next = load(&s->list);
  while (!__atomic_compare_exchange_n(&s->list, &t->next, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ;
  return root_of(t);
}

/* ---- what inserted code comes for ---- */

/* child returns the node of a function below the current one. Before code, which identifies the
 * function, are its distance from the function's start, and a byte with the number of its slot and
 * flags. */
struct node *__cairn_tree_child(const u8 *code) {
  struct node *parent = current_node(), *n;
  struct trees *s = trees_of(__cairn_state);
  u64 function = (uword)code;
  u32 behind = 0, flags = code[-1];
  if (!s) return &sink; /* there is no room at all: the node is never read */
  if (parent->function == TREE_NONE) parent = new_tree(__cairn_state, s);
  if (parent->function == TREE_LOST || parent->function == TREE_DEEP) return parent;
  int deep = parent->depth >= __cairn_tree_depth;
  if (deep) function = TREE_DEEP;
  else copy(&behind, code - 5, 4);
  if (!(n = find_child(parent, function)) && !(n = make(s, parent, function, behind, flags))) return &s->lost;
  if (deep) return n;
  store(&__cairn_tree_table[tree_place(parent, function)], n);
  parent->slot[flags & TREE_SLOT] = n;
  return n;
}

/* forget_call removes the node from the state of its call, which others would find there on Armv7. */
static void forget_call(struct node *n) {
#if __arm__
  struct node **at = (struct node **)slot(__cairn_state, n->sp);
  if (*at == n) *at = 0;
#endif
}

/* leave_to makes m the current node. Nodes below it were left without an exit. */
static void leave_to(struct node *m) {
  u64 c = clock_word(__cairn_state);
  for (struct node *n = current_node(); n != m; n = n->parent) {
    forget_call(n);
    if (n->time >= 0) continue;
    n->time += (i64)c;
    n->unwound++;
  }
  set_node(m);
}

/* find makes the node of the innermost live call of a function the current one. Nodes deeper in the
 * tree have lower stack pointers. */
void __cairn_tree_find(u64 function, u64 sp) {
  struct node *m = current_node();
  while (m->parent && !(m->function == function && (i32)(m->sp - (u32)sp) > 0)) {
    if (m->parent == m) return;
    m = m->parent;
  }
  if (m->parent) leave_to(m);
}

static struct node *node_at(u64 sp) { return *(struct node **)slot(__cairn_state, sp); }

/* suspend ends the time of the open calls from n up to a node, without ending the calls. It returns
 * that node, or the first one without an open call: what called that is no caller of n any more. */
static struct node *suspend(struct node *n, const struct node *end, u64 c) {
  for (; n != end && n->parent && n->parent != n && n->time < 0; n = n->parent) {
    n->time += (i64)c;
    n->flags += TREE_SUSPENDED;
  }
  return n;
}

/* resume lets the time of suspended calls pass again, and returns as suspend does. */
static struct node *resume(struct node *n, const struct node *end, u64 c) {
  for (; n != end && n->parent && n->parent != n; n = n->parent) {
    if (n->flags >= TREE_SUSPENDED) {
      n->flags -= TREE_SUSPENDED;
      n->time -= (i64)c;
    } else if (n->time >= 0) {
      break;
    }
  }
  return n;
}

/* common returns the innermost node that is n and m or a caller of both, 0 if they are in different
 * trees. */
static struct node *common(struct node *n, struct node *m) {
  while (n && m && n != m)
    if (n->depth >= m->depth) n = n->parent == n ? 0 : n->parent;
    else m = m->parent == m ? 0 : m->parent;
  return n == m ? n : 0;
}

/* switch_to makes m the current node: the calls of the node before may continue later. The common
 * callers call both, unless a call in between has ended, as the one that made a coroutine has. */
static void switch_to(struct node *m) {
  struct node *n = current_node();
  if (n == m) return;
  struct node *callers = common(n, m);
  u64 c = clock_word(__cairn_state);
  int called = suspend(n, callers, c) == callers, calls = resume(m, callers, c) == callers;
  if (callers && called && !calls) suspend(callers, 0, c);
  if (callers && !called && calls) resume(callers, 0, c);
  set_node(m);
}

/* at makes the node of the call with stack pointer sp at entry the current one. */
void __cairn_tree_at(u64 sp) {
  struct node *m = node_at(sp), *n = current_node();
  while (n != m && n->parent && n->parent != n) n = n->parent;
  if (n == m) leave_to(m);
  else if (m) switch_to(m);
}

/* switch does that after a switch of stacks: calls on the other stack may continue. */
void __cairn_tree_switch(u64 sp) {
  struct node *m = node_at(sp);
  if (m) switch_to(m);
}

/* Records of the call tree in the log, which are updated in place every second and at the end; and
 * fork. */

#include "tree.h"

/* time returns a node's time in microseconds up to c, and sets open to the number of its open
 * calls. Switches between coroutines may have ended a call twice. */
u64 __cairn_tree_time(i64 time, u64 c, u32 *open) {
  *open = 0;
  for (; time < 0 && *open < 1000; ++*open) time += (i64)c;
  for (u32 n = 0; time >= (i64)TREE_RUNNING && n < 1000; n++) time -= (i64)c;
  return time < 0 ? 0 : (u64)time; /* read during a change */
}

/* record returns the record with a number, and maps its chunk. */
static u8 *record(struct process *p, struct trees *s, u32 number) {
  enum { EACH = (LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) / LOG_NODE_SIZE };
  u32 chunk = (number - 1) / EACH;
  if (chunk >= TREE_CHUNKS) return 0;
  if (!s->chunk[chunk]) {
    u8 *c = __cairn_file_chunk(p, LOG_KIND_TREE, log_time(p));
    if (!c) return 0;
    *(u64 *)(c + LOG_CHUNK_NUMBER_OFFSET) = number;
    s->chunk[chunk] = c;
    s->chunks = chunk + 1;
  }
  return s->chunk[chunk] + LOG_CHUNK_HEADER_SIZE + (number - 1) % EACH * LOG_NODE_SIZE;
}

/* new_record allocates the next number. */
static u8 *new_record(struct process *p, struct trees *s, u32 *number, u32 type, u32 a) {
  u8 *r = record(p, s, s->records + 1);
  if (!r) return 0;
  *number = ++s->records;
  ((u32 *)r)[1] = a;
  ((u16 *)r)[1] = LOG_NODE_SIZE;
  store((u16 *)r, (u16)type);
  return r;
}

/* write_node writes the counts of a node; 0 if its parent has no record yet. */
static int write_node(struct process *p, struct trees *s, struct tree *t, struct node *n, u64 c) {
  u64 calls = load(&n->calls), longest = load(&n->longest);
  i64 so_far = load(&n->time);
  u32 open, flags = n->flags & TREE_UNTIMED ? LOG_NODE_UNTIMED : 0;
  u64 *f;
  if (n->function == TREE_DEEP) {
    t->deeper += calls;
    return 1;
  }
  if (!n->number) {
    if (!calls && !so_far && !(n->flags & TREE_FORKED)) return 1;
    u32 parent = n->parent->parent ? n->parent->number : t->number;
    if (!parent) return 0;
    if (!(f = (u64 *)new_record(p, s, &n->number, LOG_TYPE_NODE, parent))) return 1;
    f[1] = (n->function & TREE_ADDRESS) - n->behind;
  } else {
    f = (u64 *)record(p, s, n->number);
  }
  flags |= (u32)(n->function >> TREE_GONE_SHIFT) << LOG_NODE_MODULE_SHIFT;
  u64 time = __cairn_tree_time(so_far, c, &open);
  if (n->flags & TREE_LONGEST) {
    flags |= LOG_NODE_LONGEST;
    if (open) longest = most(longest, less(c, load(&n->stamp)));
  }
  f[2] = calls, f[3] = time * 1000, f[4] = n->unwound, f[5] = (u64)flags << 32 | (open + n->flags / TREE_SUSPENDED), f[6] = longest * 1000;
  return 1;
}

static void write_tree(struct process *p, struct trees *s, struct tree *t, u64 c) {
  u32 *r = t->number ? (u32 *)record(p, s, t->number) : (u32 *)new_record(p, s, &t->number, LOG_TYPE_TREE, 0);
  if (!r) return;
  r[1] = (u32)t->owner;
  ((u64 *)r)[1] = t->ended;
  for (int i = 0, all = 0; i < 3 && !all; i++) {
    all = 1;
    t->deeper = 0;
    for_nodes(n, t)
      if (n->parent) all &= write_node(p, s, t, n, c);
  }
}

/* end_open_calls ends the calls that were open when their thread ended. */
static void end_open_calls(struct tree *t, u64 c) {
  for_nodes(n, t)
    if (n->time < 0) n->time += (i64)c, n->unwound++;
}

/* write runs in the thread that writes the log. */
void __cairn_tree_write(struct process *p, int final) {
  struct trees *s = load(&p->stacks.trees);
  u64 now = __cairn_now(p), c = clock_word(p);
  u32 before = s->records;
  if (!final && now < s->due) return;
  if (!begin_file(p)) return;
  lock(&s->lock);
  if (!s->records) __cairn_file_header(p); /* which was written before there was a tree */
  u64 deeper = 0;
  for (struct tree *t = load(&s->list); t; t = t->next) {
    int dead = t->owner && tree_ended(p, t);
    if (dead) end_open_calls(t, c);
    if (t->owner) write_tree(p, s, t, c);
    if (dead) t->owner = 0;
    deeper += t->deeper;
  }
  if (s->ended) {
    write_tree(p, s, s->ended, c);
    deeper += s->ended->deeper;
  }
  u64 *first = s->records ? (u64 *)record(p, s, 1) : 0;
  if (first) first[2] = s->lost.calls, first[3] = deeper;
  unlock(&s->lock);
  write_modules(p, s->records != before);
  /* Soon at first: a program may be killed before it has run for a second. */
  s->pause = s->pause ? least(2 * s->pause, SECOND) : 10 * MS;
  p->stacks.pause = most(s->pause, 20 * (__cairn_now(p) - now));
  s->due = now + p->stacks.pause;
}

/* retire writes the nodes of a module that is unloaded, and changes their functions, so that those of
 * a module that is loaded at the same address get nodes of their own. */
void __cairn_tree_retire(struct process *p, u64 start, u64 end, u32 number) {
  struct trees *s = load(&p->stacks.trees);
  u64 gone = least(number + 1ull, 0xffff) << TREE_GONE_SHIFT;
  if (!s) return;
  __cairn_tree_write(p, 1);
  lock(&s->lock);
  for (struct tree *t = load(&s->list), *ended = s->ended; t || ended; t = t ? t->next : 0) {
    struct tree *at = t ? t : ended;
    if (!t) ended = 0;
    for_nodes(n, at)
      if (n->function >= start && n->function < end) {
        store(&n->function, n->function | gone);
        if (n->number) ((u32 *)record(p, s, n->number))[11] |= (u32)(gone >> TREE_GONE_SHIFT) << LOG_NODE_MODULE_SHIFT;
      }
  }
  unlock(&s->lock);
}

/* revive undoes that for a module that is loaded again at the same address, of that number. */
static void revive(struct process *p, u32 number) {
  struct trees *s = load(&p->stacks.trees);
  u64 gone = (number + 1ull) << TREE_GONE_SHIFT;
  if (!s || number >= 0xfffe) return;
  lock(&s->lock);
  for (struct tree *t = load(&s->list), *ended = s->ended; t || ended; t = t ? t->next : 0) {
    struct tree *at = t ? t : ended;
    if (!t) ended = 0;
    for_nodes(n, at)
      if ((n->function & ~TREE_ADDRESS) == gone) store(&n->function, n->function & TREE_ADDRESS);
  }
  unlock(&s->lock);
}

#if !_WIN32 && !__APPLE__
void __cairn_tree_revive(struct process *p, u64 start) {
  struct gone *m = __cairn_gone(p, start, 0, __cairn_id_at(p, start));
  if (m) revive(p, m->number);
}

/* reserve allocates chunks for the first nodes: at the end the program may have no descriptors
 * left, or may not extend a file. */
void __cairn_tree_reserve(struct process *p, struct trees *s) {
  if (!load(&p->log.file.first)) return;
  lock(&s->lock);
  record(p, s, 1);
  unlock(&s->lock);
}

/* leaving writes the log if the process is about to end without the C library, or to run another
 * program. A child that does so at once has no log. */
void __cairn_tree_leaving(u64 ends) {
  struct process *p = __cairn_state;
  if (!p || p->off || !load(word(p, ALIVE)) || sys0(SYS_getpid) != p->pid) return;
  if (!ends && p->forked && p->log.file.fd < 0 && less(__cairn_now(p), p->fork_time) < 100 * MS) return;
  if (ends) store(&p->ended, 1);
  __cairn_flush(p);
}

#endif

#ifndef _WIN32
/* forget subtracts everything counted so far from a tree. */
static void forget(struct tree *t) {
  for_nodes(n, t) {
    n->calls = n->longest = 0;
    n->time = 0;
    n->unwound = n->number = 0;
    n->into = 0;
    if (n->function > TREE_ADDRESS) n->function = TREE_FORGOTTEN;
  }
}

/* forked keeps the tree of the child's thread, with all counts zero; open calls begin now. */
void __cairn_tree_forked(struct process *p) {
  struct trees *s = p->stacks.trees;
  struct node *current = current_node();
  u64 c = clock_word(p);
  for (u32 i = 0; i < s->chunks; i++) {
    if (s->chunk[i]) unmap_chunk(s->chunk[i]);
    s->chunk[i] = 0;
  }
  s->chunks = s->records = s->lock = s->count = 0;
  s->lost.calls = 0;
  s->due = s->pause = 0;
  s->list = s->look = s->ended = 0;
  if (current->function == TREE_NONE || current->function == TREE_LOST) return;
  struct tree *t = block_of(current)->tree;
  t->next = 0;
  t->number = 0;
  t->owner = thread_number();
  s->list = t;
  s->count = 1;
  forget(t);
  for (struct node *n = current; n->parent; n = n->parent) {
    n->stamp = c;
    n->flags |= TREE_FORKED;
    if (!(n->flags & TREE_UNTIMED)) n->time = -(i64)c;
    if (has_new_window(p)) *(struct node **)slot(p, n->sp) = n; /* the window is a new one */
  }
}
#endif

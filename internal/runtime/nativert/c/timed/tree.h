/* The runtime of mode stacks: the tree of calls of each thread.
 *
 *   tree_enter_MACHINE.S  where inserted code comes to
 *   tree.c        nodes and threads
 *   tree_log.c    what the log says of them, and fork */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#ifdef _WIN32
#include "coff_tree.h"
#elif __APPLE__
#include "macho_tree.h"
#else
#include "timed.h"

/* What of the system is different on others, as coff_tree.h and macho_tree.h have it. */
#define own_node() (own_local()->node)
#define set_node(n) (own_local()->node = (n))
#define unmap_chunk(c) __cairn_file_unmap(c)
#define has_new_window(p) ((p)->shared)
#define thread_number() ((i32)sys0(SYS_gettid))
#define tree_ended(p, t) (sys3(SYS_tgkill, (p)->pid, (t)->owner, 0) == -ESRCH)
#define keep_thread(t) ((void)0)
#define has_memory(block) 1
#define reserve_nodes(size) map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
#define may_have_nodes(p) ((p)->mask && (p)->stacks.write) /* not if all calls share one slot; or in another mode */
#define log_time(p) ((p)->time.clock->last_tick)
#if __arm__
#define TREES_MOST (1ull << 28)
#endif
#define begin_file(p) __cairn_begin(p)
#define write_modules(p, more) ((more) || (p)->modules.stale ? __cairn_modules(p) : (void)0)
#endif

/* A node is a stack: a function below the node of its caller. Inserted code and
 * tree_enter_MACHINE.S depend on the offsets. The time is the sum of the clock at exits less the
 * sum at entries. As the clock starts at TREE_RUNNING, the time is negative while a call is open;
 * adding the clock then gives the time so far. */
enum { TREE_SLOTS = 12 };

struct node {
  struct node *parent;
  u64 function; /* inserted code compares it: an address after the function's start */
  u64 calls;
  i64 time; /* microseconds; see TREE_UNTIMED */
  struct node *first, *next; /* children; next child of the parent */
  u32 sp; /* at the last entry, its low half: shows which nodes an exception left */
  u32 number; /* of its record in the log, from 1; 0: none yet */
  u32 unwound; /* calls that an exception or a longjmp left */
  u32 behind;  /* distance of that address from the function's start */
  struct node *slot[TREE_SLOTS]; /* functions look up their nodes here */
  u64 stamp;   /* the clock at the last entry */
  u64 longest; /* the longest call, if TREE_LONGEST */
  u32 depth;   /* 0 for the root */
  u32 flags;   /* those before the code that asks for the node, and the number of suspended calls */
  struct node *into; /* while trees are joined: the corresponding node of the other tree */
};

/* Before the code that asks for a node is a byte with the number of its slot and these flags.
 * TREE_FORKED occurs only in nodes: it marks a call that was open when the child was made by fork,
 * which is not counted but has a record. */
enum { TREE_SLOT = 15, TREE_FORKED = 32, TREE_UNTIMED = 64, TREE_LONGEST = 128 };

/* Above them is the number of open calls that are suspended: those of coroutines of which another
 * runs. Time passes only for the calls of the current node and its callers. */
enum { TREE_SUSPENDED = 256, TREE_FLAGS = TREE_SUSPENDED - 1 };

/* A tree consists of blocks of a page: a header in place of the first node, then nodes. The first
 * node of the first block is the root. */
enum { BLOCK = 4096, NODE = sizeof(struct node) };
#if __arm__
_Static_assert(__builtin_offsetof(struct node, sp) == 40 && __builtin_offsetof(struct node, slot) == 56 && __builtin_offsetof(struct node, stamp) == 104 && __builtin_offsetof(struct node, flags) == 124, "as tree_enter_arm.S has it");
#else
_Static_assert(NODE == 192 && __builtin_offsetof(struct node, stamp) == 160, "as inserted code has it");
#endif

struct tree {
  struct tree *next;
  i32 owner;    /* tid; 0: the thread has ended, and everything is written */
  u32 number;   /* of its record */
  u64 position; /* address of the next node; 0: in a new block */
  u64 ended;    /* number of threads whose calls were added */
  u64 deeper;   /* calls below the greatest depth, at the last writing */
  struct block *last;
  void *thread; /* on Windows its handle, on macOS not 0 if it has ended */
};
struct block {
  struct block *next;
  struct tree *tree;
  struct tree own; /* in a tree's first block: the tree */
};
_Static_assert(sizeof(struct block) <= NODE, "the head has room");

/* The state that the modules of a process share, at the start of the memory for blocks.
 *
 * A thread that ends leaves its tree. When there are TREE_KEPT trees, a new thread takes the tree
 * of an ended one, whose calls are first added to the tree "ended". So the memory depends on the
 * number of threads that run at the same time. A thread that joins or writes trees holds the lock. */
enum { TREE_CHUNKS = 130000, TREE_HEAD = 2 << 20, TREE_KEPT = 128, TREE_LOOKS = 4 };
struct trees {
  u64 used, size;
  u64 due, pause; /* of the next writing */
  u32 records, chunks;
  u32 lock, count;
  struct tree *list; /* only ever grows */
  struct tree *look; /* where the search for an ended thread continues */
  struct tree *ended;
  struct node empty; /* the slots of new nodes refer to this one */
  struct node lost;  /* for calls without room for a node; it is its own parent */
  u8 *chunk[TREE_CHUNKS]; /* of the log, mapped */
};
_Static_assert(sizeof(struct trees) <= TREE_HEAD, "the head has room");

/* Special values of function in nodes. A TREE_DEEP node is below a node at the greatest depth, for
 * all calls from there. A TREE_FORGOTTEN node is of a module that a parent process has unloaded. */
enum { TREE_ROOT = 0, TREE_NONE = 1, TREE_LOST = 2, TREE_DEEP = 3, TREE_FORGOTTEN = 4 };
extern u32 __cairn_tree_depth HIDDEN;

HIDDEN extern struct node __cairn_tree_none, __cairn_tree_empty;

/* current_node returns the node of the innermost call of this thread. */
INLINE struct node *current_node(void) {
  struct node *n = own_node();
#if __ANDROID__ || __APPLE__
  if (!n) return &__cairn_tree_none;
#endif
  return n;
}

/* In the upper bits of the function of a node is the number of its module plus one, if that is no
 * longer loaded: another module may be at its addresses. */
enum { TREE_GONE_SHIFT = 48 };
#define TREE_ADDRESS ((1ull << TREE_GONE_SHIFT) - 1)

/* Nodes by parent and function, for those that are not in a slot. */
enum { TREE_TABLE = 8192 };
extern struct node *__cairn_tree_table[TREE_TABLE] HIDDEN;
#define tree_place(parent, function) \
  ((u32)(((uword)(parent) * (u64)-1640531535 + (function) * (u64)-2048144777) >> 16) & (TREE_TABLE - 1))

INLINE struct block *block_of(void *node) { return (struct block *)((uword)node & -(uword)BLOCK); }
INLINE struct node *root_of(struct tree *t) { return (struct node *)((u8 *)block_of(t) + NODE); }

/* next_node returns the node after n in a tree, 0 if there is none. */
INLINE struct node *next_node(struct node *n) {
  do {
    struct block *b = block_of(n);
    if (++n, (uword)n + NODE > (uword)b + BLOCK) {
      if (!(b = load(&b->next))) return 0;
      n = (struct node *)((u8 *)b + NODE);
    }
  } while (!load(&n->function)); /* not made yet */
  return n;
}
/* for_nodes walks a tree from its root. */
#define for_nodes(n, t) for (struct node *n = root_of(t); n; n = next_node(n))

#ifndef TREES_MOST
#define TREES_MOST (1ull << 33) /* bytes */
#endif

#define clock_word(p) load((u64 *)((p)->base + TREE_CLOCK))

HIDDEN struct node *__cairn_tree_child(const u8 *code);
HIDDEN void __cairn_tree_find(u64 function, u64 sp);
HIDDEN void __cairn_tree_at(u64 sp);
HIDDEN void __cairn_tree_switch(u64 sp);
HIDDEN u64 __cairn_tree_time(i64 time, u64 c, u32 *open);
HIDDEN void __cairn_tree_write(struct process *p, int final);
HIDDEN void __cairn_tree_reserve(struct process *p, struct trees *s);
HIDDEN void __cairn_tree_forked(struct process *p);
HIDDEN void __cairn_tree_retire(struct process *p, u64 start, u64 end, u32 number);
HIDDEN void __cairn_tree_revive(struct process *p, u64 start);
HIDDEN void __cairn_tree_leaving(u64 ends);

#endif

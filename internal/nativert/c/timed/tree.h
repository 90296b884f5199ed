/* The runtime of mode stacks: the tree of calls of each thread.
 *
 *   tree_enter.S  where inserted code comes to
 *   tree.c        nodes, threads, fork, and what the log says of them */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#include "timed.h"

/* A node is a stack: a function below the node of its caller. Inserted code and
 * tree_enter.S know the offsets. The time is the sum of the clock at exits less the sum
 * at entries. As the clock is TREE_RUNNING and up, it is negative while a call is
 * being made, and what is still to be added is the clock of the end. */
enum { TREE_SLOTS = 8 };

struct node {
  struct node *parent;
  u64 function; /* what inserted code compares: an address behind its start */
  u64 calls;
  i64 time; /* microseconds */
  struct node *first, *next; /* children; next child of the parent */
  u32 sp; /* at the last entry, its low half: tells what an exception left */
  u32 number; /* of its record in the log, from 1; 0: none yet */
  u32 unwound; /* calls that an exception or a longjmp left */
  u32 behind;  /* the function's start, so far */
  struct node *slot[TREE_SLOTS]; /* where functions look for theirs */
};

/* A tree is in blocks of a page: a head in the place of a node, then nodes. The
 * first node of the first block is the root. */
enum { BLOCK = 4096, NODE = sizeof(struct node) };
_Static_assert(NODE == 64 + 8 * TREE_SLOTS, "as inserted code has it");

struct tree {
  struct tree *next;
  i32 owner;    /* tid; 0: the thread is gone, and all is written */
  u32 number;   /* of its record */
  u64 position; /* where the next node goes; 0: in a new block */
  struct block *last;
};
struct block {
  struct block *next;
  struct tree *tree;
  struct tree own; /* in a tree's first block: the tree */
};

/* What the modules of a process share, at the start of the room for blocks. */
enum { TREE_CHUNKS = 130000, TREE_HEAD = 1 << 20 };
struct trees {
  u64 used, size;
  u64 written_at, took;
  u32 records, chunks;
  struct tree *list; /* only ever grows */
  struct node empty; /* what functions see that have not been called here */
  struct node lost;  /* of calls that there is no room for; its parent is itself */
  u8 *chunk[TREE_CHUNKS]; /* of the log, mapped */
};
_Static_assert(sizeof(struct trees) <= TREE_HEAD, "the head has room");

/* Functions that nodes have which are none. */
enum { TREE_ROOT = 0, TREE_NONE = 1, TREE_LOST = 2 };

extern __thread struct node *__cairn_node __attribute__((tls_model("initial-exec"), visibility("default")));
HIDDEN extern struct node __cairn_tree_none, __cairn_tree_empty;

/* Nodes by parent and function, for those that have no slot. */
enum { TREE_TABLE = 8192 };
extern struct node *__cairn_tree_table[TREE_TABLE] HIDDEN;
#define tree_place(parent, function) \
  ((u32)(((u64)(parent) * (u64)-1640531535l + (function) * (u64)-2048144777l) >> 16) & (TREE_TABLE - 1))

HIDDEN struct node *__cairn_tree_child(const u8 *function);
HIDDEN void __cairn_tree_find(u64 function, u64 sp);

#endif

/* The depth of a thread's calls, for mode trace with --depth, as c/timed/trace_depth.c and trace_depth_MACHINE.S have it. In the slots behind
 * its position a thread has the stack pointer of the last recorded call once these have reached the depth, else 0, which inserted code
 * compares with its own; and the list of the stack pointers of its recorded open calls. Images of several depths, and of none, share them. */

#ifndef CAIRN_TRACE_DEPTH
#define CAIRN_TRACE_DEPTH 0 /* this image has no limit */
#endif

enum { DEEPEST = 8, LIST = 16, MOST_DEPTH = 64 };
_Static_assert(CAIRN_TRACE_DEPTH <= MOST_DEPTH && LIST / 8 == KEYS - 1, "");

struct deep_list {
  u64 count, call[MOST_DEPTH];
};

static void set_deepest(u64 sp) { set_slot(8 * shared.process->key + DEEPEST, sp); }

static void depth_ends(void *list) {
  set_deepest(0);
  munmap(list, sizeof(struct deep_list));
}

#if CAIRN_TRACE_DEPTH
/* own_list returns the list of this thread, which it makes. Without memory there is none, and calls are recorded that are deeper. */
static struct deep_list *own_list(struct process *p, u8 *vectors) {
  struct deep_list *l = (struct deep_list *)own_slot(8 * p->key + LIST);
  if (l) return l;
  u64 saved = begin_system(vectors);
  l = mmap(0, sizeof *l, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (l == (struct deep_list *)-1) l = 0;
  else pthread_setspecific(p->key + LIST / 8, l);
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
  (void)sp;
  if (!shared.process) {
    u64 saved = begin_system(vectors);
    start();
    end_system(saved, vectors);
  }
  struct deep_list *l = list_above(r, vectors);
  if (!l) return 0;
  if (l->count < MOST_DEPTH) l->call[l->count++] = r;
  set_deepest(l->count >= CAIRN_TRACE_DEPTH ? r : 0);
  return 0;
}

/* of_trace_upper: a recorded call ends. */
static u64 of_trace_upper(u64 r, u8 *vectors, u64 sp) {
  (void)sp;
  if (list_above(r, vectors)) set_deepest(0);
  return 0;
}

ROUTINE(trace_deeper)
ROUTINE(trace_upper)

/* ---- stacks that are left ---- */

/* A stack that another one takes the thread from leaves the list, and the other one begins with none. */
#define KEPT_DEPTH MOST_DEPTH
#include "depth_places.h"

static struct kept_list *kept_lists(u8 *vectors) {
  static struct kept_list *all;
  if (!load(&all)) {
    u64 saved = begin_system(vectors);
    struct kept_list *l = mmap(0, PLACES * sizeof *l, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (l != (struct kept_list *)-1) store(&all, l);
    end_system(saved, vectors);
  }
  return load(&all);
}

static u64 of_depth_leaves(u64 r, u8 *vectors, u64 sp) {
  struct deep_list *l = list_above(sp, vectors);
  struct kept_list *all = l ? kept_lists(vectors) : 0;
  if (!l) return r;
  if (all) keep_list(all, sp, l->call, l->count);
  l->count = 0;
  set_deepest(0);
  return r;
}

static u64 of_depth_returns(u64 r, u8 *vectors, u64 sp) {
  struct deep_list *l = list_above(0, vectors);
  struct kept_list *all = l ? kept_lists(vectors) : 0;
  if (!l) return r;
  l->count = all ? kept_calls(all, sp, l->call) : 0;
  set_deepest(l->count >= CAIRN_TRACE_DEPTH ? l->call[l->count - 1] : 0);
  return r;
}

ROUTINE(depth_leaves)
ROUTINE(depth_returns)
#endif

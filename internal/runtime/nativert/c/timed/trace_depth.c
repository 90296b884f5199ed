/* The depth of calls on several stacks, for mode trace with --depth: see trace_depth_MACHINE.S. The list of a thread's
 * recorded calls is that of the stack that runs. A call that continues on another stack (swapcontext, Boost.Context)
 * leaves it, by the stack pointer at that call, and another stack begins with none: its calls have depths of their own.
 * Behind the call the list is that stack's again, whatever thread it runs in. Places are few and shared: a stack that
 * lost its place begins again with depth 1, so that more is recorded. */

#include "trace.h"

enum { PLACES = 4096, SHIFT = 4 };

static struct kept {
  u64 key; /* 0: being written */
  u64 count, call[CAIRN_TRACE_DEPTH ? CAIRN_TRACE_DEPTH : 1];
} kept[PLACES];

static struct kept *place_of(u64 sp) { return &kept[((sp >> SHIFT) * 0x9e3779b97f4a7c15ul >> 32) % PLACES]; }

HIDDEN void __cairn_depth_left(u64 sp);
HIDDEN void __cairn_depth_returned(u64 sp);

void __cairn_depth_left(u64 sp) {
  struct trace_local *l = own_local();
  struct kept *k = place_of(sp);
  store(&k->key, 0);
  while (l->count && l->call[l->count - 1] <= sp) l->count--; /* they have ended */
  k->count = least(l->count, CAIRN_TRACE_DEPTH);
  for (u64 i = 0; i < k->count; i++) k->call[i] = l->call[i];
  store(&k->key, sp);
  l->count = l->deepest = 0;
}

void __cairn_depth_returned(u64 sp) {
  struct trace_local *l = own_local();
  struct kept *k = place_of(sp);
  l->count = load(&k->key) == sp ? k->count : 0;
  for (u64 i = 0; i < l->count; i++) l->call[i] = k->call[i];
  l->deepest = l->count && l->count >= CAIRN_TRACE_DEPTH ? l->call[l->count - 1] : 0;
}

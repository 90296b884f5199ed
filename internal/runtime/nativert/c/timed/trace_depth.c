/* The depth of calls on several stacks, for mode trace with --depth: see trace_depth_MACHINE.S. The list of a thread's
 * recorded calls is that of the stack that runs. A call that continues on another stack (swapcontext, Boost.Context)
 * leaves it (depth_places.h), and another stack begins with none: its calls have depths of their own.
 * Behind the call the list is that stack's again, whatever thread it runs in. */

#include "trace.h"

#define KEPT_DEPTH (CAIRN_TRACE_DEPTH ? CAIRN_TRACE_DEPTH : 1)
#include "depth_places.h"

static struct kept_list kept[PLACES];

HIDDEN void __cairn_depth_left(u64 sp);
HIDDEN void __cairn_depth_returned(u64 sp);

void __cairn_depth_left(u64 sp) {
  if (__cairn_plain) return; /* no call is recorded: see trace_guest.c */
  struct trace_local *l = own_local();
  while (l->count && l->call[l->count - 1] <= sp) l->count--; /* they have ended */
  keep_list(kept, sp, l->call, l->count);
  l->count = l->deepest = 0;
}

void __cairn_depth_returned(u64 sp) {
  if (__cairn_plain) return;
  struct trace_local *l = own_local();
  l->count = kept_calls(kept, sp, l->call);
  l->deepest = l->count && l->count >= CAIRN_TRACE_DEPTH ? l->call[l->count - 1] : 0;
}

/* Fibers in mode spike: a stack is known by its base. */

static u8 *anonymous(u64 size) { return VirtualAlloc(0, size, MEM_RESERVE | MEM_COMMIT, READWRITE); }
#define release(at, size) VirtualFree(at, 0, MEM_RELEASE)

#include "away.h"

/* fiber_goes returns when the stack stops. */
static void *fiber_goes(u64 frame) {
  if (state->flight.recorder) state->flight.switched(frame, 0);
  return (void *)now(state);
}

/* fiber_comes adds the time since then. */
static void fiber_comes(u64 frame, void *since) {
  u64 e = now(state);
  if (state->flight.recorder) state->flight.switched(frame, 1);
  note_away(state, suspended_of(state, stack_base(), 1), (u64)since, e);
}

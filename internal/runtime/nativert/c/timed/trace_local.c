/* What a process has once for all of its modules, in mode trace: as timed_local.c. */

#include "trace.h"

HIDDEN const u8 __cairn_has_local = 0;
struct tracer __cairn_traced SHARED __attribute__((aligned(4096)));

#if __ANDROID__

#include "slot.h"

SLOT_NOTE("__cairn_traced", "2");

static int is_made(void *variable, void *to) {
  struct tracer *t = variable;
  if (!load(&t->bus)) return 0;
  *(struct tracer **)to = t;
  return 1;
}

struct tracer *__cairn_trace_find(void) {
  struct tracer *t = &__cairn_traced;
  find_noted(TRACER_NOTE, is_made, &t);
  if (t == &__cairn_traced) take_slot();
  return t;
}

u64 __cairn_own_local(void) { return SLOT; }

#else

__thread struct trace_local __cairn_locals HIDDEN = {.position = TRACE_NONE};

u64 __cairn_own_local(void) { return (uword)&__cairn_locals - thread_pointer(); }

#endif

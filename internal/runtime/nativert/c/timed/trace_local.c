/* What a process has once for all of its modules, in mode trace: as timed_local.c. */

#include "trace.h"

HIDDEN const u8 __cairn_has_local = 0;
struct tracer __cairn_traced __attribute__((visibility("default"), aligned(4096)));

__thread struct trace_local __cairn_locals HIDDEN = {.position = TRACE_NONE};

u64 __cairn_own_local(void) { return (u64)&__cairn_locals - thread_pointer(); }

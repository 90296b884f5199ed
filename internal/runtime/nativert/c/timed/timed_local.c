/* What a process has once for all of its modules: where they find each other, and what each thread
 * has. An executable has this member, and so does the library that modules load in a process whose
 * executable has no runtime (timed_guest.c). A library that is unloaded must not have it: its
 * thread-local storage would be a part of the little that programs have for libraries that are
 * loaded later. */

#include "tree.h"

HIDDEN const u8 __cairn_has_local = 0;
struct process *__cairn_process __attribute__((visibility("default")));

__thread struct local __cairn_locals HIDDEN = {
#ifdef CAIRN_TREES
    .node = &__cairn_tree_none,
#else
    .flight = {.position = FLIGHT_NONE},
#endif
};

u64 __cairn_own_local(void) { return (u64)&__cairn_locals - thread_pointer(); }

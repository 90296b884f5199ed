/* What a process has once for all of its modules: where they find each other, and what each thread
 * has. An executable has this member, and so does the library that modules load in a process whose
 * executable has no runtime (timed_guest.c). A library that is unloaded must not have it: its
 * thread-local storage would be a part of the little that programs have for libraries that are
 * loaded later. On Android all modules have it: see slot.h. */

#include "tree.h"

HIDDEN const u8 __cairn_has_local = 0;

#if __ANDROID__

#include "slot.h"

struct process *__cairn_process SHARED;
SLOT_NOTE("__cairn_process", "1");

static int is_made(void *variable, void *to) {
  struct process **p = variable;
  if (!load(p)) return 0;
  *(struct process ***)to = p;
  return 1;
}

/* states returns where the list of the states of the process begins. */
struct process **__cairn_guest_states(void) {
  struct process **p = &__cairn_process;
  find_noted(STATE_NOTE, is_made, &p);
#ifdef CAIRN_TREES
  if (p == &__cairn_process) take_slot();
#endif
  return p;
}

u64 __cairn_own_local(void) { return SLOT; }

/* arrive is called when this module has joined the state. */
void __cairn_guest_arrive(struct process *p) {
  store(&p->modules.stale, 1);
  add(&p->modules.joins, 1);
  __cairn_wake(p);
}

#else

struct process *__cairn_process SHARED;

__thread struct local __cairn_locals HIDDEN = {
#ifdef CAIRN_TREES
    .node = &__cairn_tree_none,
#elif !__arm__
    .flight = {.position = FLIGHT_NONE},
#endif
};

u64 __cairn_own_local(void) { return (uword)&__cairn_locals - thread_pointer(); }

#endif

/* The start of executables whose runtime is a file, --shared-runtime. They call it as libraries do, see guest_start.c, and load
 * it when the C library is initialized: if dlopen runs before, from here, glibc initializes itself without the program's
 * arguments, or goes on with a list of modules that has changed. Until then calls are not recorded, in whatever thread. If a
 * library has started threads by then, the program's calls are not recorded at all: these threads may be in the program's
 * functions, whose entries and exits must use the same window. */

#include "tree.h"
#include "kernel.h"

extern char __libc_single_threaded WEAK; /* of glibc from 2.32 on */

HIDDEN const u8 __cairn_preinit = 0;
int __cairn_guest_is_main(void) { return 1; }

static __thread struct local early_locals = {
#ifdef CAIRN_TREES
    .node = &__cairn_tree_none,
#else
    .flight = {.position = FLIGHT_NONE},
#endif
};

/* has_threads reports whether a library has started threads, besides those of the runtime. */
int __cairn_guest_has_threads(void) {
  if (&__libc_single_threaded) return !__libc_single_threaded;
  u32 stat[2 * STAT_WORDS];
  u64 ours = 0;
  struct process **link = __cairn_guest_states();
  for (struct process *p = link ? load(link) : 0; p && !((p->abi ^ TIMED_ABI) >> 8); p = load(&p->other)) ours += load(&p->signal.owned);
  return stat_link("/proc/self/task", stat) < 0 || links_of((u64 *)stat) > 3 + ours /* ., .., this thread */;
}

u64 __cairn_own_local(void) { return (u64)&early_locals - thread_pointer(); }

__attribute__((section(".preinit_array"), used)) static void (*const start)(void) = __cairn_early_start;

/* The start of executables whose runtime is a file, --shared-runtime. They call it as libraries do, see guest_start.c, and load
 * it when the C library is initialized: if dlopen runs before, from here, glibc initializes itself without the program's
 * arguments, or goes on with a list of modules that has changed. Until then calls are not recorded, in whatever thread. */

#include "tree.h"

HIDDEN const u8 __cairn_preinit = 0;
int __cairn_guest_is_main(void) { return 1; }

static __thread struct local early_locals = {
#ifdef CAIRN_TREES
    .node = &__cairn_tree_none,
#else
    .flight = {.position = FLIGHT_NONE},
#endif
};

u64 __cairn_own_local(void) { return (u64)&early_locals - thread_pointer(); }

__attribute__((section(".preinit_array"), used)) static void (*const start)(void) = __cairn_early_start;

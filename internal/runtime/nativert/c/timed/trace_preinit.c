/* Executables begin before any constructor runs; see timed_preinit.c. */

#include "trace.h"

extern const u8 __cairn_has_local HIDDEN;
HIDDEN const u8 *const __cairn_needs_local = &__cairn_has_local;
HIDDEN const u8 __cairn_preinit = 0;
__attribute__((section(".preinit_array"), used)) static void (*const start)(void) = __cairn_trace_start;

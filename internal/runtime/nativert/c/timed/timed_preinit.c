/* Executables map the window before any constructor runs, as constructors of shared libraries may
 * call functions of the executable. Shared libraries may not have this section, so this is a
 * separate archive member. */

#include "timed.h"

HIDDEN const u8 __cairn_preinit = 0;
extern const u8 __cairn_has_local HIDDEN;
HIDDEN const u8 *const __cairn_needs_local = &__cairn_has_local;
__attribute__((section(".preinit_array"), used)) static void (*const start)(int, char **, char **) = __cairn_timed_start;

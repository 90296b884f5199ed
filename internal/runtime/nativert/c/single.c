/* The part of rt.c for modules that count calls: first_MACHINE.S refers to it. In others the weak function of that name
 * serves, and they do without a name of the C library. */

#include "wire.h"
#include "sys.h"

ANY_FLOATS

#define WEAK __attribute__((weak))
#if __has_include(<gnu/libc-version.h>)
#define GLIBC 1
extern char __libc_single_threaded WEAK;
#else
#define GLIBC 0
extern int pthread_create(void) WEAK;
#endif
#include "single.h"

HIDDEN const u8 __cairn_counts = 0;
HIDDEN u16 __cairn_single(void) { return had_one_thread(); }

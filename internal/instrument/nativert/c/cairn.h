/* cairn.h - what a program may ask of the cairn runtime.
 *
 * All of it compiles to a test of a null pointer, and the marks at the end to
 * nothing, where the program was not built with `cairn cc`, so it can stay in the
 * source. */
#ifndef CAIRN_H
#define CAIRN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Put in front of a function: it gets no probes. It moves the function into a
 * section of its own name, which ends up in .text. */
#define CAIRN_SKIP __attribute__((section(".text.cairn_skip")))

extern int __cairn_dump(void) __attribute__((weak, visibility("hidden")));
extern void __cairn_reset(void) __attribute__((weak, visibility("hidden")));

/* cairn_dump writes what every instrumented module of the process has recorded
 * since the start or the last reset. A second dump replaces the file of the
 * first, and so does the one at exit: nothing is counted twice. Returns 0, or
 * -1 if a file could not be written or nothing is instrumented. */
static inline int cairn_dump(void) { return __cairn_dump ? __cairn_dump() : -1; }

/* cairn_reset forgets what was recorded since the last dump or reset, in every
 * module, and begins a new order of first executions. A dump before it keeps its file; what follows goes to the next. */
static inline void cairn_reset(void) {
  if (__cairn_reset) __cairn_reset();
}

#ifdef __cplusplus
}
#endif

#include "cairn_mark.h"

#endif

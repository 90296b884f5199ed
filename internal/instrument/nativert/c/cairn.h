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
#if __APPLE__
#define CAIRN_SKIP __attribute__((section("__TEXT,__cairn_skip,regular,pure_instructions")))

/* Where nothing is linked in, these stand in for what it has: Mach-O has no weak references
 * within a program. */
__attribute__((weak, visibility("hidden"))) int __cairn_dump(void) { return -1; }
__attribute__((weak, visibility("hidden"))) void __cairn_reset(void) {}
__attribute__((weak, visibility("hidden"))) int __cairn_set_dir(const char *dir) { return dir ? -1 : -1; }
#else
#define CAIRN_SKIP __attribute__((section(".text.cairn_skip")))

extern int __cairn_dump(void) __attribute__((weak, visibility("hidden")));
extern void __cairn_reset(void) __attribute__((weak, visibility("hidden")));
extern int __cairn_set_dir(const char *dir) __attribute__((weak, visibility("hidden")));
#endif

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

/* cairn_set_dir has every instrumented module of the process, and on Linux those that are loaded
 * later, write to a directory, which is created if its parent is there. What was recorded so far
 * goes with it: a file in another directory moves. From then on the file is live, as if CAIRN_DIR
 * had been set; with CAIRN_CONTINUOUS=0, and on systems of Apple, it is written now and again at the end.
 * This is for programs that learn only while they run where they may write, as apps do. Call it
 * early: what other threads record during the call may be lost. Returns 0, or -1 if a file could
 * not be made there, in which case all stays as it was, or nothing is instrumented. */
static inline int cairn_set_dir(const char *dir) { return __cairn_set_dir ? __cairn_set_dir(dir) : -1; }

#ifdef __cplusplus
}
#endif

#include "cairn_bundle.h"
#include "cairn_mark.h"

#endif

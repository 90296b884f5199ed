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

/* Put this in front of a function to exclude it from instrumentation. The function gets a section
 * of its own name, which the linker puts into .text. */
#if __APPLE__
#define CAIRN_SKIP __attribute__((section("__TEXT,__cairn_skip,regular,pure_instructions")))

/* Definitions for programs without the runtime: Mach-O has no weak references within a program. */
__attribute__((weak, visibility("hidden"))) int __cairn_dump(void) { return -1; }
__attribute__((weak, visibility("hidden"))) void __cairn_reset(void) {}
__attribute__((weak, visibility("hidden"))) int __cairn_set_dir(const char *dir) { return dir ? -1 : -1; }
#else
#define CAIRN_SKIP __attribute__((section(".text.cairn_skip")))

#if _WIN32 /* names stay in the program or the DLL */
#define CAIRN_OWN __attribute__((weak))
#else
#define CAIRN_OWN __attribute__((weak, visibility("hidden")))
#endif
extern int __cairn_dump(void) CAIRN_OWN;
extern void __cairn_reset(void) CAIRN_OWN;
extern int __cairn_set_dir(const char *dir) CAIRN_OWN;
#undef CAIRN_OWN
#endif

/* cairn_dump writes the records of all instrumented modules of the process since the start or the
 * last reset. A second dump replaces the file of the first, and so does the one at exit: nothing is
 * counted twice. Returns 0, or -1 if a file could not be written or nothing is instrumented. */
static inline int cairn_dump(void) { return __cairn_dump ? __cairn_dump() : -1; }

/* cairn_reset discards what every module has recorded since the last dump or reset, and begins a
 * new order of first executions. The file of an earlier dump remains; later records go to the next
 * file. */
static inline void cairn_reset(void) {
  if (__cairn_reset) __cairn_reset();
}

/* cairn_set_dir sets the directory of the files of every instrumented module of the process, and on
 * Linux of modules that are loaded later. The directory is created if its parent exists. A file in
 * another directory moves, with what it has recorded. From then on the file is live, as if
 * CAIRN_DIR had been set; with CAIRN_CONTINUOUS=0, and on Apple systems and Windows, it is written
 * now and again at the end. It is meant for programs, such as apps, that find out at run time where they
 * may write. Call it early: records of other threads during the call may be lost. Returns 0, or -1
 * if nothing is instrumented or the file could not be created there; then nothing changes. */
static inline int cairn_set_dir(const char *dir) { return __cairn_set_dir ? __cairn_set_dir(dir) : -1; }

#ifdef __cplusplus
}
#endif

#include "cairn_bundle.h"
#include "cairn_mark.h"

#endif

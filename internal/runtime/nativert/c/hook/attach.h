/* Hooks that are put into a running program, and removed again: declarations for attach.c
 * and attach_unwind.c. offsets.go of internal/watch/attach has the same layout. */
#ifndef CAIRN_ATTACH_H
#define CAIRN_ATTACH_H

#include "hook.h"

enum { MAPPINGS = 4096, SAID = 1024, WORDS = 8 };

/* A range of memory of the runtime; at 0: none. */
struct mapped {
  u64 at, size;
};

struct attach {
  u8 magic[8];
  u64 size;                  /* of this */
  u64 unwind, unwind_modules; /* struct unwind_module[] */
  u64 find_lo, find_hi, find_fde, find_function; /* frame description of the stub for the program's unwinder */
  u64 sites, site_count;     /* changes of code, which will be undone */
  u64 leaving;               /* threads of the runtime must end */
  /* set by attach */
  u64 stub, stub_end, returns;
  u64 process, log_path, modules;
  u64 refused; /* address of a message; 0: success */
  u64 lost;    /* mappings outside of the list */
  u64 said_length;
  u64 wake;    /* address of the futex of the log's thread */
  u64 hook;    /* address that trampolines call */
  u32 done, done_unused; /* attach has been called; futex */
  u64 words[WORDS]; /* environment, ends with 0 */
  char said[SAID];
  struct mapped mapped[MAPPINGS];
};

HIDDEN extern struct attach *__cairn_attached;

/* The rules of a frame at an address of a module's code, ascending by pc, which is relative
 * to the module's lo. */
struct unwind_row {
  u32 pc;
  i32 cfa_offset;
  short frame_offset;
  u8 cfa, rest; /* rest: frame pointer | return address << 4 */
};
struct unwind_module {
  u64 lo, hi, rows, count;
};
enum { CFA_NONE, CFA_STACK, CFA_FRAME, CFA_AT_FRAME, CFA_PLT, CFA_SIGNAL };
enum { FRAME_SAME, FRAME_AT_CFA, FRAME_AT_FRAME };
enum { RETURN_PLAIN, RETURN_NONE, RETURN_IN_WINDOW };

#endif

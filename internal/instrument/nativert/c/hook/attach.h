/* Hooks that are put into a running program, and taken out again: what attach.c,
 * attach_unwind.c and internal/watch/attach share. There, offsets.go has the same layout. */
#ifndef CAIRN_ATTACH_H
#define CAIRN_ATTACH_H

#include "hook.h"

enum { MAPPINGS = 4096, SAID = 1024, WORDS = 8 };

/* A piece of memory that is ours; at 0: none. */
struct mapped {
  u64 at, size;
};

struct attach {
  u8 magic[8];
  u64 size;                  /* of this */
  u64 unwind, unwind_modules; /* struct unwind_module[] */
  u64 find_lo, find_hi, find_fde, find_function; /* what the program's unwinder is told of the stub */
  u64 sites, site_count;     /* what was changed in code, for who takes it out */
  u64 leaving;               /* threads of the runtime are to end */
  /* what attach passes */
  u64 stub, stub_end, returns;
  u64 process, log_path, modules;
  u64 refused; /* address of a text; 0: it worked */
  u64 lost;    /* mappings that are not in the list */
  u64 said_length;
  u64 wake;    /* address of the futex of the log's thread */
  u64 hook;    /* address of what trampolines call */
  u32 done, done_unused; /* attach has been called; futex */
  u64 words[WORDS]; /* environment, which ends with 0 */
  char said[SAID];
  struct mapped mapped[MAPPINGS];
};

HIDDEN extern struct attach *__cairn_attached;

/* What an address of a module's code says of its frame, ascending by pc, which is
 * counted from the module's lo. */
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

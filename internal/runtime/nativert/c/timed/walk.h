/* Walks a stack by the unwind tables of its code (.eh_frame), from any place: that of another
 * thread, which stands still, or calls that an exception has left. The unwinder of the compiler
 * walks only the current stack. All memory is read by a system call, so that a stack that changes
 * meanwhile gives a wrong frame at worst. */
#ifndef CAIRN_WALK_H
#define CAIRN_WALK_H

#include "timed.h"

enum { WALK_REGISTERS = 32, WALK_COPY = 65536, WALK_ROOM = 9216 };

struct walker {
  struct process *p;
  u64 pc, sp;   /* of the current frame; sp at pc */
  int exact;    /* pc is the instruction itself, not a return address */
  u64 reg[WALK_REGISTERS];
  u32 known;    /* of those, as bits */
  /* Of the frame that step left: its function, its stack pointer at entry, and whether its return
   * address was that of a hook. */
  u64 start, entry;
  int hooked;
  int ended; /* there is no caller, by the tables */
  const u8 *copy; /* of the stack */
  u64 copy_at, copy_size;
  u8 room[WALK_ROOM] __attribute__((aligned(16))); /* for tables: too large for some stacks */
};

/* walk begins at a place. copy may have a copy of the stack from there outwards. */
HIDDEN void __cairn_walk(struct walker *w, struct process *p, u64 pc, u64 sp, int exact);
/* copied reads the stack from sp on into a buffer of WALK_COPY bytes. */
HIDDEN void __cairn_walk_copy(struct walker *w, u8 *buffer);
/* step moves to the caller, and reports whether there is one. */
HIDDEN int __cairn_walk_step(struct walker *w);
/* stamped reports whether the frame that step left is of a function with probes. If only the call of
 * the frame says so, it returns that function: the place may be in a part of it that the compiler put
 * elsewhere. */
HIDDEN u64 __cairn_walk_stamped(struct walker *w);
/* target returns the function that is called before an address, if the instruction names it or the
 * place in memory that has it; 0 otherwise. called does so for the call of a frame, if the function
 * has probes. */
HIDDEN u64 __cairn_walk_target(struct process *p, u64 back);
HIDDEN u64 __cairn_walk_called(struct walker *w, u64 entry);
/* start returns where the function, or the part of one, begins that has an address; 0 if it is unknown. */
HIDDEN u64 __cairn_walk_start(struct walker *w, u64 pc);
HIDDEN int __cairn_walk_word(struct walker *w, u64 at, u64 *to);

#endif

/* Calls that have not ended, see timed_open.c. */
#ifndef CAIRN_OPEN_H
#define CAIRN_OPEN_H

#include "timedwire.h"

enum { OPEN_CHUNKS = 16, OPEN_WATCHED = 256 }; /* each watched thread has room */

/* The writer of the log changes all but wanted. The owner of a thread stores only the end in a
 * slot's record. */
struct open_call {
  i32 tid; /* 0: free */
  u64 sp;  /* of the innermost call over its threshold, at its entry */
  u64 t0;  /* when it began, at the earliest */
  u8 *record;
};
struct watched {
  i32 tid;
  u32 seen;          /* listing in which the thread was seen last */
  u64 cpu;           /* its processor time when it was looked at */
  u64 still;         /* since then */
  u64 ran;           /* when it was last looked for the calls of it while it ran */
  u64 due;           /* look again at that time, even if it has not run; 0: not known */
  struct open_call *call;
  u8 no_room; /* its call has no record */
};
struct open_state {
  u32 wanted; /* a thread has been waiting for the threshold; the clock's thread sets it */
  u32 asked, answered; /* requests of the control socket, and those of them that a look came after */
  u32 used;   /* slots */
  u32 no_room, unwatched; /* at the last look: calls without a record, for lack of room, and threads */
  u32 listing;
  u64 next;   /* not before this time */
  u64 cancelled; /* when a thread was cancelled last, with a look before it */
  u64 links;  /* of the directory of threads when it was last listed */
  u8 *chunk[OPEN_CHUNKS];
  u32 chunks;
  u8 *copy;   /* of a stack */
  struct open_call call[OPEN_CHUNKS * LOG_OPEN_SLOTS];
  struct watched watched[OPEN_WATCHED];
};

#endif

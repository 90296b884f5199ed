/* What a thread waits for, as the clock's thread finds it while the thread waits. */
#ifndef CAIRN_WAIT_H
#define CAIRN_WAIT_H

#include "timedwire.h"
#include "kernel.h"

struct process;

/* A wait: seen from one sample to another. on has the flags of package wire, 0 until it was looked
 * at. The slots are places on the thread's stack with what may be return addresses, in ascending
 * order. */
struct wait {
  u64 from, to;
  i64 call; /* the system call */
  u32 on, slots;
  u64 slot[LOG_MAX_WAIT_STACK][2]; /* place, address */
  char peer[LOG_MAX_PEER + 1];
};

/* wait_look finds what thread tid waits for, if it still waits in w's system call. */
HIDDEN void __cairn_wait_look(struct process *p, i32 tid, struct wait *w);

#endif

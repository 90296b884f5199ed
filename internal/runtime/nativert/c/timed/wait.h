/* What a thread waits for, as the clock's thread finds it while the thread waits. */
#ifndef CAIRN_WAIT_H
#define CAIRN_WAIT_H

#include "timedwire.h"
#include "kernel.h"

struct process;

/* A wait: seen from one sample to another. on has the flags of package wire, 0 until it was looked
 * at. The slots are places on the thread's stack with what may be return addresses, in ascending
 * order. If it waits for a mutex, lock is its address, and holder the thread that had it at a time; if for the
 * end of a thread, holder is that thread. */
struct wait {
  u64 from, to;
  i64 call; /* the system call */
  u32 on, slots;
  u64 slot[LOG_MAX_WAIT_STACK][2]; /* place, address */
  char peer[LOG_MAX_PEER + 1];
  i32 holder; /* 0: not known */
  u32 readers, shared; /* of a read-write lock: how many have it; 1 */
  u64 lock, held;
};

/* wait_look finds what thread tid waits for, if it still waits in w's system call. */
HIDDEN void __cairn_wait_look(struct process *p, i32 tid, struct wait *w);

/* calls returns the table of the numbers of system calls that the kernel shows, one of package wire. */
HIDDEN u32 __cairn_calls(struct process *p);

/* is_filtered reports whether this thread has, or may have, a filter of system calls. */
HIDDEN int __cairn_is_filtered(void);

#endif

/* The runtime of mode trace: what its files share.
 *
 *   trace_MACHINE.S where inserted code comes when a chunk is full
 *   trace_local.c   what a process has once
 *   trace_guest.c   libraries: how they find that, and leave
 *   trace.c         chunks, the log's file, the clock, fork
 *   trace_module.c  what the log says of modules, and the environment
 *
 * A thread has a position in a chunk of the log's file, which is mapped. Inserted
 * code moves it by 8 bytes and stores an event there: the clock's low half, and
 * the low half of the function's address with the kind of event in its last two
 * bits. A chunk is aligned to its size, so that the low 16 bits of the position
 * become 0 when it is full. They do so at a thread's first event as well. */
#ifndef CAIRN_TRACE_H
#define CAIRN_TRACE_H

#include "timed.h"

enum { TRACE_SIZE = 4096, TRACE_DIR = 1024, SEGMENT = 64 /* chunks */, FULL_CHUNKS = 32 };

/* The state of a process, one for all of its modules. */
struct tracer {
  u64 clock;  /* units of 20 us since the log began, from 1; inserted code reads the low half */
  u64 ticks;
  u8 pad[48]; /* what is below is written while the clock is read */

  u32 lock;
  u32 configured, off, fork_handler, exiting;
  u64 local; /* distance of what a thread has from its thread pointer */
  struct bus *bus;
  u32 *alive; /* on its own page, which is zeroed in a child; 0: not begun */
  i32 pid, fd;
  u64 device, inode; /* of the log */
  u64 origin; /* when the clock was 0 */
  u64 period, worst;
  u64 ring_chunks; /* 0: the file grows without limit */
  u64 file_chunks; /* in the file */
  u64 shortened;   /* size of the file without the chunks that were not used; 0: it has all */
  u32 ending;      /* SHORTEN_NOW, and what follows */
  u8 *first;       /* the chunk with the records */
  u8 *more;        /* another, when that is full */
  u32 first_used, more_used, sequence, modules;
  u8 *ring; /* or the segment being filled */
  u64 hand; /* next chunk in it */
  u8 *segment_before;
  u64 overwritten;
  u8 *sink; /* for events that are discarded */
  char dir[TRACE_DIR];
  u32 fulls;
  u8 *full[FULL_CHUNKS]; /* chunks with records between first and more */
#if FEW_ADDRESSES
  u32 places; /* addresses of chunks of a file without limit, in place of segments */
  u8 *place[512];
#endif
};
enum { SHORTEN_NOW = 1, SHORTEN_DONE };
_Static_assert(sizeof(struct tracer) <= TRACE_SIZE, "it is a page");

/* What each thread has: inserted code depends on the offsets. On Android it is the position alone: see slot.h. */
struct trace_local {
  u64 position;  /* of its last event, see above */
  u64 deepest;   /* see trace_depth_MACHINE.S: stack pointer of the last recorded call, 0 if more may be recorded */
  u64 count, call[CAIRN_MAX_TRACE_DEPTH];
};
enum { TRACE_NONE = 0xfff8 }; /* a position that is full */
extern u64 __cairn_local HIDDEN; /* this module's copy of the distance */
#define own_local() ((struct trace_local *)(uword)((__cairn_plain ? 0 : thread_pointer()) + __cairn_local))
HIDDEN u64 __cairn_own_local(void); /* 0 in a library */

extern struct tracer __cairn_traced SHARED __attribute__((weak)); /* that of an executable or a host */
extern struct tracer *__cairn_tracer HIDDEN;   /* as this module knows it */
HIDDEN void __cairn_trace_start(void);
/* Of a library. plain makes a state that records nothing, or returns 0. */
HIDDEN struct tracer *__cairn_trace_find(void);
HIDDEN struct tracer *__cairn_trace_plain(void);
/* module_gone writes that this module is unloaded. */
HIDDEN void __cairn_trace_gone(void);
HIDDEN u64 __cairn_trace_enter(struct tracer *t, int *child);
HIDDEN void __cairn_trace_leave(struct tracer *t, u64 mask);
HIDDEN u64 __cairn_trace_tick(struct tracer *t);
/* module_gone writes the end of the module that contains this copy. */
HIDDEN void __cairn_trace_module_gone(struct tracer *t);

/* configure reads the environment. */
HIDDEN void __cairn_trace_configure(struct tracer *t);
/* trace_name puts the executable's base name, a dot and the start of its build id. */
HIDDEN char *__cairn_trace_name(char *to);
/* trace_module writes the record of the module that contains this copy. */
HIDDEN void __cairn_trace_module(struct tracer *t);
HIDDEN u8 *__cairn_trace_record(struct tracer *t, u32 type, u64 size, u32 a);
HIDDEN u64 __cairn_trace_now(void);
HIDDEN void __cairn_trace_error(const char *what, i64 err);

#endif

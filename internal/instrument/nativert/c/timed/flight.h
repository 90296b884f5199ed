/* The flight recorder of mode spike: what its files share.
 *
 *   flight_MACHINE.S  the words that inserted code refers to, and where it comes when
 *             the clock has moved or a chunk is full
 *   flight.c  rings of chunks, windows, fork
 *
 * Each thread has a position in a chunk of the log's file, which is mapped.
 * Inserted code moves it by 8 bytes and stores an event there: the low half of
 * the function's address and of the stack pointer. An exit that later entries do not
 * tell is an event as well. The chunks of a thread are a
 * ring: when there are as many as there may be, the oldest is the next one. When a
 * spike is found its thread's youngest chunks are taken out of the ring. They are
 * the spike's window, and stay as they are. */
#ifndef CAIRN_FLIGHT_H
#define CAIRN_FLIGHT_H

#include "timed.h"

/* Where a thread records: position is behind its last event, clock what the clock
 * was at that event. Left is the stack pointer of the last exit, or odd if none was
 * since the last entry. Inserted code knows the layout so far. The stack that the thread
 * was on begins at low and has that size, as far as it is known. */
struct flight_at {
  u64 position;
  u32 clock, left;
  u64 low, size;
};
extern __thread struct flight_at __cairn_flight_at __attribute__((tls_model("initial-exec"), visibility("default")));
enum { FLIGHT_NONE = 0xfff8 }; /* a position that is full */

struct chunk {
  u8 *at;
  u64 begun; /* ns */
  u64 used;  /* bytes of its payload, once it is left */
  u32 number; /* in the file */
  struct chunk *next;
};

/* The ring of a thread. It stays with the thread's state, and so goes to another
 * thread when this one has ended. */
struct ring {
  struct chunk *oldest, *last; /* last: where the thread records */
  struct chunk *fresh;         /* mapped, never used */
  u8 *sink;                    /* where events go while there is no log */
  u32 chunks, sequence;
  u32 tid, top; /* top: stack pointer at the thread's first event */
  u64 since;    /* ns: when that was */
};

/* The window of a spike. */
enum { WINDOWS = 16, WINDOW_RINGS = 4 };
struct window {
  u64 number, lo;
  struct chunk *first;
  u32 chunks;
};

/* What the modules of a process share. */
struct flight {
  u8 *sink; /* where a child records that no handler of fork saw */
  u8 *zeros; /* a chunk of them, never written */
  u32 failed;
  u32 lock;            /* of what follows */
  u32 windows, chunks; /* chunks: of windows */
  struct window window[WINDOWS];
  struct chunk *spare; /* of windows that gave way */
};

#endif

/* The flight recorder of mode spike: what its files share.
 *
 *   flight_MACHINE.S  the words that inserted code refers to, and what it calls when the
 *             clock has advanced or a chunk is full
 *   flight.c  chunks of the file, fork
 *   flight_ring.c  rings of chunks, windows
 *   coff_flight.c, macho_flight.c  all but that for Windows and macOS
 *
 * Each thread has a position in a chunk of the log's file, which is mapped.
 * Inserted code moves it by 8 bytes and stores an event there: the low half of
 * the function's address and of the stack pointer. An exit is an event if later entries do
 * not imply it. The chunks of a thread are a ring: at the maximum size, the oldest chunk is
 * used again. When a spike is found, the latest chunks of its thread are removed from the
 * ring. They are the window of the spike, and do not change any more. */
#ifndef CAIRN_FLIGHT_H
#define CAIRN_FLIGHT_H

struct chunk {
  u8 *at;
  u64 begun; /* ns */
  u64 used;  /* bytes of its payload, set when it is left */
  u32 number; /* in the file */
  struct chunk *next;
};

/* The ring of a thread. It belongs to the thread's state, which another thread uses after
 * this one has ended. */
struct ring {
  struct chunk *oldest, *last; /* last: the current one */
  struct chunk *fresh;         /* mapped, never used */
  u8 *sink;                    /* for events while there is no log */
  u32 chunks, sequence;
  u32 tid, top; /* top: stack pointer at the thread's first event */
  u64 since;    /* ns: time of that event */
  u32 stacks;   /* Windows: that the chunk has */
  struct ring *next; /* Windows, macOS: of those that no thread has */
};

/* The window of a spike. */
enum { WINDOWS = 16, WINDOW_RINGS = 4 };
struct window {
  u64 number, lo;
  struct chunk *first;
  u32 chunks;
};

/* The state that the modules of a process share. */
struct flight {
  u8 *sink; /* for events of a child in which no handler of fork ran */
  u8 *zeros; /* a chunk of them, never written */
  u32 failed;
  u32 lock;            /* of what follows */
  u32 windows, chunks; /* chunks: of windows */
  struct window window[WINDOWS];
  struct chunk *spare; /* of discarded windows */
};

#endif

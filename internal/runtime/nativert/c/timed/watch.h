/* What the clock's thread sees of the other threads, for Windows and macOS: see watch_sample.h. The system has WATCHED_OWN of a
 * thread, and WATCH_OWN of all. */
#ifndef CAIRN_WATCH_H
#define CAIRN_WATCH_H

enum { WATCHED = 128, SAMPLES = 256, SHIFT = 4, RINGS = 2, LAP = 8, WAITS = 8, COPY = 65536 };
enum { RAN = -1, UNKNOWN = -2 }; /* in place of a system call */

/* A sample: how long the thread had run, in units of the counter. in is the system call that it had waited in since the previous
 * sample. */
struct sample {
  u64 at, cpu;
  i64 in;
};

/* A wait: seen from one sample to another, with the stack pointers and return addresses of its stack in ascending order. */
struct wait {
  u64 from, to;
  i64 call;
  u32 slots, holder; /* holder: of the lock that it waits for, 0: not known */
  u64 held, lock;    /* when it was seen to have it */
  u64 slot[LOG_MAX_WAIT_STACK][2];
};

/* A thread. It sets what is the system's own itself, then its number; the rest belongs to who has the lock. */
struct watched {
  u32 tid;     /* 0: free */
  u32 claimed; /* by a thread that is about to set its number */
  WATCHED_OWN
  u64 lock;       /* that it waits for; 0: not known */
  u64 still;      /* since when it has not run; 0: it runs */
  u64 looked;     /* when its stack was last looked at */
  u64 due;        /* look again then, even if it has not run; 0: not known */
  u64 elsewhere;  /* when it was seen at its last place */
  u64 place[2];   /* where it waits: stack pointer and address; 0: not known */
  u64 sp, t0;     /* of its open call */
  u8 *record;     /* of its open call, 0: it has none */
  u8 no_room;     /* there is no room for such a record */
  i64 in;         /* the system call that it waits in, RAN or UNKNOWN */
  u64 n, waits;
  struct sample ring[RINGS][SAMPLES]; /* every sample, and every 16th */
  struct wait wait[WAITS];            /* ring */
};

struct watch {
  WATCH_OWN
  u32 lock, next, own;          /* own: the clock's thread */
  u32 unwatched, no_room, used; /* used: records of open calls */
  u64 due, look_due;
  u8 *free[WATCHED];            /* records of open calls of threads that have ended */
  u32 frees;
  u8 *chunk;                    /* with such records */
  u64 low, high, delta;         /* of the stack that was copied, and how far the copy is from it */
  u64 base;                     /* of that stack */
  struct context context;
  struct stack stack;
  u8 copy[COPY] __attribute__((aligned(16)));
  struct watched thread[WATCHED];
};

#endif

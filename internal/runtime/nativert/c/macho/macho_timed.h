/* The runtime of the timed modes for Mach-O: what its files share. CAIRN_MODE is the mode that it is compiled for.
 *
 *   macho_system.h    libSystem
 *   macho_timed.c     images that share the state, threads, the clock, the life of the process
 *   macho_log.h       the log: its file, chunks, records, modules
 *   macho_words.h     the environment
 *   macho_routine.h   routines that inserted code calls
 *   macho_trace.c     mode trace: chunks of events
 *   macho_depth.c     mode trace with --depth
 *   macho_tree.h      mode stacks: what the trees of calls, which are those of other systems, get from this one
 *   macho_tree.c      where inserted code comes to
 *   macho_spike.c     mode spike: threads, stacks by frame pointers, what inserted code calls
 *   macho_switch.c    which stack a call is on, and for how long that did not run
 *   macho_mark.c      what marks of programs (marks.h) get from this system
 *   macho_flight.c    the flight recorder, if it is compiled with CAIRN_FLIGHT
 *   macho_watch.c     what the clock's thread sees of the others: processor time, waits, calls that have not ended
 *   macho_starts.h    where the functions of an image begin
 *
 * It is the counterpart of c/timed, and smaller. Each chunk of the log's file is mapped while it is written, so that
 * what was recorded is in it however the process ends. The file is opened by its name for each chunk: programs may close
 * descriptors that they do not know, and use their numbers again. By then another file may have the name: it is left alone. Only libSystem is called, by weak imports, and under the
 * lock nothing that needs dyld's. */
#ifndef CAIRN_MACHO_TIMED_H
#define CAIRN_MACHO_TIMED_H

#include "macho_system.h"
#include "timedwire.h"
#include "timed_names.h"

/* The header of an image. */
struct image {
  u32 magic, machine, subtype, kind, commands, size, flags, reserved;
};
struct command {
  u32 kind, size;
};
struct segment {
  u32 command, size;
  char name[16];
  u64 address, room, offset, stored;
};
enum { MH_EXECUTE = 2, LC_SEGMENT_64 = 0x19, LC_UUID = 27 };
extern const struct image __dso_handle HIDDEN;

/* ---- the state of a process, which its images share ---- */

#define load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define MS 1000000ul
#define SECOND 1000000000ul
#define CHUNK ((u64)LOG_CHUNK_SIZE)
#define is_quiet(p) ((p)->off || (p)->quiet)

enum { BASES = 128, MAX_DIR = 1024, MAX_NAME = 128, MAX_PATH = MAX_DIR + MAX_NAME + 64, MAX_MODULES = 128, TIMED_ABI = 0x54430004 + (CAIRN_MODE << 16) };

/* The window is as in c/timed/timed_window.c, with these words below. */
enum { CLOCK = -64, LOW = -60, TREE_CLOCK = -48, GRAIN = 65536 };
#define WINDOW (1ul << 32)
#define TREE_RUNNING (1ul << 50) /* see tree.h */
#define word(p, at) ((u32 *)((p)->base + (at)))
#define slot(p, sp) ((u32 *)((p)->base + (u32)(sp)))

#include "tick.h"
#include "judge_types.h"

struct thread;

struct module {
  u64 start, end, slide;
  const struct image *image; /* 0: it is gone */
  u32 number, main;
  u8 has_id, id[16];
  const u8 *starts_end; /* see macho_starts.h */
  u64 functions;    /* how many */
  struct mark *marks;
  char path[MAX_PATH];
};

/* A chunk of the ring. */
struct place {
  u8 *at;    /* 0: not mapped yet */
  u32 ended; /* its thread has */
};

struct process {
  u64 clock; /* units of 20 us since the log began, from 1; inserted code reads the low half */
  u64 ticks, worst;
  u8 pad[40]; /* what is below is written while the clock is read */

  u32 abi, size;
  u32 lock, signals; /* signals: which were blocked before the lock was taken */
  u64 key; /* of pthread */
  i32 pid;
  u8 off, failed, forked, ready, has_clock, ended;
  u8 *base; /* of the window */
  u8 quiet;
  struct watch *watch; /* of mode spike; 0: there are no causes */
  struct suspended *suspended; /* stacks that did not run, 0: none */
  u32 rate, low; /* low: inline threshold in us */
  u64 threshold, late, blind;
  u64 episodes, borderline, slow, dropped;
  u64 left_out, second, in_second; /* by the rate limit */
  u32 threads;
  u64 snapshots, slop; /* slop: 0 */
  struct {             /* see frames.h */
    struct summary *summary; /* in the log; 0: none ended */
    u64 since, end, budget;
    u64 current; /* number */
    u32 shift;
  } frames;
  struct { /* see timed_channel.c */
    u32 sets;
    struct {
      struct channel *from, *to;
    } set[MAX_MODULES]; /* of the images */
    char words[512]; /* for images that are loaded later */
  } channel;
  struct {
    u32 lock; /* of the channels */
  } control;
  struct spikes *spikes; /* that the program is told of; 0: of none */
  struct {               /* see flight.h; also called by images without it */
    struct flight *recorder; /* 0: none */
    u32 chunks;              /* of a ring */
    u32 missed;              /* spikes without a window */
    u64 local;               /* where a thread has its words, from its block */
    struct ring *free;       /* of threads that have ended */
    void (*left)(struct process *, u64 sp);
    void (*seal)(struct process *, struct ring *);
    void (*keep_window)(struct process *, struct thread *, u64 number, u64 lo, u64 hi, u64 e);
  } flight;
  struct {
    struct trees *trees;
    u64 pause;
  } stacks;
  u32 numer, denom; /* of ticks of mach_absolute_time to nanoseconds */
  u64 real, mono;   /* the start: when the clock was 0 */
  u64 period;
  u64 ring_chunks; /* 0: the file grows without limit */
  struct place *ring;
  u64 hand; /* next chunk in it */
  u64 overwritten;
  u8 *sink;        /* for events that are discarded */
  const u8 *zeros; /* a chunk of them */
  u64 chunks;      /* in the file */
  u8 *first, *more; /* chunks of records */
  u32 first_used, more_used, sequence;
  u8 header[LOG_HEADER_SIZE]; /* of the file */
  u32 modules, numbers;
  char name[MAX_NAME + 16]; /* of the program, with the beginning of its id */
  char dir[MAX_DIR], path[MAX_PATH];
  struct module module[MAX_MODULES];
  struct tick tick[CAIRN_MODE == LOG_MODE_TRACE ? 1 : TICKS]; /* ring */
};

static inline u64 less(u64 a, u64 b) { return a > b ? a - b : 0; }
static inline u64 least(u64 a, u64 b) { return a < b ? a : b; }
static inline u64 most(u64 a, u64 b) { return a > b ? a : b; }

/* now returns the time in nanoseconds. */
static u64 now(const struct process *p) {
  u64 t = mach_absolute_time();
  return t / p->denom * p->numer + t % p->denom * p->numer / p->denom;
}

#endif

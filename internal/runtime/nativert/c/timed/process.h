/* The state of a process, with a part for each part of the runtime. Parts that many
 * threads write are on cache lines of their own. */
#ifndef CAIRN_PROCESS_H
#define CAIRN_PROCESS_H

#include "timedwire.h"
#include "kernel.h"
#include "bus.h"
#include "clock.h"
#include "open.h"

enum { MODULES = 512, SEEN_SLOTS = (LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) / LOG_SEEN_SIZE, SEEN_INDEX = 2048, LIMITED = 1024, BASES = MODULES };
enum { GOING = 16, KNOWN_GONE = 256 };
enum { THREAD_STACK = 32768, SCRATCH = 16384, CONTROL_PATH = 2048, CONTROL_LINE = 4096, CONTROL_CLIENTS = 8, MAX_DIR = 1024 };
enum { FREEZES = 16, TIMERS = 1024, OWN_THREADS = 8, RATES = 8 };

#define CACHE_LINE __attribute__((aligned(64)))

struct process;
struct thread;
struct flight;
struct hooks;
struct spikes;
struct summary;
struct trees;
struct usage;
struct switches;
struct bus;

/* Settings of CAIRN_SPIKE, which the control socket changes. */
struct settings {
  u64 threshold, period, rate;
  u32 low;         /* inline threshold when recording is on: us, with the exact clock ns */
  u8 quiet;        /* recording is off for now */
  u8 fixed_period; /* the environment has set it */
  u8 to_stderr;
};

/* When the process, or this child after a fork, began. */
struct beginning {
  u64 real, mono, tsc;
};

/* Mode stacks, see tree.c. */
struct stacks_state {
  struct trees *trees; /* 0: another mode */
  void (*write)(struct process *, int final);
  u64 pause; /* until the next writing */
  void (*forked)(struct process *);
  /* A module is being unloaded, and was loaded again. */
  void (*retire)(struct process *, u64 start, u64 end, u32 number);
  void (*revive)(struct process *, u64 start);
};

/* The flight recorder, see flight.c. */
struct flight_state {
  struct flight *recorder; /* 0: none */
  u32 chunks;              /* of a ring */
  u32 missed;              /* spikes without a window */
  void (*left)(struct process *, u64 sp);
  void (*keep_window)(struct process *, struct thread *, u64 number, u64 lo, u64 hi, u64 e);
  void (*forked)(struct process *);
};

/* Frames of the program, see timed_frame.c. */
struct frames_state {
  struct summary *summary; /* in the log; 0: none ended */
  u64 since, end, budget;
  u64 current; /* number; any thread increments it */
  u32 shift;
};

/* Names of conditions, see timed_channel.c. */
struct channel;
struct channels {
  struct channel *from, *to;
};
struct channel_state {
  u32 sets;
  struct channels set[BASES]; /* of the modules */
  char words[512];            /* words for modules that are loaded later */
};

/* A client of the control socket, and what it has sent so far. */
struct client {
  i32 fd; /* -1: nobody */
  u64 n, since;
  char line[CONTROL_LINE];
};

/* The socket and the file that change settings while the program runs, see
 * timed_control.c. */
struct control_state {
  u8 wanted;  /* a socket is */
  u8 started; /* its thread is */
  u32 failed; /* error of the socket */
  u32 lock;   /* of the settings */
  i32 signal; /* 0: none */
  u32 reload; /* the signal arrived */
  char at[1024], file[1024];
  char path[CONTROL_PATH]; /* of the existing socket */
  char reply[8192];
  struct client client[CONTROL_CLIENTS];
  u8 stack[THREAD_STACK] CACHE_LINE;
};

/* The functions that raise exceptions and jump, as modules find them; see timed_arrive.c. */
enum { RAISER_SETS = 16, RAISERS = 10 };
struct raisers {
  u32 sets;
  u64 set[RAISER_SETS][RAISERS]; /* 0: the module has none */
};

/* The coarse clock, see timed_family.c. */
struct time_state {
  struct clock *clock;
  struct member *member;
  u8 family;           /* other processes may set it */
  u8 had_other_leader; /* another process was the leader */
  u32 slot;            /* index of the process in it */
  i64 seccomp;         /* seccomp mode at the start */
  u32 tid;             /* of its thread */
  uword robust_head[3], robust_node;
  struct clock own CACHE_LINE; /* used without a family */
  u64 cpu CACHE_LINE;          /* written by the clock's thread */
  u8 stack[THREAD_STACK] CACHE_LINE;
};

/* A time on both clocks, for calls timed by the TSC: the TSC was between tsc and tsc + width. */
struct moment {
  u64 tsc, width, ns;
};
struct rate {
  u64 hz, error; /* rate of the TSC, and its error in 10^-9 */
};

/* The exact clock, see timed_tsc.c. The thread of the coarse clock writes it. */
struct exact_state {
  struct moment reference[2]; /* the rate is measured from these */
  struct rate rates[RATES];
  u64 number; /* of the latest rate */
};

/* The timer of a thread, which sets the clock. */
struct timer {
  i32 tid;   /* 0: free */
  i32 id;    /* plus one; 0: it is being made */
  u32 round; /* round in which the thread was last seen */
};

/* The coarse clock kept by signals, see timed_signal.c. Its thread writes this. */
struct signal_state {
  u8 wanted;
  i32 number;           /* signal; 0: none */
  i32 own[OWN_THREADS]; /* threads of the runtime */
  u32 owned, spawning; /* spawning: of those that may exist and are not in own yet */
  u32 round, signalled, blocked;
  u64 tasks, scanned, period, passed_over;
  u32 taken; /* the program has installed a handler; the log's thread reports that */
  struct timer timer[TIMERS];
};

/* Counts of events. Any thread writes them. */
struct counters {
  u64 episodes;
  u64 borderline, slow, dropped, backwards;
  u64 snapshots; /* of the episodes */
};

/* Parts of the log for queues of threads, see timed_queue.c. Any thread writes this. */
struct queue_state {
  u32 lock, left;
  u32 awaited; /* a thread has waited for the log to be opened */
  u8 *chunk;   /* with parts that are not assigned yet */
};

/* The log's file, see timed_file.c. Only its writer touches it. */
struct file {
  i32 fd; /* -1: none */
  u64 device, inode; /* the program may close the descriptor, and open its own file with the same number */
  u64 size;          /* lower bound of the size */
  u8 failed, full;   /* full: no more chunks */
  u8 begun;          /* it has the modules: spikes that are in it can be read */
  u32 chunks; /* in the file */
  u32 sequence;
  u8 *first; /* the chunk with the trailer */
  u8 *chunk; /* the chunk being filled */
  u32 used;  /* bytes of its payload */
  u64 last;  /* time of its last record */
  u8 *seen;
  u32 seen_count;
  u16 seen_index[SEEN_INDEX]; /* slot plus one, by hash of what was seen */
};

/* The log, see timed_log.c. Any thread writes the first line, the writer the rest. */
struct log_state {
  u32 wake CACHE_LINE; /* futex of the writer */
  u32 flush_want, flush_done;
  struct file file CACHE_LINE;
  char path[CONTROL_PATH];
  u64 switches; /* of the writer */
  u32 tid;
  u8 left_table, own_files; /* of open files, see timed_table.c: it has tried to leave, and has left */
  u32 settings;             /* records of them */
  u64 setting[4]; /* threshold, period, rate and quiet in the latest */
  u32 freezes, freezes_read; /* the clock's thread writes the former */
  u64 freeze[FREEZES][4];    /* ring */
  u8 scratch[SCRATCH] __attribute__((aligned(16)));
  u8 taken[4096] __attribute__((aligned(16))); /* a record of a queue */
  u8 stack[THREAD_STACK] CACHE_LINE;
};

/* Spikes that are left out because of the rate limit. The writer of the log writes this. */
struct limit_state {
  u64 count, second, in_second, suspended_in_second, parent_second, in_parent_second;
  u64 left_out[LIMITED]; /* numbers of episodes */
};

/* The modules in the log, see timed_module.c. Its writer writes this. */
struct module {
  u64 start, end, bias;
  u64 path_hash, id_hash;
  u64 frames; /* its .eh_frame_hdr; 0: none */
  u32 number;
  u8 known; /* in the last listing */
  u8 probes; /* the log says that it has probes */
};
/* A module that the program unloads, see timed_guest.c. */
enum { GOING_FREE, GOING_TAKEN, GOING_ASKED, GOING_WRITTEN };
struct going {
  u64 start, end, path_hash;
  u32 state;
  u8 mapped; /* it still was at the last listing */
};
/* A module that is gone. If the same file is loaded at the same address again, it gets the same
 * number. */
struct gone {
  u64 start, path_hash, id_hash;
  u32 number;
};
struct modules_state {
  struct module module[MODULES];
  struct going going[GOING];
  struct gone gone[KNOWN_GONE]; /* ring */
  u32 gone_count;
  u8 stale; /* a module was loaded */
  u32 joins, joined; /* modules that joined the state, and those of them that were looked at */
  u32 count, numbers;
  u64 at, pause; /* time of the last listing; time until the next one */
  u8 unknown;    /* an address in a stack is in no listed module */
  u8 seeking;    /* look only for the executable */
};
struct executable {
  u8 id[LOG_MAX_BUILD_ID];
  u32 id_len;
  char path[4096];
};

/* Kinds of runtime: they differ in what the window's slots hold. Modules of one kind share one
 * state; the states of a process form a list. The word abi holds the name of this layout and the
 * kind: modules with another layout do not share the state. The first three fields are the same in
 * all layouts of that name. */
enum { KIND_SPIKE, KIND_EXACT, KIND_STACKS };
#define TIMED_ABI 0x35435400u
struct process {
  u32 abi, size;
  struct process *other; /* state of another kind */
  u32 kind;
  u8 *base; /* of the window; see CLOCK */
  u64 window; /* its size */
  u64 local;  /* distance of what a thread has from its thread pointer */
  struct bus *bus;
  const i32 *services; /* what libraries call, see services.h */
  u32 mask;   /* mask of stack pointers */
  u64 origin; /* when the clock was 1 */
  i32 pid;
  u8 shared;     /* the window is a shared file mapping: a child needs its own */
  u8 check_pid;  /* the kernel cannot zero a child's memory (MADV_WIPEONFORK) */
  u8 off, forked;
  u32 calls; /* the table of the numbers of system calls, 0: not known yet; see timed_wait.c */
  u8 hosted; /* the module that made this has no code of the program */
  struct settings set;
  u64 fork_time; /* 0: not a child */
  u32 slop;      /* ns by which entries may appear out of order */
  u32 thread_count;
  int (*gettime)(int, u64 *); /* in the vDSO; 0: ask the kernel */
  u64 xsave_mask; /* 0: fxsave */
  char dir[MAX_DIR]; /* of logs; "": none */
  u32 bases;
  u64 base_word[BASES]; /* where modules keep the window's address */
  struct beginning started;
  u64 main_top;           /* top of the first thread's stack; 0: not known */
  u32 ended, finished;    /* the program is ending; it waits no longer */
  u32 exiting;            /* it has called exit */
  u32 deserted;           /* all threads of the program have ended, and those of the runtime must end */
  struct usage *usage;    /* of threads, see timed_usage.c */
  u8 *arrivals;           /* memory of timed_arrive.c */
  struct raisers raisers;
  struct switches *switches; /* stacks that were suspended, see timed_switch.c; 0: none yet */
  struct spikes *spikes;  /* the program's callback for spikes; 0: none */
  struct hooks *hooks;    /* state of hooks, see hook.h; 0: none */
  struct thread *threads; /* only ever grows */

  struct stacks_state stacks;
  struct flight_state flight;
  struct frames_state frames;
  struct channel_state channel;
  struct control_state control;
  struct time_state time;
  struct exact_state exact CACHE_LINE;
  struct signal_state signal;
  struct counters count CACHE_LINE;
  struct queue_state queue;
  struct log_state log;
  struct open_state open;
  struct limit_state limit;
  struct modules_state modules;
  struct executable exe;
};

#endif

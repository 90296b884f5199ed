/* The runtime of the timed modes: what its files share.
 *
 *   timed_exit_MACHINE.S  an exit that looks slow comes here, __cairn_slow
 *   timed_slow.c    what it does: intervals, thresholds, episodes
 *   timed_mark.c    what programs say: thresholds, pauses, texts
 *   timed_scope.c   scopes that programs mark
 *   timed_stack.c   the stack of an episode
 *   timed_region.c  which stack a call is on
 *   timed_usage.c   why a call took long
 *   timed_frame.c   frames of the program
 *   timed_snapshot.c  a stack that the program asks for
 *   timed_callback.c  what the program is told of its spikes
 *   timed_clock.c   the coarse clock and its thread
 *   timed_family.c  one clock for a process and those that it forked
 *   timed_signal.c  the coarse clock kept by signals
 *   timed_tsc.c     the exact clock
 *   timed_stamp.c   beginnings of calls, by either
 *   timed_queue.c   what threads leave for the log
 *   timed_log.c     the log and the thread that writes it
 *   timed_file.c    chunks of the log's file
 *   bus.c           files of logs that others make shorter
 *   leader.c        processes of which the runtime is all that is left
 *   timed_module.c  modules of the process
 *   timed_words.c   the words of CAIRN_SPIKE
 *   timed_channel.c names of conditions
 *   timed_control.c the socket and the file that change all that while it runs
 *   timed_window.c  the window
 *   timed_masked_MACHINE.c  code for a smaller window
 *   timed_stub_x86_64.S   where such code comes to
 *   timed_start.c   the environment, fork, the end
 *
 * It needs no C library: it calls the kernel itself and uses what it finds
 * of a C library (weak symbols). Nothing here may use vector registers: a slow
 * exit has a return value in them. */
#ifndef CAIRN_TIMED_H
#define CAIRN_TIMED_H

#include "timedwire.h"
#include "kernel.h"
#include "bus.h"
#include "clock.h"

/* ---- what is shared by all modules of a process ---- */

enum { MODULES = 512, SEEN_SLOTS = (LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) / LOG_SEEN_SIZE, SEEN_INDEX = 2048, LIMITED = 1024, BASES = 64 };
enum { THREAD_STACK = 32768, SCRATCH = 16384, CONTROL_PATH = 2048, CONTROL_LINE = 4096, CONTROL_CLIENTS = 8, MAX_DIR = 1024 };

struct module {
  u64 start, end, bias;
  u64 path_hash;
  u32 number;
  u8 known; /* in the last listing */
};

/* The log's file. Only its writer touches it. */
struct file {
  i32 fd; /* -1: none */
  u64 device, inode; /* a program may close what it does not know, and open its own */
  u64 size;          /* at least, as it was written */
  u8 failed, full;   /* full: no more chunks */
  u32 chunks; /* in the file */
  u32 sequence;
  u8 *first; /* the chunk with the trailer */
  u8 *chunk; /* the one being filled */
  u32 used;  /* bytes of its payload */
  u64 last;  /* time of its last record */
  u8 *seen;
  u32 seen_count;
  u16 seen_index[SEEN_INDEX]; /* slot plus one, by hash of what was seen */
};

/* A moment on both clocks, where calls are timed by the TSC: between tsc and width more. */
struct moment {
  u64 tsc, width, ns;
};
/* A thread's timer, by which it keeps the clock. */
struct timer {
  i32 tid;   /* 0: free */
  i32 id;    /* plus one; 0: it is being made */
  u32 round; /* when the thread was seen last */
};
enum { TIMERS = 1024, OWN_THREADS = 8 };
/* Who has connected to the control socket, and what was said so far. */
struct client {
  i32 fd; /* -1: nobody */
  u64 n, since;
  char line[CONTROL_LINE];
};
struct rate {
  u64 hz, error; /* of the TSC; of that, in 10^-9 */
};
enum { RATES = 8 };

struct thread;
struct usage;
struct trees;
struct spikes;
struct summary;
struct hooks;
struct channel;
struct channels {
  struct channel *from, *to;
};

/* Kinds of runtime: what the slots of the window hold. Modules of one kind share
 * one state; the states of a process are in a list. In the word abi the kind comes
 * after the name of this layout: modules with another layout keep to themselves.
 * The first three fields are where all layouts with that name have them. */
enum { KIND_SPIKE, KIND_EXACT, KIND_STACKS };
#define TIMED_ABI 0x33435400u
struct process {
  u32 abi, size;
  struct process *other; /* of another kind */
  u32 kind;
  u8 *base; /* of the window; see CLOCK */
  u64 window; /* its size */
  u32 mask;   /* of stack pointers */
  u64 origin; /* when the clock was 1 */
  i32 pid;
  u8 shared;     /* the window is a file's memory: a child needs its own */
  u8 check_pid;  /* the kernel does not wipe memory of children */
  u8 off, to_stderr, forked;
  u64 threshold, period, rate;
  u64 fork_time;  /* 0: not a child */
  u32 low;        /* inline threshold when not switched off: us, with the exact clock ns */
  u32 slop;       /* ns by which entries may seem to be out of order */
  u32 thread_count;
  int (*gettime)(int, u64 *); /* in the vDSO; 0: ask the kernel */
  u64 xsave_mask; /* 0: fxsave */
  char dir[MAX_DIR]; /* of logs; "": none */
  u32 bases;
  u64 base_word[BASES]; /* where modules keep the window's address */
  u64 start_real, start_mono, start_tsc;
  u64 main_top; /* of the first thread's stack; 0: not known */
  /* of mode stacks, see tree.c; 0: none */
  struct trees *trees;
  void (*tree_write)(struct process *, int final);
  u64 tree_pause; /* until it is written again */
  void (*tree_forked)(struct process *);
  /* of the flight recorder, see flight.c; 0: none */
  struct flight *flight;
  u32 flight_chunks, flight_missed; /* of a ring; spikes without a window */
  void (*flight_left)(struct process *, u64 sp);
  void (*flight_freeze)(struct process *, struct thread *, u64 number, u64 lo, u64 hi, u64 e);
  void (*flight_forked)(struct process *);
  struct hooks *hooks; /* of functions that others compiled, see hook.h; 0: none */
  struct summary *frames; /* in the log; 0: none ended */
  u64 frames_from, frame_end, budget;
  struct usage *usage; /* of threads, see timed_usage.c */
  u32 frames_shift;
  struct spikes *spikes; /* that the program wants to be told; 0: none */
  u64 snapshots;         /* of the episodes */
  u32 ended, finished;   /* the program ends in order, and waits no more */
  u32 deserted;          /* its threads have ended, and those of the runtime shall */
  /* what can be changed while it runs, see timed_control.c */
  u8 quiet;         /* switched off for now */
  u8 fixed_period;  /* the environment has set it */
  u8 control;       /* a socket is wanted */
  u8 controlled;    /* its thread was started */
  u32 control_failed;
  u32 words_lock;
  i32 reload_signal; /* 0: none */
  u32 reload;        /* the signal came */
  u32 channel_sets;
  struct channels channel_set[BASES]; /* of the modules */
  char channel_words[512];            /* for those to come */
  char control_at[1024], reload_file[1024];
  char control_path[CONTROL_PATH]; /* of the socket that is there */
  char log_path[CONTROL_PATH];
  char control_reply[8192];
  struct client client[CONTROL_CLIENTS];
  u64 setting[4]; /* threshold, period, rate and quiet, when the log was told */
  u32 settings;   /* records of that */
  u8 control_stack[THREAD_STACK] __attribute__((aligned(64)));

  /* the clock; see timed_family.c */
  struct clock *clock;
  struct member *member;
  u8 family;     /* others may move it */
  u8 others_led; /* before this one did */
  u32 slot;      /* of the process in it */
  i64 seccomp;   /* what filters of system calls there were at the start */
  u32 clock_tid; /* of its thread */
  u64 robust_head[3], robust_node;
  struct clock own_clock __attribute__((aligned(64))); /* where it is no family's */

  /* the clock's thread writes */
  u64 clock_cpu __attribute__((aligned(64)));
  struct moment reference[2]; /* of the exact clock: what its rate is measured from */
  struct rate rates[RATES];
  u64 rate_number;
  /* of the clock that signals keep */
  u8 by_signal;    /* it is asked for */
  i32 tick_signal; /* 0: none */
  i32 own[OWN_THREADS]; /* threads of the runtime */
  u32 owned;
  u32 timer_round, signalled, blocked;
  u64 task_count, scanned, timer_period, passed_over;
  struct timer timer[TIMERS];

  /* any thread writes */
  u64 episodes __attribute__((aligned(64)));
  u64 borderline, slow, dropped, frame, backwards;
  struct thread *threads; /* only ever grows */
  u32 wake; /* futex of the writer */
  u32 flush_want, flush_done;
  u32 awaited; /* a thread has waited for the log to be opened */
  u32 queue_lock, queues_left;
  u8 *queue_chunk; /* of the log, with parts of queues that nobody has yet */

  /* the writer writes */
  struct file file __attribute__((aligned(64)));
  u64 log_switches; /* of its thread */
  u32 log_tid;
  u64 limited, second, in_second, parent_second, in_parent_second;
  u64 left_out[LIMITED]; /* numbers of episodes */
  struct module module[MODULES];
  u32 modules, module_numbers;
  u64 modules_at, list_pause;
  u8 unknown; /* an address of a stack is in no module that was listed */
  u8 seeking; /* only the executable is looked for */
  u8 exe_id[LOG_MAX_BUILD_ID];
  u32 exe_id_len;
  char exe[4096];
  u8 scratch[SCRATCH] __attribute__((aligned(16)));
  u8 taken[4096] __attribute__((aligned(16))); /* a record of a queue */
  u8 clock_stack[THREAD_STACK] __attribute__((aligned(64)));
  u8 log_stack[THREAD_STACK] __attribute__((aligned(64)));
};

/* Words below the window that inserted code reads, and one that says that something is to
 * be written. They are on a page of their own, which others may have as well, see
 * timed_family.c; if nobody has, it is zeroed in a child made by fork: until the handler
 * of fork has run, the child's clock stands at "no entry seen". ALIVE is on another page,
 * which is zeroed in any child. */
enum { CLOCK = -64, LOW = -60, TREE_CLOCK = -48, EXACT_LOW = -40, PENDING = -32, ALIVE = -64 - PAGE_SIZE };
_Static_assert(sizeof(struct member) <= PAGE_SIZE - 64, "it is in front of the words");
#define TREE_RUNNING (1ul << 50) /* what the clock of the tree is above; see tree.h */
#define word(p, at) ((u32 *)((p)->base + (at)))
#define slot(p, sp) ((p)->base + ((u32)(sp) & (p)->mask))

extern struct process *__cairn_process __attribute__((visibility("default")));
extern u8 *__cairn_base HIDDEN;

/* The state that this module is part of. */
extern struct process *__cairn_state HIDDEN;

/* ---- a thread ---- */

/* A slow exit: entered in [t0, t1], left at e. */
struct slow_call {
  u64 site, sp, t0, t1, e;
  u32 stack; /* its number, see timed_region.c */
  char section[32]; /* the beginning of its name, if it is one */
};

/* What mark-up says of a frame, named by its stack pointer at entry. */
struct annotation {
  u64 sp, at;        /* at: when it was made; a frame entered later is another one */
  u64 own, children; /* thresholds; 0: none */
  u32 flags;
  u64 pc;            /* of a scope: in the function, see timed_scope.c */
  const char *name;  /* of a section */
  const void *scope; /* the variable in the program */
  u64 frame, caller; /* where its function was entered, and goes back to */
};
enum { NOTE_IGNORE = 1, NOTE_IGNORE_CHILDREN = 2, NOTE_SCOPE = 4 };

struct open_episode {
  u64 number, sp, t0;
  u32 stack;
};

/* A stack that is not the thread's own: its outermost frame, and the lowest that was seen.
 * Handlers of signals have theirs. */
struct region {
  u64 lo, top;
  u32 number, handlers;
};

struct pause {
  u64 from, to;
};

/* What the kernel counts for a thread: processor time; faults, minor and major; switches,
 * voluntary and not. */
struct reading {
  u64 at, cpu;
  u32 count[4];
};

enum { READING_RINGS = 5, READINGS = 8 };
enum { CALLS = 1024, NOTES = 64, OPEN = 16, REGIONS = 64, PAUSES = 32, QUEUE = 1 << 19, QUEUE_BLOCK = 65536, XSAVE = 2816 };

struct thread {
  u8 vectors[XSAVE] __attribute__((aligned(64)));
  struct thread *next;
  u64 tp;     /* its thread pointer */
  i32 owner;  /* tid; 0: free */
  u32 busy, inactive, paused;
  u64 busy_since;
  struct reading reading[READING_RINGS][READINGS], now, was; /* see timed_usage.c */
  u32 readings[READING_RINGS];
  u64 reported; /* how long the last call took that was reported */
  u64 parents, parents_sp, parents_at; /* threshold for the frames above */
  u64 left_at; /* where the unwinder meets the call that is judged */
  struct calls *made; /* its open calls, see hook_calls.c; 0: none */
  u32 notes, opened, named;
  u32 pauses;
  u64 paused_before; /* pauses that are in the ring no more, summed */
  struct annotation note[NOTES];
  struct open_episode open[OPEN]; /* ring of opened */
  struct pause pause[PAUSES];     /* ring of pauses */
  u64 calls;
  struct slow_call call[CALLS]; /* ring */
  /* queue of records for the writer, see timed_queue.c: this thread moves heads, the
   * writer the others. In memory there is room up to tail and a lap. */
  u64 head, tail, read;
  u64 parent_at; /* the writer's: when the last caller in the log ended, and its frame */
  u32 parent_sp;
  u64 log_head, log_next, log_read; /* of the part in the log; next: what the writer sees */
  u8 *logged;                       /* that part; 0: none yet */
  u8 *log_chunk;                    /* that this thread has made, for others as well */
  u8 in_log;                        /* what was reserved is there */
  struct ring *ring; /* of the flight recorder */
  u64 own_lo, own_hi; /* its stack, but that of the first thread; 0: not known yet */
  u32 regions, region_number; /* number: the last that was given */
  struct region region[REGIONS];
  char name[64]; /* given by the program */
  u32 name_len;
  u8 queue[QUEUE] __attribute__((aligned(4096)));
};

/* ---- functions ---- */

/* window returns a new state with its window, the whole one unless masked is set or
 * there is no room for it; or ends the process. */
HIDDEN struct process *__cairn_window(u32 kind, int masked);
HIDDEN void __cairn_window_free(struct process *p);
HIDDEN int __cairn_own_window(struct process *p);
/* masked makes this module's code fit for a window that is not whole. */
HIDDEN void __cairn_masked(struct process *p);

HIDDEN int __cairn_word_is(const char *s, const char *w);
HIDDEN u64 __cairn_time_of(const char *s);
HIDDEN void __cairn_misread(const char *s, const char *why);
HIDDEN void __cairn_options(struct process *p, const char *s);
HIDDEN const char *__cairn_set(struct process *p, const char *words);
HIDDEN void __cairn_switch(struct process *p, int on);
HIDDEN void __cairn_new_threshold(struct process *p, u64 ns);
HIDDEN void __cairn_show_low(struct process *p);
HIDDEN int __cairn_channel_word(struct process *p, const char *s, int obey);
HIDDEN void __cairn_channels_start(struct process *p);
HIDDEN char *__cairn_put_channels(struct process *p, char *to, const char *end);
HIDDEN i32 __cairn_signal_of(const char *s);
HIDDEN void __cairn_reload_start(struct process *p);
HIDDEN void __cairn_control(struct process *p);
HIDDEN void __cairn_control_thread(struct process *p);
HIDDEN void __cairn_control_end(struct process *p);
HIDDEN i64 __cairn_spawn(void (*f)(struct process *), struct process *p, u8 *stack);
HIDDEN u64 __cairn_now(struct process *p);
/* stamp says that the call with stack pointer sp begins now, unstamp that its entry was
 * not seen. is_long tells whether it seems to have taken long. entered gives the bounds
 * of its entry, as of e, or returns 0 if it was not seen. */
HIDDEN void __cairn_stamp(struct process *p, u64 sp);
HIDDEN void __cairn_unstamp(struct process *p, u64 sp);
HIDDEN int __cairn_is_long(struct process *p, u64 sp);
HIDDEN int __cairn_entered(struct process *p, u64 sp, u64 e, u64 *t0, u64 *t1);
HIDDEN void __cairn_signal_start(struct process *p);
HIDDEN void __cairn_signal_thread(struct process *p, i32 tid);
HIDDEN void __cairn_signal_scan(struct process *p, u64 now);
HIDDEN void __cairn_signal_blocked(struct process *p);
HIDDEN void __cairn_exact_start(struct process *p);
HIDDEN void __cairn_exact_thread(struct process *p);
HIDDEN void __cairn_exact_interval(struct process *p, u64 stamp, u64 e, u64 *t0, u64 *t1);
HIDDEN u64 __cairn_ticks(struct process *p, u64 ns);
HIDDEN void __cairn_log_thread(struct process *p);
HIDDEN int __cairn_deserted(i32 pid);
HIDDEN int __cairn_is_there(i32 tid);
HIDDEN void __cairn_follow(i32 pid);
HIDDEN struct thread *__cairn_thread(struct process *p);
HIDDEN void __cairn_wake(struct process *p);
HIDDEN void __cairn_frame_ended(struct process *p, const u64 *f);
HIDDEN void __cairn_flush(struct process *p);
HIDDEN void __cairn_end(struct process *p);
HIDDEN void __cairn_callback_spike(struct process *p, const u64 *episode, i32 tid, const char *thread, u64 n);
HIDDEN void __cairn_callback_text(struct process *p, u64 number, const char *text, u64 n);
HIDDEN int __cairn_callback_ready(struct process *p, int all);
HIDDEN void __cairn_callback_end(struct process *p);
HIDDEN void __cairn_callback_desert(struct process *p);
HIDDEN void __cairn_section_of(const struct thread *t, u64 sp, char *to, u64 room);
HIDDEN void __cairn_settle(struct thread *t, u64 frame);
HIDDEN void __cairn_usage_start(struct process *p);
HIDDEN void __cairn_usage_forget(struct thread *t);
HIDDEN void __cairn_usage_tick(struct process *p, u64 now);
HIDDEN u32 __cairn_usage_read(struct process *p, struct thread *t, u64 t0, u64 e);
HIDDEN void __cairn_usage_write(struct process *p, struct thread *t, u64 number, const struct slow_call *c);

/* stack fills entries of the stack from the frame that is left at site with
 * stack pointer sp, and returns how many; see timed_stack.c. */
struct entry {
  u64 pc, lo, hi;
  u32 flags, sp;
};
/* call_times gives entries the times of calls that compilers hook; see hook_calls.c. */
HIDDEN void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e) __attribute__((weak));
HIDDEN u8 *__cairn_reserve(struct thread *t, u64 size);
HIDDEN void __cairn_commit(struct thread *t, u8 *record, u32 type, u64 size);
HIDDEN void __cairn_publish(struct process *p, struct thread *t, u8 *record, u32 type, u64 size);
HIDDEN void __cairn_queue_ready(struct process *p, struct thread *t);
HIDDEN void __cairn_queue_forget(struct thread *t);
HIDDEN int __cairn_queue_empty(struct thread *t);
HIDDEN void __cairn_queue_drain(struct process *p, struct thread *t, void (*take)(struct process *, struct thread *, u8 *));
HIDDEN void __cairn_file_copy(struct process *p, const u8 *record, u32 size, u64 time);
HIDDEN u64 __cairn_rule(struct process *p, struct thread *t, u64 sp, u64 t0, u32 *flags);
HIDDEN void __cairn_regions_start(struct process *p);
/* region returns the number of the stack that sp is on, from a call on it or from a
 * handler of a signal that came there; LOG_STACK_UNKNOWN if that cannot be told. */
HIDDEN u32 __cairn_region(struct process *p, struct thread *t, u64 sp);
/* stack_at gives the bounds of the stack that sp is on, as far as they are known, and
 * what is known of it, 0 for the thread's own. They are 0 if that cannot be told. */
HIDDEN struct region *__cairn_stack_at(struct process *p, struct thread *t, u64 sp, u64 *low, u64 *size);
HIDDEN int __cairn_has_unwinder(void);
HIDDEN void __cairn_keep_vectors(struct process *p, u8 *area);
HIDDEN void __cairn_restore_vectors(struct process *p, u8 *area);
HIDDEN u32 __cairn_stack(struct process *p, struct thread *t, u64 site, u64 sp, u64 rbp, u64 e, struct entry *out,
                         u32 max, u32 *frames, u32 *flags);

HIDDEN int __cairn_file_open(struct process *p);
HIDDEN void __cairn_file_drop(struct process *p);
HIDDEN void __cairn_file_unmap(u8 *chunk);
HIDDEN void __cairn_file_look(struct process *p);
HIDDEN void __cairn_file_reached(struct process *p, u64 size);
HIDDEN void *__cairn_file_record(struct process *p, u32 type, u32 size, u32 a, u64 time);
HIDDEN u8 *__cairn_file_seen(struct process *p);
HIDDEN u8 *__cairn_file_chunk(struct process *p, u32 kind, u64 time);
HIDDEN void __cairn_file_header(struct process *p);
HIDDEN int __cairn_file_own(struct process *p);
HIDDEN i64 __cairn_file_grow(struct process *p, u32 n, u8 **at, u32 *number);
HIDDEN void __cairn_flight_start(struct process *p, int first);
HIDDEN int __cairn_begin(struct process *p);
HIDDEN void __cairn_modules(struct process *p);
HIDDEN void __cairn_forget_threads(struct process *p);
HIDDEN int __cairn_known(struct process *p, u64 pc);
HIDDEN struct module *__cairn_module_of(struct process *p, u64 pc);
HIDDEN void __cairn_trailer(struct process *p, int final);

/* For mark-up. sp is the stack pointer at entry of the function that is marked
 * up, which holds its return address. Times are nanoseconds. All may be called
 * in any state of the process, and do nothing where there is no runtime. */
HIDDEN void __cairn_set_threshold(u64 ns);
HIDDEN void __cairn_note(u64 sp, u64 own, u64 children, u32 flags);
HIDDEN void __cairn_note_end(u64 sp);
HIDDEN void __cairn_note_parents(u64 sp, u64 ns);
HIDDEN int __cairn_over(u64 sp); /* is the call longer than its threshold already? */
HIDDEN void __cairn_pause(void);
HIDDEN void __cairn_resume(void);
HIDDEN void __cairn_thread_active(int active);
HIDDEN void __cairn_frame(u64 number);
HIDDEN void __cairn_thread_name(const char *name);
HIDDEN void __cairn_text(u32 kind, u64 sp, u64 pc, const char *text, u64 len);

/* leave judges the end of a call, as an exit that looks slow does: site is in the
 * function, sp names the call, frame is the stack pointer at entry of the function,
 * rbp its caller's frame pointer or 0. Returns the number of the episode that the
 * call is the peak or a parent of, or 0. */
HIDDEN u64 __cairn_leave(u64 site, u64 sp, u64 frame, u64 rbp);
/* leave_at is the same for a call that was hooked: its stack is looked for from the
 * frame whose pc is at, in the hook or in the function. */
HIDDEN u64 __cairn_leave_at(u64 at, u64 site, u64 sp, u64 frame, u64 rbp);
/* scopes adds the open scopes from sp outwards to a stack of n entries, which has
 * room for max, and returns how many there are now. */
HIDDEN u32 __cairn_scopes(struct process *p, struct thread *t, u64 sp, u64 e, struct entry *stack, u32 n, u32 max);
/* scope_names writes the names of those scopes that are sections. */
HIDDEN void __cairn_scope_names(struct thread *t, u64 number, u64 sp);
HIDDEN void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len);

#include TIMED_MACHINE

#endif

/* The runtime of the timed modes: declarations that its files share.
 *
 *   timed_exit_MACHINE.S  __cairn_slow, which an exit calls if its call looks slow
 *   timed_slow.c    evaluates it: intervals, thresholds, episodes
 *   timed_mark.c    marks of programs: thresholds, pauses, texts; notes.h: what Windows and macOS have of them, too
 *   timed_scope.c   scopes that programs mark
 *   timed_stack.c   the stack of an episode
 *   timed_region.c  which stack a call is on
 *   timed_switch.c  stacks that are suspended
 *   timed_usage.c   why a call took long
 *   timed_wait.c    what a thread waits for
 *   timed_frame.c   frames of the program
 *   timed_arrive.c  calls that exceptions have left
 *   timed_open.c    calls that have not ended
 *   timed_ask.c     threads that ask for a look at them, and wait
 *   timed_walk.c    stacks by unwind tables
 *   timed_snapshot.c  a stack that the program requests
 *   timed_callback.c  callbacks of the program for its spikes
 *   timed_clock.c   the coarse clock and its thread
 *   timed_family.c  one clock for a process and its children
 *   timed_signal.c  the coarse clock kept by signals
 *   timed_tsc.c     the exact clock
 *   timed_stamp.c   stamps of entries, by either clock
 *   timed_queue.c   queues of records from threads to the log
 *   timed_log.c     the log and the thread that writes it
 *   timed_file.c    chunks of the log's file
 *   bus.c           logs that other processes truncate
 *   leader.c        processes in which only the runtime is left
 *   timed_module.c  modules of the process
 *   timed_words.c   the words of CAIRN_SPIKE
 *   timed_channel.c names of conditions
 *   timed_control.c the socket and the file that change settings at run time
 *   timed_window.c  the window
 *   timed_masked_MACHINE.c  changes code for a smaller window
 *   timed_stub_x86_64.S   routines that such code calls
 *   timed_start.c   the environment, fork, the end
 *   timed_local.c   what a process has once for all modules
 *   timed_services.S   what libraries call
 *   timed_guest.c   libraries: how they find that, and leave
 *   guest_start.c, guest_calls_MACHINE.S  libraries without a runtime of their own
 *   guest_preinit.c  executables without one
 *   timed_host.S    the library that they load if there is none
 *
 * It needs no C library: it makes system calls itself and uses functions of a C library if they
 * exist (weak symbols). Nothing here may use vector registers: at a slow exit they hold a return
 * value. */
#ifndef CAIRN_TIMED_H
#define CAIRN_TIMED_H

#include "process.h"

/* ---- what is shared by all modules of a process ---- */

/* Words below the window that inserted code reads, and one that is set if something must be
 * written. They are on a page of their own, which relatives may share, see timed_family.c;
 * otherwise a child made by fork gets it zeroed: until the handler of fork has run, its clock is 0,
 * "no entry seen". ALIVE is on another page, which is zeroed in any child. */
enum { CLOCK = -64, LOW = -60, TREE_CLOCK = -48, EXACT_LOW = -40, PENDING = -32, ALIVE = -64 - PAGE_SIZE };
_Static_assert(sizeof(struct member) <= PAGE_SIZE - 64, "it is in front of the words");
#define TREE_RUNNING (1ull << 50) /* base of the tree's clock; see tree.h */
#define word(p, at) ((u32 *)((p)->base + (at)))
#if !__arm__ /* which has no window: see timed_arm.h */
#define slot(p, sp) ((p)->base + ((u32)(sp) & (p)->mask))
#endif

#if __ANDROID__ /* each module has one, of which they take the first that was made: see slot.h */
#define SHARED HIDDEN
/* exit calls no destructors of libraries that a program has loaded itself. */
extern const u8 __cairn_preinit HIDDEN __attribute__((weak));
#define ENDS_WITH_EXIT (!&__cairn_preinit)
#else
#define ENDS_WITH_EXIT 0
#define SHARED __attribute__((visibility("default")))
#endif
extern struct process *__cairn_process SHARED __attribute__((weak));
extern u8 *__cairn_base HIDDEN;

/* The state that this module shares. */
extern struct process *__cairn_state HIDDEN;

/* ---- a thread ---- */

/* The recording state of a thread: position is the end of its last event, clock the value of
 * the clock at that event. Left is the stack pointer of the last exit, or odd if there was
 * none since the last entry. low and size are the known bounds of the thread's current stack. */
struct flight_at {
  u64 position;
  u32 clock, left;
  u64 low, size;
};
enum { FLIGHT_NONE = 0xfff8 }; /* a position that is full */

/* What each thread has, at the same distance from the thread pointer in all. Each module keeps the
 * distance in a word, which inserted code adds to the thread pointer; the code depends on the
 * offsets. Before the module has started, the sum is no valid address. */
#if __ANDROID__
/* The C library leaves one word to apps: see slot.h. */
struct local {
  struct node *node; /* 0: none yet */
};
#else
struct local {
  union {
    struct flight_at flight;
    struct node *node; /* current one of mode stacks */
    u32 innermost;     /* on Armv7 in mode spike: the stack pointer of the innermost call at its entry, 0: none */
  };
  struct thread *thread; /* its state, see timed_slow.c; 0: not made yet */
};
#endif
extern u64 __cairn_local HIDDEN;
extern u8 __cairn_plain HIDDEN; /* this module records nothing: __cairn_local is an address, see plain.h */
#define own_local() ((struct local *)(uword)((__cairn_plain ? 0 : thread_pointer()) + __cairn_local))
/* own_local returns the distance in an executable; 0 in a library. */
HIDDEN u64 __cairn_own_local(void);

/* A slow exit: entered in [t0, t1], left at e. */
struct slow_call {
  u64 site, sp, t0, t1, e;
  u64 away_lo, away_hi; /* for how long its stack did not run */
  u32 stack; /* its number, see timed_region.c */
  char section[32]; /* the beginning of its section's name, if it is one */
};

/* What marks say of a frame, which its stack pointer at entry identifies. */
struct annotation {
  u64 sp, at;        /* at: time of the annotation; a frame entered later is another one */
  u64 own, children; /* thresholds; 0: none */
  u32 flags;
  u64 pc;            /* of a scope: address in the function, see timed_scope.c */
  const char *name;  /* of a section */
  const void *scope; /* the variable in the program */
  u64 frame, caller; /* stack pointer at entry and return address of its function */
};
enum { NOTE_IGNORE = 1, NOTE_IGNORE_CHILDREN = 2, NOTE_SCOPE = 4 };

struct open_episode {
  u64 number, sp, t0;
  u32 stack;
};

#include "region.h"

struct pause {
  u64 from, to;
};

/* What the kernel counts for a thread: processor time; faults, minor and major; switches,
 * voluntary and not. */
struct reading {
  u64 at, cpu;
  u32 count[4];
};

/* An entry of a stack, as package wire documents it. */
struct entry {
  u64 pc, lo, hi;
  u32 flags, sp;
};

/* The stack of a call that an exception has left, which the unwinder does not find any more. */
struct left {
  const struct entry *stack; /* from that call outwards; 0: none */
  u32 n;
};

enum { READING_RINGS = 5, READINGS = 8 };
enum { CALLS = 1024, NOTES = 64, OPEN = 16, PAUSES = 32, QUEUE = 1 << 19, QUEUE_BLOCK = 65536, XSAVE = 2816 };

struct thread {
  u8 vectors[XSAVE] __attribute__((aligned(64)));
  struct thread *next;
  u64 tp;     /* its thread pointer */
  i32 owner;  /* tid; 0: free */
  u32 busy, inactive, paused;
  u64 busy_since;
  struct reading reading[READING_RINGS][READINGS], now, was; /* see timed_usage.c */
  u32 readings[READING_RINGS];
  u64 reported; /* duration of the last reported call */
  u64 parents, parents_sp, parents_at; /* threshold for the frames above */
  struct left left;
  struct {
    u64 at, pc, rbp; /* stack pointer, place and frame pointer of the last landing pad, see timed_arrive.c */
  } landed;
  u64 left_at; /* where the unwinder finds the call that is judged */
  struct calls *made; /* its open calls, see hook_calls.c; 0: none */
  u32 notes, opened, named;
  u32 pauses;
  u64 paused_before; /* sum of the pauses that are no longer in the ring */
  struct annotation note[NOTES];
  struct open_episode open[OPEN]; /* ring of opened */
  struct pause pause[PAUSES];     /* ring of pauses */
  u64 calls;
  struct slow_call call[CALLS]; /* ring */
  /* queue of records for the writer, see timed_queue.c: this thread advances the heads, the writer
   * the others. The part in memory has room up to tail plus its size. */
  u64 head, tail, read;
  u64 parent_at; /* the writer's: end of the last caller in the log, and its frame */
  u32 parent_sp;
  u64 log_head, log_next, log_read; /* of the part in the log; next: as the writer sees it */
  u8 *logged;                       /* that part; 0: none yet */
  u8 *log_chunk;                    /* made by this thread, also for others */
  u8 in_log;                        /* the reserved record is in the log */
  struct ring *ring; /* of the flight recorder */
  u64 own_lo, own_hi; /* bounds of its stack, except for the first thread; 0: not known yet */
  u32 regions, region_number; /* number: the latest */
  struct region region[REGIONS];
  char name[64]; /* given by the program */
  u32 name_len;
  u8 queue[QUEUE] __attribute__((aligned(4096)));
};

/* ---- functions ---- */

/* window returns a new state with its window, or ends the process. The window is the whole one
 * unless masked is set or there is no room for it. */
HIDDEN struct process *__cairn_window(u32 kind, int masked);
HIDDEN void __cairn_window_free(struct process *p);
HIDDEN int __cairn_own_window(struct process *p);
/* masked changes this module's code for a window that is not whole. */
HIDDEN void __cairn_masked(struct process *p);

HIDDEN void __cairn_timed_start(int argc, char **argv, char **envp);

HIDDEN int __cairn_word_is(const char *s, const char *w);
HIDDEN u64 __cairn_time_of(const char *s);
HIDDEN void __cairn_misread(const char *s, const char *why);
HIDDEN void __cairn_options(struct process *p, const char *s);
HIDDEN const char *__cairn_set(struct process *p, const char *words);
HIDDEN void __cairn_switch(struct process *p, int on);
HIDDEN void __cairn_new_threshold(struct process *p, u64 ns);
HIDDEN void __cairn_show_low(struct process *p);
HIDDEN int __cairn_channel_word(struct process *p, const char *s, int apply);
HIDDEN void __cairn_add_channels(struct process *p, struct channel *from, struct channel *to);
/* channels_start adds the channels of this module. The linker defines their bounds, if it has any. */
extern u8 __start_cairn_channels[] __attribute__((weak, visibility("hidden")));
extern u8 __stop_cairn_channels[] __attribute__((weak, visibility("hidden")));
INLINE void channels_start(struct process *p) {
  u8 *from = __start_cairn_channels, *to = __stop_cairn_channels;
  if (from != to) __cairn_add_channels(p, (struct channel *)from, (struct channel *)to);
}
HIDDEN char *__cairn_put_channels(struct process *p, char *to, const char *end);
HIDDEN i32 __cairn_signal_of(const char *s);
HIDDEN void __cairn_reload_start(struct process *p);
HIDDEN void __cairn_control(struct process *p);
HIDDEN void __cairn_control_thread(struct process *p);
HIDDEN void __cairn_control_end(struct process *p);
/* rest follows a system call of a thread of the runtime that waits for up to ns and returned r. */
HIDDEN void __cairn_rest(struct process *p, i64 r, u64 ns);
HIDDEN i64 __cairn_spawn(void (*f)(struct process *), struct process *p, u8 *stack);
HIDDEN u64 __cairn_now(struct process *p);
/* stamp records that the call with stack pointer sp begins now; unstamp, that its entry was not
 * seen. is_long reports whether it seems to have taken long. entered returns the bounds of its
 * entry, as of e, or 0 if the entry was not seen. */
HIDDEN void __cairn_stamp(struct process *p, u64 sp);
HIDDEN void __cairn_unstamp(struct process *p, u64 sp);
HIDDEN int __cairn_is_long(struct process *p, u64 sp);
HIDDEN int __cairn_entered(struct process *p, u64 sp, u64 e, u64 *t0, u64 *t1);
/* stamp_age returns how long ago a call was entered, in units of the clock, of which stamp_now is
 * the time; NONE if its entry was not seen. */
HIDDEN u64 __cairn_stamp_now(struct process *p);
HIDDEN u64 __cairn_stamp_age(struct process *p, u64 sp, u64 now);
/* For timed_arrive_MACHINE.S; a reference to __cairn_base makes a function one with probes. */
extern u8 *__cairn_arrival_base HIDDEN;
extern u32 __cairn_arrival_mask HIDDEN, __cairn_arrival_exact HIDDEN;
extern u8 *__cairn_arrival_area HIDDEN;
HIDDEN void __cairn_arrivals_start(struct process *p);
HIDDEN void __cairn_arrivals_forked(struct process *p);
HIDDEN u32 __cairn_threads(struct process *p, i64 fd);
HIDDEN void __cairn_signal_start(struct process *p);
HIDDEN void __cairn_signal_thread(struct process *p, i32 tid);
HIDDEN void __cairn_signal_scan(struct process *p, u64 now);
HIDDEN void __cairn_signal_blocked(struct process *p);
HIDDEN void __cairn_signal_taken(struct process *p);
HIDDEN void __cairn_exact_start(struct process *p);
HIDDEN void __cairn_exact_thread(struct process *p);
HIDDEN void __cairn_exact_interval(struct process *p, u64 stamp, u64 e, u64 *t0, u64 *t1);
HIDDEN u64 __cairn_ticks(struct process *p, u64 ns);
HIDDEN void __cairn_log_thread(struct process *p);
HIDDEN void __cairn_leave_table(struct process *p);
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
HIDDEN void __cairn_callback_leave(struct process *p, u64 start, u64 end);
HIDDEN void __cairn_callback_desert(struct process *p);
HIDDEN void __cairn_section_of(const struct thread *t, u64 sp, char *to, u64 room);
HIDDEN void __cairn_settle(struct thread *t, u64 frame);
HIDDEN void __cairn_usage_start(struct process *p, int own_files);
HIDDEN void __cairn_usage_forget(struct thread *t);
HIDDEN void __cairn_usage_tick(struct process *p, u64 now);
HIDDEN u32 __cairn_usage_read(struct process *p, struct thread *t, u64 t0, u64 e);
HIDDEN void __cairn_usage_write(struct process *p, struct thread *t, u64 number, const struct slow_call *c);

/* stack fills entries with the stack, beginning with the frame of sp that returns at site, and
 * returns their number; see timed_stack.c. */
/* call_times sets the times of calls that compilers hook in entries; see hook_calls.c. */
HIDDEN void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e);
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
/* region returns the number of the stack that sp is on, as the stack of calls or of a signal
 * handler; LOG_STACK_UNKNOWN if it is not known. */
HIDDEN u32 __cairn_region(struct process *p, struct thread *t, u64 sp);
/* stack_at sets the known bounds of the stack that sp is on, 0 if they are unknown, and returns its
 * region, 0 for the thread's own stack. */
HIDDEN struct region *__cairn_stack_at(struct process *p, struct thread *t, u64 sp, u64 *low, u64 *size);
/* stack_key identifies the stack that the running call with stack pointer sp is on, the same in all
 * threads that run it; 0 if it is not known. */
HIDDEN u64 __cairn_stack_key(struct process *p, struct thread *t, u64 sp);
HIDDEN void __cairn_resumed(u64 sp);
HIDDEN void __cairn_stack_left(u64 sp);
HIDDEN void __cairn_stack_goes_on(u64 sp);
HIDDEN void __cairn_suspended(struct process *p, struct thread *t, u64 sp, u64 t0, u64 t1, u64 e, u64 *lo, u64 *hi);
HIDDEN int __cairn_on_signal_stack(u64 sp); /* on Armv7 */
HIDDEN u32 __cairn_outermost(void);
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
HIDDEN void __cairn_modules_join(struct process *p);
HIDDEN void __cairn_modules_leave(struct process *p);
HIDDEN struct gone *__cairn_gone(struct process *p, u64 start, const u64 *path_hash, u64 id_hash);
HIDDEN u64 __cairn_id_at(struct process *p, u64 start);
HIDDEN void __cairn_add_base(struct process *p, const void *at);
HIDDEN void __cairn_add_raisers(struct process *p, const u64 *functions);
extern const i32 __cairn_services[] HIDDEN; /* the number of calls, and their distances from here; see services.h */
/* Those of a library, see timed_guest.c; in an executable they do nothing, see timed_start.c. */
HIDDEN struct process **__cairn_guest_states(void);
HIDDEN int __cairn_guest_load(void);
HIDDEN int __cairn_guest_is_main(void);
HIDDEN int __cairn_guest_has_threads(void);
extern const char __cairn_host_path[] HIDDEN; /* with --shared-runtime, in which case CAIRN_HOST_PATH and CAIRN_HOST_SIZE are defined */
HIDDEN int __cairn_guest_is_early(void);
HIDDEN int __cairn_guest_plain(void);
HIDDEN void __cairn_early_start(void);
HIDDEN void __cairn_guest_pin(void);
HIDDEN void __cairn_pin(void);
HIDDEN int __cairn_guest_leave(struct process *p);
HIDDEN void __cairn_guest_arrive(struct process *p);
/* trees_start makes mode stacks a part of the process's state. */
HIDDEN void __cairn_trees_start(struct process *p);
HIDDEN int __cairn_list_again(struct process *p);
/* open_look looks for calls that go on and are over their threshold; see timed_open.c. */
HIDDEN void __cairn_open_look(struct process *p, int last);
HIDDEN void __cairn_open_ask(struct process *p, u32 longest);
HIDDEN void __cairn_cancel(void);
HIDDEN int __cairn_open_any(struct process *p);
HIDDEN u64 __cairn_open_pause(struct process *p, u64 pause);
HIDDEN void __cairn_open_ended(struct process *p, i32 tid, u64 sp, u64 t0, u64 e);
HIDDEN void __cairn_open_forget(struct process *p);
/* usage_still returns since when a thread's processor time is known to be cpu, 0 if it is not. */
HIDDEN u64 __cairn_usage_still(struct process *p, i32 tid, u64 cpu);
/* usage_wait copies what a thread that has waited in a system call since a time waits for, and reports whether that
 * is known: it is looked at when it has waited for half a threshold. */
struct wait;
HIDDEN int __cairn_usage_wait(struct process *p, i32 tid, i64 call, u64 since, struct wait *to);
HIDDEN void __cairn_forget_threads(struct process *p);
HIDDEN int __cairn_known(struct process *p, u64 pc);
HIDDEN int __cairn_peek(struct process *p, u64 at, void *to, u64 n);
/* is_stamped reports whether a function begins with the stamping code. */
HIDDEN int __cairn_is_stamped(struct process *p, u64 start);
HIDDEN struct module *__cairn_module_of(struct process *p, u64 pc);
HIDDEN void __cairn_trailer(struct process *p, int final);

/* What of the state is elsewhere on Windows and macOS, for rule.h and notes.h. */
#define common_threshold(p) load(&(p)->set.threshold)
#define is_quiet(p) (p)->set.quiet

/* Functions for marks. sp is the stack pointer at entry of the marked function, where its return
 * address is. Times are nanoseconds. They may be called in any state of the process, and do nothing
 * without a runtime. */
HIDDEN void __cairn_set_threshold(u64 ns);
HIDDEN void __cairn_note(u64 sp, u64 own, u64 children, u32 flags);
HIDDEN void __cairn_note_end(u64 sp);
HIDDEN void __cairn_note_parents(u64 sp, u64 ns);
HIDDEN int __cairn_over(u64 sp); /* has the call reached its threshold already? */
HIDDEN void __cairn_pause(void);
HIDDEN void __cairn_resume(void);
HIDDEN void __cairn_thread_active(int active);
HIDDEN void __cairn_frame(u64 number);
HIDDEN void __cairn_thread_name(const char *name);
HIDDEN void __cairn_text(u32 kind, u64 sp, u64 pc, const char *text, u64 len);

/* leave evaluates the end of a call, as a slow exit does: site is in the function, sp names the
 * call, frame is the stack pointer at entry of the function, rbp its caller's frame pointer or 0.
 * Returns the number of the episode that the call is the peak or a parent of, or 0. */
HIDDEN u64 __cairn_leave(u64 site, u64 sp, u64 frame, u64 rbp);
/* left evaluates a call that did not return: t->left has its stack. */
HIDDEN void __cairn_left(struct process *p, struct thread *t, u64 pc, u64 sp, u64 t0, u64 t1, u64 e);
/* leave_at is the same for a call that was hooked: its stack begins with the frame whose pc is at,
 * in the hook or in the function. */
HIDDEN u64 __cairn_leave_at(u64 at, u64 site, u64 sp, u64 frame, u64 rbp);
/* scopes appends the open scopes from sp outwards to a stack of n entries, with room for max, and
 * returns the new number of entries. */
HIDDEN u32 __cairn_scopes(struct process *p, struct thread *t, u64 sp, u64 e, struct entry *stack, u32 n, u32 max);
/* scope_names writes the names of those scopes that are sections. */
HIDDEN void __cairn_scope_names(struct thread *t, u64 number, u64 sp);
HIDDEN void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len);

#include TIMED_MACHINE

#endif

/* The runtime of the timed modes for Windows: what its files share. CAIRN_MODE is the mode that it is compiled for.
 *
 *   coff_timed.c    modules that share the state, exceptions, the end
 *   coff_words.c    the environment
 *   coff_clock.c    the clock and its thread, the window
 *   coff_plain.c    processes without a window
 *   coff_log.c      the log and the modules in it
 *   coff_routine.h  routines that inserted code calls
 *   coff_judge.c    mode spike: calls that seem slow: intervals, thresholds, episodes
 *   coff_mark.c     what marks of programs (marks.h) get from Windows; coff_notes.h: what their sources share with c/timed
 *   coff_stack.c    stacks by unwind tables
 *   coff_mirror.h   stacks whose return addresses detours replace, which other programs do not have
 *   coff_fiber.c    for how long stacks did not run
 *   coff_watch.c    what the clock's thread sees of the others: processor time, waits
 *   coff_control.c  control while the program runs
 *   coff_flight.c   the flight recorder, if it is compiled with CAIRN_FLIGHT
 *   coff_tree.h     mode stacks: what the trees of calls, which are those of other systems, get from this one
 *   coff_tree.c     where inserted code comes to
 *   coff_trace.c    mode trace: chunks of events
 *   coff_depth.c    and of those only calls up to a depth
 *
 * It is the counterpart of c/timed, and smaller. The log is a file that is mapped a chunk at a time, so that what was
 * found is in it however the process ends; a thread that finds something writes it itself, under a lock. Nothing under
 * that lock needs the loader's. The code may run where vector registers hold a return value: it uses none, and saves them
 * before it calls the system. */
#ifndef CAIRN_COFF_TIMED_H
#define CAIRN_COFF_TIMED_H

#include "coff_types.h"

#include "timedwire.h"
#ifndef CAIRN_MODE /* hooks */
#define CAIRN_MODE LOG_MODE_SPIKE
#endif
#include "timed_names.h"

/* ---- kernel32 ---- */

#define IMPORT(type, name, ...) __declspec(dllimport) type name(__VA_ARGS__)

struct exception {
  u32 code, flags;
  struct exception *outer;
  u64 at;
  u32 count, pad;
  u64 info[15];
};
struct context {
  u64 home[6];
  u32 flags, mxcsr;
  u16 segment[6];
  u32 eflags;
  u64 debug[6], rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, rip;
  u8 vectors[976];
} __attribute__((aligned(16)));
_Static_assert(sizeof(struct context) == 1232 && __builtin_offsetof(struct context, rip) == 0xf8, "CONTEXT of winnt.h");
struct pointers {
  struct exception *exception;
  struct context *context;
};
struct function {
  u32 begin, end, unwind;
};

IMPORT(u32, GetEnvironmentVariableW, const u16 *, u16 *, u32);
IMPORT(u32, GetFullPathNameW, const u16 *, u32, u16 *, u16 **);
IMPORT(u32, GetModuleFileNameW, const void *, u16 *, u32);
IMPORT(i32, GetModuleHandleExW, u32, const void *, void **);
IMPORT(u32, GetCurrentProcessId, void);
IMPORT(u32, GetCurrentThreadId, void);
IMPORT(u32, GetLastError, void);
IMPORT(void, Sleep, u32);
IMPORT(void *, GetStdHandle, u32);
IMPORT(void *, CreateFileW, const u16 *, u32, u32, void *, u32, u32, void *);
IMPORT(i32, ReadProcessMemory, void *, const void *, void *, u64, u64 *);
IMPORT(i32, ReadFile, void *, void *, u32, u32 *, void *);
IMPORT(i32, WriteFile, void *, const void *, u32, u32 *, void *);
IMPORT(i32, CloseHandle, void *);
IMPORT(void *, CreateFileMappingW, void *, void *, u32, u32, u32, const u16 *);
IMPORT(void *, MapViewOfFile, void *, u32, u32, u32, u64);
IMPORT(i32, UnmapViewOfFile, const void *);
IMPORT(i32, CreateDirectoryW, const u16 *, void *);
IMPORT(void *, VirtualAlloc, void *, u64, u32, u32);
IMPORT(i32, VirtualFree, void *, u64, u32);
IMPORT(void *, CreateThread, void *, u64, u32 (*)(void *), void *, u32, u32 *);
IMPORT(i32, SetThreadPriority, void *, i32);
IMPORT(void *, CreateWaitableTimerExW, void *, const u16 *, u32, u32);
IMPORT(i32, SetWaitableTimer, void *, const i64 *, i32, void *, void *, i32);
IMPORT(u32, WaitForSingleObject, void *, u32);
IMPORT(u32, TlsAlloc, void);
IMPORT(i32, TlsFree, u32);
IMPORT(void *, TlsGetValue, u32);
IMPORT(i32, TlsSetValue, u32, void *);
IMPORT(void *, AddVectoredExceptionHandler, u32, i32 (*)(struct pointers *));
IMPORT(void, GetSystemTimeAsFileTime, u64 *);
IMPORT(i32, QueryPerformanceCounter, u64 *);
IMPORT(i32, QueryPerformanceFrequency, u64 *);
IMPORT(i32, MultiByteToWideChar, u32, u32, const char *, i32, u16 *, i32);
IMPORT(i32, WideCharToMultiByte, u32, u32, const u16 *, i32, char *, i32, const char *, i32 *);
IMPORT(i32, K32EnumProcessModules, void *, const void **, u32, u32 *);
IMPORT(const struct function *, RtlLookupFunctionEntry, u64, u64 *, void *);
IMPORT(void *, RtlVirtualUnwind, u32, u64, u64, const struct function *, struct context *, void **, u64 *, void *);

enum { UTF8 = 65001, GENERIC_RW = (i32)0xc0000000, SHARE_ALL = 7, CREATE_NEW = 1, NORMAL = 0x80, MAP_WRITE = 2 };
enum { SYNCHRONIZE = 0x100000 };
enum { FILE_EXISTS = 80, MEM_COMMIT = 0x1000, MEM_RESERVE = 0x2000, MEM_RELEASE = 0x8000, READWRITE = 4, STDERR = -12 };
enum { DETACH, ATTACH, THREAD_ATTACH, THREAD_DETACH };

#include "coff_alone.h"

/* ---- the state of a process, which its modules share ---- */

#define load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define MS 1000000ull
#define SECOND 1000000000ull
#define WINDOW (1ull << 32)

/* Words below the window that inserted code reads. */
enum { CLOCK = -64, LOW = -60, TREE_CLOCK = -48 };
#define TREE_RUNNING (1ull << 50) /* see tree.h */
enum { GRAIN = 65536, MODULES = 1024, MAX_DIR = 600, MAX_PATH = 1024, MAX_NAME = 64 };
enum { BASES = MODULES };
/* In a thread's block: its slots, and behind what Windows has in the last of its two whole pages, words for threads of a process that has
 * no slots left. They are what inserted code needs to run; nothing is recorded then. */
enum { TLS_SLOTS = 0x1480, SLOTS = 64, SPARE_DEEP = 0x1fc8, SPARE = 0x1fd8, SPARE_FLIGHT = 0x1fe8, NO_SLOT = -1 };
#ifndef CAIRN_TRACE_DEPTH
#define CAIRN_TRACE_DEPTH 0 /* of mode trace; 0: all calls */
#endif
enum { TIMED_ABI = 0x5743000a + (CAIRN_MODE << 8) + (CAIRN_TRACE_DEPTH << 16) };

#include "tick.h"

struct module {
  u8 *base; /* 0: it is gone */
  u8 *was;  /* the address before that */
  u64 gone; /* in the order in which modules went; 0: it did not */
  u32 size, number;
  u8 main, written, id[20];
  u16 path[MAX_DIR];
};

struct process {
  u32 abi, size;
  u8 *base; /* of the window */
  u32 mask; /* of stack pointers; 0: there is one slot, see coff_plain.c, or none in mode trace */
  u32 places; /* for modules */
  u64 hz;   /* of the counter that times are read from */
  u64 real, mono; /* the start */
  u64 threshold, period;
  u32 rate, low; /* low: inline threshold in us */
  u8 off, quiet, ended, failed; /* quiet: off for now */
  u32 pid, tls, lock, threads; /* tls: NO_SLOT, if there was none */
  u64 local; /* where a thread has its word, from the start of its block */
  struct thread *newest; /* of those that have state in mode spike */
  struct watch *watch;   /* of mode spike */
  struct suspended *suspended; /* stacks of fibers, 0: none was */
  u8 terminates;         /* all other threads have been ended */
  u8 short_of;           /* memory; it has been said */
  u64 xsave; /* state to save; 0: fxsave */

  u64 ticks __attribute__((aligned(64)));
  u64 worst, late, blind; /* worst: longest time between two ticks */
  struct tick tick[TICKS]; /* ring */

  struct {
    struct trees *trees;
    u64 size; /* of their memory */
    u64 pause;
  } stacks;

  struct {
    u64 clock __attribute__((aligned(64))); /* units of 20 us since the start, from 1; inserted code reads the low half */
    u64 ring_chunks __attribute__((aligned(64))); /* 0: the file grows without limit */
    u64 hand, overwritten;                         /* hand: of the next chunk */
    u32 sequence;
    u8 **ring; /* chunks, 0: not mapped yet */
    u8 *sink;  /* for events that are discarded */
    u32 deep[2]; /* slots of thread-local storage: see coff_depth.c */
  } trace;

  struct { /* see timed_frame.c */
    struct summary *summary; /* in the log; 0: none ended */
    u64 since, end, budget;
    u64 current; /* number */
    u32 shift;
  } frames;
  struct { /* see timed_channel.c */
    u32 sets;
    struct {
      struct channel *from, *to;
    } set[BASES]; /* of the modules */
    char words[512]; /* for modules that are loaded later */
  } channel;
  struct {
    u32 lock;  /* of the channels */
    u8 wanted; /* a pipe is */
  } control;
  struct spikes *spikes; /* that the program is told of; 0: of none */
  struct {                 /* see c/timed/flight.h; also called by modules without it */
    struct flight *recorder; /* 0: none */
    u32 chunks;              /* of a ring */
    u32 missed;              /* spikes without a window */
    u64 local;               /* where a thread has its words, from the start of its block */
    struct ring *free;       /* of threads that have ended */
    void (*left)(struct process *, u64 sp);
    void (*keep_window)(struct process *, struct thread *, u64 number, u64 lo, u64 hi, u64 e);
    void (*switched)(u64 frame, int back); /* this stack stops, or goes on */
  } flight;

  u64 episodes __attribute__((aligned(64)));
  u64 snapshots;
  u64 slop; /* 0: calls were entered within their bounds */
  u64 borderline, slow, dropped;
  u64 left_out, second, in_second; /* by the rate limit */

  void *file; /* 0: none yet */
  u32 chunks, used;
  u8 *first, *chunk;
  u64 last; /* time of the last record */
  u16 dir[MAX_DIR], path[MAX_PATH];
  u32 modules, numbers;
  u64 removed;
  u32 settings;   /* records of them */
  u64 setting[4]; /* threshold, period, rate and quiet in the latest */
  struct module module[MODULES];
};

/* ---- a thread ---- */

#include "judge_types.h"

#include "mark_types.h"

/* An open call of a function with hooks: coff_hook.c. */
struct open_call {
  u64 site, caller; /* site: an address in the function; caller: 0 if unknown */
  u64 sp;
  u32 stamp;
  u8 kind, level; /* level: among inlined calls, which have the same sp */
};

/* The open calls on a stack. */
struct open_calls {
  struct open_calls *next;
  u64 base;          /* of the stack */
  u32 n, room, last; /* last: the clock at the last hook */
  struct open_call call[];
};

struct thread {
  struct thread *older;
  void *handle;
  u32 tid, busy, named;
  u64 calls;
  u32 opened, stacks;
  u64 reported; /* ns of the callee that was reported last */
  u8 *stack_base[STACKS]; /* of the stacks it was seen on; the first is its own */
  struct slow_call call[CALLS];   /* ring */
  struct open_episode open[OPEN]; /* ring of opened */
  struct context context;
  struct stack stack;  /* of the call that is judged */
  struct stack raised; /* of what may leave calls */
  struct open_calls *open_calls; /* of the stack that it is on; then those of others */
  u32 name_length;
  char name[MAX_NAME];
  u32 notes, inactive, paused, pauses;
  struct ring *ring; /* of the flight recorder */
  u64 parents, parents_sp, parents_at; /* threshold for the frames above */
  u64 paused_before; /* sum of the pauses that are no longer in the ring */
  u64 busy_since;
  struct annotation note[NOTES];
  struct pause pause[PAUSES]; /* ring of pauses */
  u64 record[(LOG_EPISODE_SIZE + LOG_MAX_ENTRIES * LOG_ENTRY_SIZE) / 8];
};

/* handle: its own; block: its environment block, while it runs; lock_sp: where it enters a critical section, but for the first try. */
#define WATCHED_OWN void *handle; u64 *block, lock_sp;
/* cycles: 0 if there are only times, which advance in steps of the system's clock; tsc, began: when the counter of cycles was read first;
 * calls: modules whose functions are system calls. */
#define WATCH_OWN i32 (*cycles)(void *, u64 *), (*lock_loader)(u32, u32 *, u64 *), (*unlock_loader)(u32, u64); u64 tsc, began; const u8 *calls[2];
#include "watch.h"

static inline u64 less(u64 a, u64 b) { return a > b ? a - b : 0; }
static inline u64 least(u64 a, u64 b) { return a < b ? a : b; }
static inline u64 most(u64 a, u64 b) { return a > b ? a : b; }

#if CAIRN_MODE == LOG_MODE_SPIKE
#define WHAT u"spikes"
#else
#define WHAT u"calls"
#endif

#define word(p, at) ((u32 *)((p)->base + (at)))
#define slot(p, sp) ((u32 *)((p)->base + ((u32)(sp) & (p)->mask)))

#endif

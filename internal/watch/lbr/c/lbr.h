/* The runtime of software branch records: a library that is loaded before a program and runs the
 * copy of its code that package lbr made. See doc.go there.
 *
 *   lbr.S          branches to computed addresses
 *   lbr.c          the start, threads, and faults: into copies, and where buffers end
 *   lbr_module.c   the copies of the program and of its libraries
 *   lbr_loader.c   which libraries there are, also those that are loaded later
 *   lbr_leaves.c   functions that return to the copy without a fault
 *   lbr_maps.c     memory mappings
 *   lbr_window.c   evaluation of events: instructions that ran, and places of samples
 *   lbr_sample.c   samples, and the true stack
 *   lbr_signal.c   signals of the program
 *   lbr_calls.c    masks, threads, and system calls
 *
 * Everything runs in signal handlers or before the program: it does not allocate from the C
 * library, and takes none of its locks. */
#ifndef CAIRN_LBR_H
#define CAIRN_LBR_H

#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

#define HIDDEN __attribute__((visibility("hidden")))
#define VISIBLE __attribute__((visibility("default")))

enum { PAGE = 4096 };

/* raw makes a system call: syscall() may be the program's, and is replaced by ours. It returns the
 * kernel's result, errors as negative numbers. */
static inline i64 lbr_raw(i64 n, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
  i64 r;
  register u64 r10 __asm__("r10") = d;
  register u64 r8 __asm__("r8") = e;
  register u64 r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return r;
}

/* The same for the calls of the runtime: libraries of the program may replace functions of the C
 * library, and be recorded. */
static inline void *lbr_mmap(void *at, u64 n, int rights, int flags, int fd, i64 offset) {
  i64 r = lbr_raw(SYS_mmap, (u64)at, n, (u64)rights, (u64)flags, (u64)(i64)fd, (u64)offset);
  return r < 0 && r > -PAGE ? (void *)-1 : (void *)r;
}
static inline int lbr_munmap(void *at, u64 n) { return (int)lbr_raw(SYS_munmap, (u64)at, n, 0, 0, 0, 0); }
static inline int lbr_mprotect(void *at, u64 n, int rights) { return (int)lbr_raw(SYS_mprotect, (u64)at, n, (u64)rights, 0, 0, 0); }
static inline int lbr_open(const char *path, int flags) { return (int)lbr_raw(SYS_open, (u64)path, (u64)flags, 0, 0, 0, 0); }
static inline int lbr_close(int fd) { return (int)lbr_raw(SYS_close, (u64)fd, 0, 0, 0, 0, 0); }
static inline i64 lbr_read(int fd, void *to, u64 n) { return lbr_raw(SYS_read, (u64)fd, (u64)to, n, 0, 0, 0); }

/* ---- plans, as Image.Encode writes them ---- */

enum { PATH = 4096, PLAN_VERSION = 5 };

struct plan {
  char magic[8]; /* "cairnlbr" */
  u32 version;
  u32 number;  /* of the module; its events contain it */
  u64 lo, hi;  /* of the original, link-time */
  i64 distance; /* preferred distance to the copy; at any other the copy must be adjusted */
  u64 code_at, code_size; /* in the file; whole pages */
  u64 words_at, words;    /* after the code: addresses of the routines in lbr.S, then return addresses */
  u64 entry_at;
  u64 functions_at, functions;
  u64 far_at, far;    /* displacements in the code that lead out of it: their ends */
  u64 mapped_at, mapped; /* pairs: executable pages of the original, relative to lo */
  u64 starts_at, starts; /* starts of instructions, whose numbers are the indexes */
  u64 ranks_at;          /* of each 64 bytes of the original */
  i64 nearest, farthest; /* the least and the greatest of them */
  u64 device, inode;  /* of the module */
  u64 relocated;      /* the dynamic linker changes the original, and the copy would lack the changes */
};

/* The starts of instructions in 64 bytes, and the number of starts before. */
struct rank {
  u64 bits, before;
};

/* ---- modules ---- */

enum { MAX_MODULES = 64, DISPATCH_SIZE = 256 };

/* A module that has a copy, or will have one. lbr.S depends on the first fields and the size. */
struct module {
  u64 lo, size; /* the original, as loaded; the size is 0 if its copy must not run */
  const u32 *entry;
  u64 code;      /* the copy less one */
  u64 code_size; /* 0 if it is not loaded */
  u64 span;      /* the size of the original, even if its copy does not run */
  const u32 *functions;
  u64 function_count;
  const u32 *far;
  u64 copy_size;    /* with the words after it */
  const void *link; /* the loader's link map; 0 if it is not loaded */
  u64 bias;
  u64 device, inode; /* of its file */
  u32 failed;        /* loading it has failed once */
  u32 seen;          /* marks modules during a scan of the loaded ones */
  const u32 *mapped; /* pairs: its pages, relative to lo */
  u64 mapped_count;
  const u32 *starts;
  u64 start_count;
  const struct rank *ranks;
  u64 unused[12];
};
_Static_assert(sizeof(struct module) == 256, "as lbr.S has it");

HIDDEN extern struct module lbr_modules[MAX_MODULES];
HIDDEN extern u64 lbr_module_count; /* that are planned */
HIDDEN extern u32 lbr_moved;        /* incremented when a module is unloaded: its addresses may be reused */

/* The module of each page: for each 2^30 bytes of addresses, a byte per page with the number of the
 * module plus one. */
enum { REGION_SHIFT = 30, REGIONS = 1 << 17, REGION_PAGES = 1 << 18 };
HIDDEN extern u8 *lbr_regions[REGIONS];

/* read_plans reads the heads of all plans. */
HIDDEN const char *lbr_read_plans(void);
/* load makes the copy of a module that was loaded with a bias; it returns the reason if it cannot. */
HIDDEN const char *lbr_load(struct module *m, u64 bias);
HIDDEN void lbr_unload(struct module *m);
/* release makes the original run: it contains code that the plan did not find. */
HIDDEN void lbr_release(struct module *m);
/* module_at returns the module whose original is at an address, module_of_copy the
 * one whose copy is; or 0. */
HIDDEN struct module *lbr_module_at(u64 addr);
HIDDEN struct module *lbr_module_of_copy(u64 pc);

/* watch_loader loads the current modules, and others when they are loaded. loader_changed is called
 * when the loader reports a change, at lbr_loader_tells. */
HIDDEN void lbr_watch_loader(void);
HIDDEN void lbr_loader_changed(void);
HIDDEN void lbr_unwatch_loader(void);
HIDDEN extern u64 lbr_loader_tells;

/* Functions that lbr.S calls so that they return without a fault. find_leaves finds those in
 * libraries that are loaded at the start and stay loaded. */
enum { LEAVES = 4096, MOST_LEAVES = 512 };
HIDDEN extern u64 lbr_leaves[LEAVES + MOST_LEAVES];
HIDDEN void lbr_find_leaves(void);

struct mapping {
  u64 lo, hi;
  char rights[4]; /* "r-xp" */
  const char *line; /* of /proc/self/maps, with its end */
  u64 length;
};

/* mappings calls a function with each mapping, ascending. */
HIDDEN void lbr_mappings(void (*each)(const struct mapping *, void *), void *to);
/* mapped_as reports whether all of a range is mapped with the rights. */
HIDDEN int lbr_mapped_as(u64 lo, u64 hi, const char *rights);

/* fail reports that the program, or a library, runs without a copy, and why. */
HIDDEN void lbr_fail(const char *what, const char *file);
/* emit_maps writes the executable mappings. loads counts the changes of what the loader has loaded, and
 * loads_told how many of them the written mappings show: the next sample writes the others. */
HIDDEN void lbr_emit_maps(void);
HIDDEN extern u32 lbr_loads, lbr_loads_told;

/* ---- events ---- */

enum kind { JUMP, CALL, RETURN, TAIL_CALL, INDIRECT_JUMP, INDIRECT_CALL, FROM_OUTSIDE };
enum { KIND_SHIFT = 28, FROM_MASK = (1 << KIND_SHIFT) - 1 };

struct event {
  u32 from; /* the number of the instruction, and the kind */
  u32 to;   /* low 32 of 48 bits, relative to lo of the module; or a number as well */
  u32 sp;   /* low half */
  u16 to_high, module;
};

enum { TO_NUMBER = 0x8000 }; /* in to_high */

/* A branch: an event with full addresses. */
struct branch {
  u64 from, to; /* from is 0 for FROM_OUTSIDE */
  u32 kind, sp;
};

/* The stack for faults, and the kernel's minimum size of a signal stack. */
enum { STACK = 1 << 16, LEAST_STACK = 2048 };

enum { HISTORY = 64, CAPACITY = 8192 - HISTORY, SCRATCH = 1 << 18, MAX_STACK = 127, MAX_CALLS = 1023, MAX_DEPTH = 1 << 16 };

/* A frame of the visible stack: a return address, and its place. There is ROOM for calls of a
 * window before the FRAMES that were walked. */
struct seen {
  u64 back;
  u32 sp, outside; /* code without a copy called */
};

enum { ROOM = CAPACITY, FRAMES = 4 * MAX_STACK, BACKS = 256 };

/* The state of a thread, which gs refers to. The copy depends on the first fields (emit.go). */
struct state {
  u64 save, save_rcx, flags, target, go, from;
  struct event *position;
  u64 module; /* its number << 16, while lbr.S looks up a target elsewhere */
  u64 thread; /* its thread pointer */
  i32 tid;
  struct state *next;
  u64 branches, instructions; /* before counted */
  u64 wait; /* instructions until a sample, or branches, from counted on */
  u64 rate; /* recent average of instructions per branch */
  struct event *armed, *end; /* events from armed on are new */
  struct event *counted;     /* those before it were counted */
  struct seen *frames;      /* innermost first, from top to bottom */
  u64 top, bottom, walked;
  const struct event *followed; /* the frames are those before it */
  u64 stack_lo, stack_hi;    /* memory that may be read */
  u64 depth, cut;            /* of calls; not kept because there were too many */
  u64 samples;
  i64 history; /* events of this thread before armed */
  u64 faults;  /* that continued in copies */
  u32 moved;            /* lbr_moved when its events were last evaluated */
  struct branch *calls; /* open calls, the true stack; sp is the place of the return address */
  u8 *scratch;
  u8 *stack;      /* for faults */
  stack_t given;  /* the program's own signal stack */
  u32 masked;     /* the program has blocked the signal of faults, */
  u32 pending;    /* and it arrived while blocked */
  u64 backs[BACKS]; /* return addresses of events FROM_OUTSIDE, which have their numbers; 0: free */
};

HIDDEN void lbr_dispatch(void);
HIDDEN extern char lbr_dispatch_end[];

/* Paths are copies: programs overwrite their environment to change their title. */
HIDDEN extern struct settings {
  u32 depth, truth, branches;
  u32 by_calls; /* stacks are the open calls, and frame pointers are not read */
  u64 entry; /* of the program: _start */
  u64 every; /* one in this number of instructions is sampled, or of branches if branches is set */
  char plans[PATH], out[PATH];
} lbr_settings;

/* mine returns the thread's state, and makes it if necessary; 0: no memory. */
HIDDEN struct state *lbr_mine(void);
/* full is called when the buffer is full, with the kind of the next branch; it returns the new
 * position. */
HIDDEN struct event *lbr_full(struct state *s, const ucontext_t *u, u32 kind);
/* window takes the samples that are due before an event, unless quiet is set. */
HIDDEN void lbr_window(struct state *s, struct event *end, int quiet);
/* rest evaluates everything that a thread has stored, when it has ended or stores nothing
 * meanwhile. */
HIDDEN void lbr_rest(struct state *s, int quiet);
/* moves is called before a module is unloaded. */
HIDDEN void lbr_moves(void);
/* sample writes a sample at an address, with the events before one, up to branches of them. */
HIDDEN void lbr_sample(struct state *s, u64 ip, const struct event *before, u32 branches);
/* follow_truth updates the true stack for an event. */
HIDDEN void lbr_follow_truth(struct state *s, const struct event *e);
HIDDEN void lbr_find_stack(struct state *s, u64 sp);
HIDDEN u64 lbr_address(const struct module *m, u32 number);
HIDDEN struct branch lbr_branch(const struct event *e);
/* begins reports whether a function begins at an address in a module. */
HIDDEN int lbr_begins(const struct module *m, u64 addr);
HIDDEN int lbr_open_output(void);
HIDDEN void lbr_emit(u32 type, const void *data, u64 n);
/* original returns the address in the original for pc in a copy; pc if it is in none. */
HIDDEN u64 lbr_original(u64 pc);
HIDDEN int lbr_in_copy(u64 pc);
/* forward delivers a fault of the program to the program. */
HIDDEN void lbr_forward(int number, siginfo_t *info, ucontext_t *u);
/* switch continues in lbr_run, on the stack of a signal frame. */
HIDDEN _Noreturn void lbr_switch(void *frame, int number, siginfo_t *info, void *context);
HIDDEN void lbr_run(int number, siginfo_t *info, ucontext_t *u);
/* call makes a system call for lbr.S: it returns the kernel's result. */
HIDDEN i64 lbr_call(i64 n, u64 *args);
/* lbr_sigaction is sigaction as seen by the program, which may define its own. */
HIDDEN int lbr_sigaction(int number, const struct sigaction *act, struct sigaction *old);
HIDDEN i64 lbr_call_failed(i64 r);
HIDDEN void lbr_system_call(void);
/* give_up makes the process run without copies from now on. */
HIDDEN void lbr_give_up(const char *why);
HIDDEN void lbr_handle(int number, void (*f)(int, siginfo_t *, void *));
HIDDEN void lbr_unhandle(int number);

/* Records of the output: u32 size, u32 type, then data. */
enum { RECORD_MAPS = 1, RECORD_SAMPLE = 2, RECORD_END = 3, RECORD_LOST = 4, RECORD_PLAIN = 5 };

struct sample {
  u32 pid, tid;
  u64 ip;
  u32 stack, branches, calls, cut;
};

#endif

/* The runtime of software branch records: a library that is loaded before a
 * program and runs the copy of its code that package lbr made. See doc.go there.
 *
 *   lbr.S          branches to computed addresses
 *   lbr.c          the start, and faults: into the copy, and where buffers end
 *   lbr_sample.c   what events tell: samples, and the true stack
 *   lbr_signal.c   signals of the program
 *
 * Everything runs in signal handlers or before the program: no memory is taken
 * from the C library, no lock of it is taken. */
#ifndef CAIRN_LBR_H
#define CAIRN_LBR_H

#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

#define HIDDEN __attribute__((visibility("hidden")))
#define VISIBLE __attribute__((visibility("default")))

/* ---- the plan, as Image.WriteTo writes it ---- */

enum { PAGE = 4096, PLAN_VERSION = 1 };

struct plan {
  char magic[8]; /* "cairnlbr" */
  u32 version, unused;
  u64 lo, hi; /* of the original, link-time */
  i64 distance;
  u64 code_at, code_size; /* in the file; whole pages */
  u64 returns_at, returns;
  u64 entry_at;
  u64 functions_at, functions;
  u64 device, inode; /* of the program */
};

/* ---- events ---- */

enum kind { JUMP, CALL, RETURN, TAIL_CALL, INDIRECT_JUMP, INDIRECT_CALL, FROM_OUTSIDE };
enum { KIND_SHIFT = 28, FROM_MASK = (1 << KIND_SHIFT) - 1 };

struct event {
  u32 from; /* relative to lo, and the kind */
  u32 to;   /* low and high half, relative to lo */
  u32 sp;   /* low half */
  u32 to_high;
};

enum { HISTORY = 64, CAPACITY = 8192 - HISTORY, SCRATCH = 1 << 18, MAX_STACK = 127, MAX_DEPTH = 1 << 16 };

/* A call that is open, in the true stack. */
struct call {
  u64 to;
  u32 from, sp; /* sp: where its return address is */
};

/* The state of a thread, which gs leads to. The first fields are known to the
 * copy (emit.go). */
struct state {
  u64 save, save_rcx, flags, target, go, from;
  struct event *position;
  void (*dispatch)(void);
  u64 thread; /* its thread pointer */
  i32 tid;
  struct state *next;
  u64 branches; /* before armed */
  u64 wait;     /* branches until a sample, once the buffer is full */
  struct event *armed, *end; /* events from armed on are new */
  u64 stack_lo, stack_hi;    /* memory that may be read */
  u64 depth, cut;            /* of calls; not kept because there were too many */
  u64 samples, history; /* events of this thread */
  struct call *calls;
  u8 *scratch;
};

HIDDEN extern u64 lbr_lo, lbr_size; /* the original, as loaded */
HIDDEN extern u64 lbr_code;         /* the copy less one */
HIDDEN extern const u32 *lbr_entry;
HIDDEN void lbr_dispatch(void);
HIDDEN extern char lbr_dispatch_end[];

HIDDEN extern struct settings {
  i32 out;
  u32 depth, truth;
  u64 every;
  const u32 *functions;
  u64 function_count;
} lbr_settings;

/* mine returns the thread's state, which is made if it has none; 0: no memory. */
HIDDEN struct state *lbr_mine(void);
/* full is called when the buffer is, with the event to come; it returns the
 * position to go on at. */
HIDDEN struct event *lbr_full(struct state *s, const ucontext_t *u, u32 next);
HIDDEN void lbr_emit(u32 type, const void *data, u64 n);
/* original returns where in the original the copy at pc is of; pc if in none. */
HIDDEN u64 lbr_original(u64 pc);
HIDDEN int lbr_in_copy(u64 pc);
/* forward gives a fault that is the program's to the program. */
HIDDEN void lbr_forward(int number, siginfo_t *info, ucontext_t *u);
HIDDEN void lbr_handle(int number, void (*f)(int, siginfo_t *, void *));

/* Records of the output: u32 size, u32 type, then data. */
enum { RECORD_MAPS = 1, RECORD_SAMPLE = 2, RECORD_END = 3, RECORD_LOST = 4 };

struct sample {
  u32 pid, tid;
  u64 ip;
  u32 stack, branches, calls, cut;
};

#endif

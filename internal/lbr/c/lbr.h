/* The runtime of software branch records: a library that is loaded before a
 * program and runs the copy of its code that package lbr made. See doc.go there.
 *
 *   lbr.S          branches to computed addresses
 *   lbr.c          the start, threads, and faults: into copies, and where buffers end
 *   lbr_module.c   the copies of the program and of its libraries
 *   lbr_loader.c   which libraries there are, also those that are loaded later
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

/* ---- plans, as Image.Encode writes them ---- */

enum { PAGE = 4096, PATH = 4096, PLAN_VERSION = 2 };

struct plan {
  char magic[8]; /* "cairnlbr" */
  u32 version;
  u32 number;  /* of the module; its events have it */
  u64 lo, hi;  /* of the original, link-time */
  i64 distance; /* to where its copy is best; anywhere else it has to be put right */
  u64 code_at, code_size; /* in the file; whole pages */
  u64 words_at, words;    /* behind the code: where the routine in lbr.S is, then return addresses */
  u64 entry_at;
  u64 functions_at, functions;
  u64 far_at, far;    /* displacements in the code that lead out of it: where they end */
  i64 nearest, farthest; /* the least and the greatest of them */
  u64 device, inode;  /* of the module */
};

/* ---- modules ---- */

enum { MAX_MODULES = 64, DISPATCH_SIZE = 256 };

/* A module that has a copy, or will. lbr.S knows the first fields, and the size of
 * all. */
struct module {
  u64 lo, size; /* the original, as loaded; the size is 0 if its copy is not to be run */
  const u32 *entry;
  u64 code;      /* the copy less one */
  u64 code_size; /* 0 if it is not loaded */
  u64 span;      /* the size of the original, whatever becomes of its copy */
  const u32 *functions;
  u64 function_count;
  const u32 *far;
  u64 copy_size;    /* with the words behind it */
  const void *link; /* what the loader knows it by; 0 if it is not loaded */
  u64 bias;
  u64 device, inode; /* of its file */
  u32 failed;        /* it could not be loaded, once */
  u32 seen;          /* while loaded modules are looked through */
  u64 unused;
};
_Static_assert(sizeof(struct module) == 128, "as lbr.S has it");

HIDDEN extern struct module lbr_modules[MAX_MODULES];
HIDDEN extern u64 lbr_module_count; /* that are planned */
HIDDEN extern u32 lbr_moved;        /* goes up when a module is unloaded: something else may be there next */

/* Whose page an address is in: for each 2^30 bytes of addresses a byte for each page,
 * one more than the number of the module. */
enum { REGION_SHIFT = 30, REGIONS = 1 << 17, REGION_PAGES = 1 << 18 };
HIDDEN extern u8 *lbr_regions[REGIONS];

/* read_plans reads the heads of all plans. */
HIDDEN const char *lbr_read_plans(void);
/* load makes the copy of a module that was loaded with a bias; it returns why not. */
HIDDEN const char *lbr_load(struct module *m, u64 bias);
HIDDEN void lbr_unload(struct module *m);
/* release lets the original run: there is code in it that was not found. */
HIDDEN void lbr_release(struct module *m);
/* module_at returns the module whose original is at an address, module_of_copy the
 * one whose copy is; or 0. */
HIDDEN struct module *lbr_module_at(u64 addr);
HIDDEN struct module *lbr_module_of_copy(u64 pc);

/* watch_loader loads the modules that are there, and each other one once it is.
 * loader_changed is called when the loader tells of a change, at lbr_loader_tells. */
HIDDEN void lbr_watch_loader(void);
HIDDEN void lbr_loader_changed(void);
HIDDEN extern u64 lbr_loader_tells;

HIDDEN void lbr_fail(const char *what, const char *file);
HIDDEN void lbr_emit_maps(void);

/* ---- events ---- */

enum kind { JUMP, CALL, RETURN, TAIL_CALL, INDIRECT_JUMP, INDIRECT_CALL, FROM_OUTSIDE };
enum { KIND_SHIFT = 28, FROM_MASK = (1 << KIND_SHIFT) - 1 };

struct event {
  u32 from; /* relative to lo of the module, and the kind */
  u32 to;   /* low 32 of 48 bits, relative to lo as well */
  u32 sp;   /* low half */
  u16 to_high, module;
};

/* A branch: an event with addresses as they are. */
struct branch {
  u64 from, to; /* from is 0 for FROM_OUTSIDE */
  u32 kind, sp;
};

enum { HISTORY = 64, CAPACITY = 8192 - HISTORY, SCRATCH = 1 << 18, MAX_STACK = 127, MAX_DEPTH = 1 << 16 };

/* The state of a thread, which gs leads to. The first fields are known to the
 * copy (emit.go). */
struct state {
  u64 save, save_rcx, flags, target, go, from;
  struct event *position;
  u64 module; /* its number << 16, while a target elsewhere is looked up in lbr.S */
  u64 thread; /* its thread pointer */
  i32 tid;
  struct state *next;
  u64 branches; /* before armed */
  u64 wait;     /* branches until a sample, once the buffer is full */
  struct event *armed, *end; /* events from armed on are new */
  u64 stack_lo, stack_hi;    /* memory that may be read */
  u64 depth, cut;            /* of calls; not kept because there were too many */
  u64 samples, history; /* events of this thread */
  u32 moved;            /* lbr_moved when its events were looked at last */
  struct branch *calls; /* that are open, the true stack; sp is where the return address is */
  u8 *scratch;
};

HIDDEN void lbr_dispatch(void);
HIDDEN extern char lbr_dispatch_end[];

/* Paths are copies: programs write over their environment, to change how they are
 * listed. */
HIDDEN extern struct settings {
  u32 depth, truth;
  u64 every;
  char plans[PATH], out[PATH];
} lbr_settings;

/* mine returns the thread's state, which is made if it has none; 0: no memory. */
HIDDEN struct state *lbr_mine(void);
/* full is called when the buffer is, with where the branch to come is and its kind;
 * it returns the position to go on at. */
HIDDEN struct event *lbr_full(struct state *s, const ucontext_t *u, u64 from, u32 kind);
HIDDEN int lbr_open_output(void);
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

/* The runtime of the timed modes for Windows: see coff_timed.h. A copy is linked into each program and DLL; the first that
 * starts makes the state, and stays loaded. */

#include "coff_timed.h"

/* Instrumented objects refer to this: a link without the runtime fails with its name. */
const u8 __cairn_link_with_cairn_cc_timed = 0;

/* The state that this module uses, where other modules find it. Inserted code reads the window's address; before the
 * module starts none of its code has run. */
struct shared {
  u32 abi, size;
  struct process *process;
};
__attribute__((section(".crnt"), used)) static struct shared shared = {TIMED_ABI, sizeof(struct process), 0};
#define state (shared.process)
u8 *__cairn_base;
u64 __cairn_local; /* where a thread has its word, from the start of its block */
u64 *__cairn_tracer;

/* own_word returns the word of this thread. */
static void *own_word(void) {
  u8 *block;
  __asm__ volatile("movq %%gs:0x30, %0" : "=r"(block));
  return block + __cairn_local;
}

/* ---- images ---- */

#include "coff_image.h"

/* ---- text ---- */

typedef u16 letter;
#include "rt_text.h"

static void print(const u16 *text, u32 n) {
  static char bytes[3 * (MAX_PATH + 128)];
  u32 done;
  i32 size = WideCharToMultiByte(UTF8, 0, text, (i32)n, bytes, sizeof bytes, 0, 0);
  if (size > 0) WriteFile(GetStdHandle((u32)STDERR), bytes, (u32)size, &done, 0);
}

static void say(const u16 *text) {
  u32 n = 0;
  while (text[n]) n++;
  print(text, n);
}

static void print_error(const u16 *what, const u16 *about) {
  static u16 text[MAX_PATH + 128];
  u32 failure = GetLastError();
  u16 *p = put(text, u"cairn: no " WHAT u" are logged: ");
  p = put(p, what);
  for (u32 i = 0; about[i] && i < MAX_PATH; i++) *p++ = about[i];
  p = put(put_number(put(p, u": error "), failure), u"\n");
  print(text, (u32)(p - text));
}

static void run_plain(struct process *p, const u16 *why);

#include "coff_mirror.h"
#include "coff_clock.c"
#include "coff_plain.c"
#include "coff_log.c"
#include "coff_routine.h"
#if CAIRN_MODE == LOG_MODE_STACKS
#include "coff_tree.c"
#elif CAIRN_MODE == LOG_MODE_TRACE
#include "coff_trace.c"
#else
#include "coff_notes.h"
#include "coff_stack.c"
#include "coff_fiber.c"
#include "coff_watch.c"
#include "watch_open.h"
#include "watch_why.h"
#include "coff_judge.c"
#include "coff_mark.c"
#include "coff_control.c"
#endif
#ifdef CAIRN_FLIGHT
#include "coff_flight.c"
#else
static void start_flight(struct process *p) {}
#endif

#include "coff_words.c"

/* ---- the life of a process ---- */

/* look_at_exception makes memory that is reserved, and what a thread has. In mode spike, calls may be left. */
static i32 look_at_exception(struct pointers *x) {
  enum { VIOLATION = (i32)0xc0000005, GO_ON = -1 };
  const struct exception *e = x->exception;
  if ((i32)e->code != VIOLATION || e->count < 2) return note_exception(state, x);
  if (commit(state, e->info[1]) || first_call(x->context, e->info[1]) || go_without(state, x->context, e->info[1])) return GO_ON;
  return note_exception(state, x);
}

/* happens is called first at each exception. The program may ask for its last error where it handles one. */
static i32 happens(struct pointers *x) {
  u32 error = last_error();
  i32 result = look_at_exception(x);
  set_last_error(error);
  return result;
}

struct string {
  u16 length, room;
  const u16 *text;
};
struct notice {
  u32 flags, pad;
  const struct string *path, *name;
  u8 *base;
};

/* loader_says notes modules that the loader maps and unmaps. */
static void loader_says(u32 reason, const struct notice *n, void *unused) {
  (void)unused;
  if (reason == 1) add_module(state, n->base, n->path->text, n->path->length);
  else remove_module(state, n->base);
}

/* find_shared returns the state of another module, 0 if there is none. */
static struct process *find_shared(void) {
  static const void *modules[MODULES];
  u32 size = 0, room;
  if (!K32EnumProcessModules((void *)-1, modules, sizeof modules, &size)) return 0;
  for (u32 i = 0; i < size / sizeof *modules && i < MODULES; i++) {
    const struct shared *s = (const struct shared *)find_section(modules[i], ".crnt", &room);
    if (s && room >= sizeof *s && s->abi == shared.abi && s->size == shared.size && s->process) return s->process;
  }
  return 0;
}

/* run_plain makes the process run as without probes, as near as it can. */
static void run_plain(struct process *p, const u16 *why) {
  if (!p->off) print_error(why, u"");
  p->off = 1;
}

/* take_slot takes the slot of thread-local storage, in which inserted code of modes stacks and trace has its word. */
static void take_slot(struct process *p) {
  p->tls = TlsAlloc(), p->local = TLS_SLOTS + 8ull * p->tls;
  if (p->tls < SLOTS || (CAIRN_MODE == LOG_MODE_SPIKE && p->tls != (u32)NO_SLOT)) return;
  if (p->tls != (u32)NO_SLOT) TlsFree(p->tls);
  p->tls = (u32)NO_SLOT, p->local = SPARE;
  run_plain(p, CAIRN_MODE == LOG_MODE_SPIKE ? u"no slot of thread-local storage is left" : u"none of the first 64 slots of thread-local storage is left");
}

static const u16 no_window[] = u"no room for the window of 4 GiB (a program linked with /LARGEADDRESSAWARE:NO has none)";

/* make_state makes the state of the process. This module stays, as the state refers to its code. */
static struct process *make_state(void) {
  enum { PIN_ADDRESS = 5 };
  void *module;
  u64 real = 0;
  struct process *p = VirtualAlloc(0, sizeof *p, MEM_RESERVE | MEM_COMMIT, READWRITE);
  if (p) p->places = MODULES;
  else run_plain(p = spare_state(), u"no memory");
  if (!make_window(p)) use_one_slot(p), run_plain(p, no_window);
  p->abi = TIMED_ABI, p->size = sizeof *p;
  p->pid = GetCurrentProcessId();
  QueryPerformanceFrequency(&p->hz);
  GetSystemTimeAsFileTime(&real);
  p->real = (real - 116444736000000000ull) * 100;
  p->mono = now(p);
  p->frames.budget = 16666667; /* 60 frames per second */
  p->threshold = 10 * MS, p->period = MS, p->rate = 100;
  p->flight.chunks = (8u << 20) / LOG_CHUNK_SIZE;
  p->trace.ring_chunks = (16ull << 20) / LOG_CHUNK_SIZE;
  read_environment(p);
  if (p->quiet && !p->control.wanted) p->off = 1; /* for good */
  p->xsave = find_vectors();
  take_slot(p);
  if ((p->mask || CAIRN_MODE == LOG_MODE_TRACE) && !start_mode(p)) run_plain(p, u"no memory");
  set_low(p);
  tick(p);
  GetModuleHandleExW(PIN_ADDRESS, __ImageBase, &module);
  return p;
}

static u8 has_clock; /* its thread was started by this module, which stays */

/* use makes inserted code of this module use the state. */
static void use(struct process *p) {
  if (!leave_window(p)) print_error(no_window, u", and its code cannot be changed"), ExitProcess(125);
  __cairn_base = p->base;
  __cairn_local = p->local;
  __cairn_tracer = &p->trace.clock;
#if CAIRN_TRACE_DEPTH
  use_depth(p);
#endif
  state = p;
}

static void start(void) {
  typedef i32 (*listener)(u32, void (*)(u32, const struct notice *, void *), void *, void **);
  static void *cookie;
  if (state) return;
  struct process *p = find_shared();
  if (p) {
    use(p);
    join_mode(p);
    start_flight(p);
    return;
  }
  use(p = make_state());
  join_mode(p);
  AddVectoredExceptionHandler(1, happens);
  list_modules(p);
  start_flight(p);
  listener listen = (listener)GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "LdrRegisterDllNotification");
  if (listen) listen(0, loader_says, 0, &cookie);
  void *thread = CreateThread(0, GRAIN, run_clock, p, 0, 0);
  if (thread) has_clock = 1, CloseHandle(thread);
  else print_error(u"no thread for the clock", u"");
}

/* finish marks the log as that of a process that ended in order. */
static void finish(void) {
  struct process *p = state;
  if (!p || is_dll(__ImageBase)) return;
  store(&p->ended, 1);
  end_mode(p);
  write_mode(p, 1);
  look(p);
}

/* life is called first of all, in each module, and for each thread. */
static void life(const u8 *module, u32 reason, const void *always) {
  (void)module;
  if (reason == ATTACH) start();
  if (reason == DETACH && always && state) {
    give(state); /* all other threads have been ended, maybe while they had the lock */
    state->ended = state->terminates = 1;
    write_mode(state, 1);
    look(state);
  }
  if (reason == THREAD_ATTACH && has_clock) begin_thread();
  if (reason == THREAD_DETACH && has_clock && !is_told()) thread_ends();
#if CAIRN_TRACE_DEPTH
  if (reason == THREAD_DETACH && has_clock) end_depth();
#endif
}

#ifndef CAIRN_DLL
__attribute__((section(".CRT$XLAA"), used)) static void (*const callback)(const u8 *, u32, const void *) = life;

extern const u8 _tls_used __attribute__((weak));
__attribute__((used)) static const void *const keep_tls = &_tls_used;

/* Handlers run in reverse order: those that later constructors register run before this one. */
extern int atexit(void (*)(void)) __attribute__((weak));
static void register_end(void) {
  start();
  if (atexit) atexit(finish);
}
__attribute__((section(".CRT$XCB"), used)) static void (*const constructor)(void) = register_end;
#endif

/* The start of the timed modes: checks of the machine, the environment, the threads; then fork and
 * the end. */

#include "tree.h"
#include "elf.h"

/* Before the start they are invalid addresses: code that runs too early faults at its first access,
 * wherever the program is loaded. */
u8 *__cairn_base = NOT_STARTED;
u64 __cairn_local = (uword)NOT_STARTED;
u8 __cairn_plain;
struct process *__cairn_state;

/* Referred to by instrumented objects, so that a link without a runtime says what is missing. */
HIDDEN const u8 __cairn_link_with_cairn_cc_timed = 0;

/* ---- what the machine has ---- */

struct symbol {
  u32 name;
#if __SIZEOF_POINTER__ == 4
  u32 value, size;
#endif
  u8 info, other;
  u16 section;
#if __SIZEOF_POINTER__ == 8
  u64 value, size;
#endif
};

/* find_gettime finds clock_gettime in the vDSO: a system call takes ten times as long. */
static void find_gettime(struct process *p) {
  i64 at = auxiliary(AT_SYSINFO_EHDR);
  if (at <= 0) return;
  const struct ehdr *e = (const struct ehdr *)(uword)at;
  const struct phdr *ph = (const struct phdr *)((const u8 *)e + e->phoff);
  uword bias = (uword)at, strings = 0, symbols = 0;
  const uword *dynamic = 0;
  for (u32 n = e->phnum; n--; ph++) {
    if (ph->type == 1) bias = (uword)at + ph->offset - ph->vaddr;
    if (ph->type == 2) dynamic = (const uword *)((uword)at + ph->offset);
  }
  for (; dynamic && dynamic[0]; dynamic += 2) {
    if (dynamic[0] == 5) strings = bias + dynamic[1];
    if (dynamic[0] == 6) symbols = bias + dynamic[1];
  }
  if (!symbols || strings <= symbols) return;
  for (const struct symbol *s = (const struct symbol *)symbols; (uword)(s + 1) <= strings; s++) {
    const char *name = (const char *)strings + s->name, *want = VDSO_CLOCK;
    while (*want && *name == *want) name++, want++;
    if (!*want && !*name) p->gettime = (int (*)(int, u64 *))(bias + s->value);
  }
}

/* ---- the environment ---- */

#if !__ANDROID__ && __has_include(<gnu/libc-version.h>)
#define GLIBC 1
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) WEAK;
#else
#define GLIBC 0
extern char **environ WEAK;
/* Not weak: members of an archive are linked only for strong references. */
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((visibility("default")));
#endif

#include "env.h"

/* wants_masked reports whether the environment asks for the smaller window, which is made before
 * anything else is read. */
static int wants_masked(char **envp) {
  const char *s = !envp || is_privileged() ? 0 : env(envp, "SPIKE");
  for (; s && *s; s++)
    if (__cairn_word_is(s, "stamp=masked")) return 1;
  return 0;
}

/* configure sets thresholds and the directory of the log. A program with more rights than its
 * caller ignores the caller's environment, and writes no files. If envp is 0, nothing is recorded. */
static void configure(struct process *p, char **envp) {
  p->set.threshold = 10 * MS;
  p->set.rate = 100;
  p->frames.budget = 16666667; /* 60 frames per second */
  p->flight.chunks = (8u << 20) / LOG_CHUNK_SIZE;
  __cairn_options(p, CAIRN_DEFAULTS);
  if (!envp || is_privileged() || __cairn_plain) {
    p->off = 1;
    return;
  }
  __cairn_options(p, env(envp, "SPIKE"));
  const char *dir = env(envp, "DIR");
  if (!dir || !*dir) dir = CAIRN_DEFAULT_DIR;
  /* A copy: programs that change their title overwrite the environment. */
  if (!absolute(p->dir, MAX_DIR, dir)) {
    __cairn_misread("", "CAIRN_DIR is too long; no spikes are logged");
    p->dir[0] = 0;
  }
  if (!p->dir[0] && !p->set.to_stderr) p->off = 1;
  if (!p->off) __cairn_reload_start(p);
  if (p->set.quiet && !p->control.wanted && !p->control.signal) p->off = 1; /* for good */
  if (!p->off && p->dir[0]) __cairn_bus_start();
}

/* ---- threads ---- */

/* spawn starts a thread without the C library, so that it does not keep the process alive, and
 * works before main. */
i64 __cairn_spawn(void (*f)(struct process *), struct process *p, u8 *stack) {
  uword *sp = (uword *)(stack + THREAD_STACK) - 2;
  sp[0] = (uword)f, sp[1] = (uword)p;
  add(&p->signal.spawning, 1);
  i64 r = start_thread(sp);
  if (r > 0) store(&p->signal.own[add(&p->signal.owned, 1) % OWN_THREADS], (i32)r);
  __atomic_fetch_sub(&p->signal.spawning, 1, __ATOMIC_RELEASE);
  return r;
}

/* rest waits by other system calls if the one before failed at once, as a filter of system calls may
 * make it: a loop would use a whole processor. If none is left that waits, the thread ends. Programs
 * with filters that forbid futex are not attached to. */
void __cairn_rest(struct process *p, i64 r, u64 ns) {
  enum { EAGAIN = 11, ETIMEDOUT = 110 };
  uword ts[2] = {ns / SECOND, ns % SECOND};
  if (r >= 0 || r == -EAGAIN || r == -EINTR || r == -ETIMEDOUT) return;
  r = sys4(SYS_clock_nanosleep, MONOTONIC, 0, ts, 0);
  if (r < 0 && r != -EINTR) r = wait_for(0, 0, most(ns / MS, 1));
  if (r >= 0 || r == -EINTR) return;
  p->off = 1;
  __cairn_show_low(p);
  sys1(SYS_exit, 0);
}

static void start_threads(struct process *p) {
  __cairn_signal_start(p);
  u64 before = block_own();
  i64 r = __cairn_spawn(__cairn_clock_thread, p, p->time.stack);
  /* At once, as calls are missed until it runs; but a filter of system calls may end this thread for it. */
  if (r > 0 && p->time.family && !sys2(SYS_prctl, 21 /* PR_GET_SECCOMP */, 0)) __cairn_prefer((i32)r);
  if (r > 0 && p->time.family) __cairn_family_thread(p, (i32)r);
  if (r > 0) r = __cairn_spawn(__cairn_log_thread, p, p->log.stack);
  unblock(before);
  if (r > 0) __cairn_signal_thread(p, (i32)sys0(SYS_gettid));
  if (r > 0) return;
  __cairn_misread("", "no threads can be made; no spikes are recorded");
  p->off = 1;
  __cairn_show_low(p);
}

/* set_words enables inserted code, and sets the clock to now. */
static void set_words(struct process *p, u64 now) {
  __cairn_show_low(p);
  if (!p->time.family) {
    *word(p, CLOCK) = (u32)__cairn_clock_of(p, now) | 1;
    *(u64 *)(p->base + TREE_CLOCK) = __cairn_clock_of(p, now) + TREE_RUNNING;
  }
  store(word(p, ALIVE), 1);
}

/* forked makes the child's state. It keeps the parent's clock, as the child keeps the parent's
 * stack, and has its own log. */
static void forked(void) {
  struct process *p = __cairn_state;
  if (!p) return;
  i32 parent = p->pid;
  p->pid = (i32)sys0(SYS_getpid);
  p->forked = 1;
  if (p->shared) __cairn_own_window(p);
  p->fork_time = __cairn_now(p);
  __cairn_file_drop(p);
  __cairn_forget_threads(p);
  __cairn_arrivals_forked(p);
  p->time.cpu = p->count.backwards = p->log.tid = 0;
  p->count.episodes = p->count.borderline = p->count.slow = p->count.dropped = p->limit.count = 0;
  p->thread_count = 1;
  p->log.flush_want = p->log.flush_done = 0;
  p->queue.awaited = p->queue.lock = p->queue.left = 0;
  p->modules.count = p->modules.numbers = 0;
  p->modules.at = 0;
  p->modules.gone_count = 0;
  clear(p->modules.going, sizeof p->modules.going);
  clear(p->limit.left_out, sizeof p->limit.left_out);
  p->control.lock = p->control.reload = p->control.failed = 0;
  p->control.started = 0;
  p->count.snapshots = p->ended = p->finished = 0;
  p->frames.end = 0;
  p->spikes = 0; /* its thread is in the parent */
  p->log.settings = 0;
  p->log.setting[0] = 0; /* nothing was compared yet */
  p->control.path[0] = 0; /* the parent's */
  if (!__cairn_family_forked(p, parent)) { /* its words are shared with the parent */
    store(word(p, ALIVE), 0);
    p->off = 1;
    return;
  }
  set_words(p, p->fork_time);
  if (p->stacks.forked) p->stacks.forked(p);
  if (p->flight.forked) p->flight.forked(p);
  if (!p->off) start_threads(p);
}

/* ---- start and end ---- */

FALLBACK u64 __cairn_own_local(void) { return 0; } /* without timed_local.c */

static struct process *new_process(char **e) {
  struct process *p = __cairn_window(CAIRN_KIND, wants_masked(e));
  u64 ts[2];
  u64 local = __cairn_own_local();
  if (local) p->local = local;
  p->bus = __cairn_bus;
  p->services = __cairn_services;
#ifdef CAIRN_IS_HOST
  p->hosted = 1;
#endif
#ifdef CAIRN_TREES
  __cairn_trees_start(p);
#endif
  p->abi = TIMED_ABI | CAIRN_KIND;
  p->size = sizeof *p;
  p->kind = CAIRN_KIND;
  p->pid = (i32)sys0(SYS_getpid);
  p->log.file.fd = -1;
  find_gettime(p);
  p->xsave_mask = vectors_to_keep();
  __cairn_regions_start(p);
  p->started.mono = __cairn_now(p);
  read_clock(REALTIME, ts);
  p->started.real = ts[0] * SECOND + ts[1];
  p->started.tsc = ticks();
  p->origin = p->time.clock->last_tick = p->time.member->since = p->started.mono;
  if (p->kind == KIND_EXACT) __cairn_exact_start(p);
  configure(p, e);
  __cairn_new_threshold(p, p->set.threshold);
  set_words(p, p->started.mono);
  return p;
}

/* Those of modules that are no libraries with timed_guest.c: there is nothing to find, load or leave. */
static struct process *alone;
FALLBACK struct process **__cairn_guest_states(void) { return &alone; }
FALLBACK int __cairn_guest_load(void) { return 1; }
FALLBACK int __cairn_guest_is_early(void) { return 0; }
FALLBACK int __cairn_guest_plain(void) { return 0; }
FALLBACK void __cairn_guest_pin(void) {}
FALLBACK int __cairn_guest_leave(struct process *p) {
  (void)p;
  return 0;
}
FALLBACK void __cairn_guest_arrive(struct process *p) { (void)p; }

/* pin keeps a library loaded. Only this file names the functions above: the reference of another member would make the
 * linker take timed_guest.c into an executable. */
HIDDEN void __cairn_pin(void) { __cairn_guest_pin(); }

/* states returns where the list of states begins; 0 if there is none yet, and this is a library. */
static struct process **states(void) {
#ifdef CAIRN_ATTACH
  return &alone;
#endif
  return !&__cairn_process || ANDROID ? __cairn_guest_states() : &__cairn_process;
}

/* idle makes a state that records nothing. Calls use here in place of what their thread has. */
static struct process *idle(struct local *here) {
  struct process *p = new_process(0);
  p->off = 1;
  __cairn_show_low(p);
  if (p->mask != (u32)-1) __cairn_masked(p);
#ifdef CAIRN_FLIGHT
  __cairn_flight_start(p, 1); /* another call pins this module */
  here->flight.position = FLIGHT_NONE;
  store(word(p, ALIVE), 0);
#endif
#ifdef CAIRN_TREES
  p->mask = 0;
  here->node = &__cairn_tree_none;
#endif
  __cairn_local = (uword)here - (__cairn_plain ? 0 : thread_pointer());
  __cairn_state = p;
  store(&__cairn_base, p->base);
  return p;
}

#include "join.h"

/* join finds the process's state of modules of this kind, or makes it; 0: a library cannot load its
 * runtime. */
static struct process *join(char **envp, int *first) {
  struct process *mine = 0, *p, **link = states();
  *first = 0;
  if ((p = find(&link))) return p;
  if ((!HAS_HOST && !__cairn_own_local()) || !__cairn_guest_load()) return 0;
  link = states();
  if ((p = find(&link))) return p;
  for (;;) {
    if (!mine) mine = new_process(envp);
    p = load(link); /* of another layout */
    *first = 1;
    if (p || __atomic_compare_exchange_n(link, &p, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return mine;
    *first = 0;
    if (!(p = find(&link))) continue;
    __cairn_window_free(mine); /* another thread was faster */
    return p;
  }
}

/* add_base records a word by which instrumented code is recognized. The first is of the module that
 * made the state. */
void __cairn_add_base(struct process *p, const void *at) {
  for (u32 i = 0; i < BASES; i++) {
    u64 none = 0;
    if (!__atomic_compare_exchange_n(&p->base_word[i], &none, (uword)at, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    for (u32 n = load(&p->bases); n <= i && !__atomic_compare_exchange_n(&p->bases, &n, i + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);) {
    }
    return;
  }
}

HIDDEN void __cairn_timed_start(int argc, char **argv, char **envp) {
  (void)argc, (void)argv;
  if (__cairn_state && __cairn_state != early) return;
#if !GLIBC && !__ANDROID__ /* whose loader gives it, before the C library has it */
  envp = &environ ? environ : 0;
#endif
  __cairn_early_start(); /* unless the loader called it */
  int first;
  struct process *before = early, *p = join(envp, &first);
  early = 0;
  if (!p && !HAS_HOST) {
    not_loaded(); /* and its code runs without a state */
    return;
  }
  if (!p) {
    run_plain();
    if (before) __cairn_window_free(before);
    return;
  }
  __cairn_add_base(p, &__cairn_base);
  if (p->mask != (u32)-1) __cairn_masked(p);
  __cairn_bus = p->bus;
  __cairn_local = p->local;
  __cairn_state = p;
  __cairn_arrivals_start(p);
#if !__arm__
  __cairn_arrival_base = p->base;
  __cairn_arrival_mask = p->mask;
  __cairn_arrival_exact = p->kind == KIND_EXACT;
#endif
  channels_start(p);
#ifdef CAIRN_FLIGHT
  __cairn_flight_start(p, first);
#endif
  if (!first) __cairn_guest_arrive(p);
  store(&__cairn_base, p->base);
  if (before) __cairn_window_free(before);
  if (!first || p->off) return;
  __cairn_family_start(p);
  __cairn_begin(p); /* now, as the program may be killed, or may leave no room for a log */
  start_threads(p);
}

extern int __cxa_atexit(void (*)(void *), void *, void *) WEAK;

static void finish(void);

/* exits is called before the program's destructors. */
static void exits(void *none) {
  (void)none;
  store(&__cairn_state->exiting, 1);
  if (ENDS_WITH_EXIT) finish();
}

/* Handlers of fork are registered when the C library is initialized. */
static void late_start(int argc, char **argv, char **envp) {
  __cairn_timed_start(argc, argv, envp);
  if (__cairn_plain || !__cairn_state || __cairn_state->base_word[0] != (uword)&__cairn_base) return;
  if (__cxa_atexit) __cxa_atexit(exits, 0, 0);
#if GLIBC
  if (__register_atfork) __register_atfork(0, 0, forked, 0);
#else
  pthread_atfork(0, 0, forked);
#endif
}

/* finish waits until the log is complete, of the process or about a library that is unloaded. At the
 * end of the process it makes a system call only if the program has a callback
 * for its spikes, or reads commands. */
static void finish(void) {
  struct process *p = __cairn_state;
  if (!p) return;
  if (!load(&p->exiting) && !load(&p->ended) && __cairn_guest_leave(p)) return;
  if (p->off || !load(word(p, ALIVE))) return;
  if ((p->check_pid || p->control.wanted || p->spikes) && sys0(SYS_getpid) != p->pid) return;
  store(&p->ended, 1);
  if (p->control.wanted) __cairn_control_end(p);
  __cairn_end(p);
  if (p->spikes) __cairn_callback_end(p);
}

__attribute__((section(".init_array.00000"), used)) static void (*const init)(int, char **, char **) = late_start;
__attribute__((section(".fini_array.00000"), used)) static void (*const fini)(void) = finish;

/* The runtime of the timed modes for Mach-O: see macho_timed.h. A copy with only hidden symbols is linked into each program and
 * dylib; the first that starts makes the state, and stays loaded. */

#include "macho_timed.h"

/* What inserted code reads, under names without C's underscore. The clock has a value before the start. */
HIDDEN i64 local __asm__("__cairn_local"); /* distance of a thread's slot from its block; 0: not started; -1: it cannot */
#if CAIRN_MODE == LOG_MODE_TRACE
static u64 idle = 1;
HIDDEN u64 *tracer __asm__("__cairn_tracer") = &idle;
#else
HIDDEN u8 *base __asm__("__cairn_base"); /* of the window; 0: not started, or it cannot */
#endif

/* The state that this image uses, where other images find it. */
struct shared {
  u32 abi, size;
  struct process *process;
};
__attribute__((section("__DATA,__cairn_traced"), used)) static struct shared shared = {TIMED_ABI, sizeof(struct process), 0};

/* ---- text ---- */

typedef char letter;
#include "rt_text.h"

static void print_error(const char *what, const char *about) {
  char b[MAX_PATH + 128], *p = put(put_some(put(put(b, "cairn: no calls are logged: "), what), about, MAX_PATH), ": errno ");
  p = put(put_number(p, (u32)*__error()), "\n");
  write(2, b, (u64)(p - b));
}

static void thread_ends(void *of);
#if CAIRN_MODE == LOG_MODE_TRACE
static void depth_ends(void *list);
#define OWN_KEYS KEYS, thread_ends, depth_ends
#else
#define OWN_KEYS 1, thread_ends, 0
#endif

/* What a mode does. */
#define NO_ROOM (CAIRN_MODE == LOG_MODE_TRACE ? "no memory" : "no room for a window of 4 GiB of addresses, and for what the calls need")
static int start_mode(struct process *p);
static void write_mode(struct process *p, int final); /* by the thread of the clock, and at the end */
static void module_goes(struct process *p, struct module *m);
static void fork_mode(struct process *p);
static void clock_begins(struct process *p); /* in its thread */
static void hear(struct process *p); /* of threads that begin and end */
static void join_mode(struct process *p); /* for an image */
static int start_flight(struct process *p, const char *image);

/* place_of_thread returns where inserted code of an image finds what a thread has, -1 if there is no such place. */
static i64 place_of_thread(struct process *p, const char *image) {
#ifdef CAIRN_FLIGHT
  return start_flight(p, image) ? (i64)p->flight.local : -1;
#else
  return (i64)(8 * p->key);
#endif
}

/* ---- the clock ---- */

#if CAIRN_MODE == LOG_MODE_TRACE
/* moment moves the clock to now, and returns the time: no event so far is later, and none that follows is earlier. The thread of
 * the clock calls it each period, and so does each thread that begins a chunk: with many calls, times are finer than the period. */
static u64 moment(struct process *p) {
  u64 time = now(p), c = less(time, p->mono) / LOG_CLOCK_UNIT + 1, old = load(&p->clock);
  while (c > old) {
    if (!__atomic_compare_exchange_n(&p->clock, &old, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    u64 gap = (c - old) * LOG_CLOCK_UNIT;
    if (add(&p->ticks, 1) && gap > load(&p->worst)) store(&p->worst, gap);
    break;
  }
  return time;
}

static void tick(struct process *p) { moment(p); }

static u64 time_of(const struct process *p, u64 clock) { return p->mono + (clock - 1) * LOG_CLOCK_UNIT; }
#else
#include "interval.h"

static u64 moment(struct process *p) { return now(p); }
#endif

#include "macho_log.h"
#include "macho_words.h"

/* ---- images ---- */

static const struct command *find(const struct image *image, u32 kind) {
  const struct command *c = (const struct command *)(image + 1);
  for (u32 i = 0; i < image->commands; i++) {
    if (c->kind == kind) return c;
    c = (const struct command *)((const u8 *)c + c->size);
  }
  return 0;
}

static char *put_id(char *p, const struct image *image) {
  const struct command *id = find(image, LC_UUID);
  for (u32 i = 0; id && i < 12; i++) {
    u8 byte = ((const u8 *)(id + 1))[i / 2], digit = i & 1 ? byte & 15 : byte >> 4;
    *p++ = (char)(digit + (digit < 10 ? '0' : 'a' - 10));
  }
  *p = 0;
  return p;
}

#if CAIRN_MODE == LOG_MODE_SPIKE
#include "macho_starts.h"
#endif

/* add_image notes the image that this is linked into. */
static void add_image(struct module *m) {
  const struct image *image = &__dso_handle;
  const struct command *c = (const struct command *)(image + 1), *id = find(image, LC_UUID);
  char *q = m->path;
  const char *name = "";
  u64 first = ~0ul, last = 0;
  for (u32 i = 0; i < image->commands; i++, c = (const struct command *)((const u8 *)c + c->size)) {
    const struct segment *s = (const struct segment *)c;
    if (c->kind != LC_SEGMENT_64 || word_value(s->name, "__PAGEZERO") || word_value(s->name, "__LINKEDIT")) continue;
    if (word_value(s->name, "__TEXT")) m->slide = (u64)image - s->address;
    first = least(first, s->address);
    if (s->address + s->room > last) last = s->address + s->room;
  }
  m->start = first + m->slide, m->end = last + m->slide;
  m->main = image->kind == MH_EXECUTE;
  m->has_id = id != 0;
  if (id) copy(m->id, id + 1, sizeof m->id);
  for (u32 i = 0; _dyld_get_image_name && i < _dyld_image_count(); i++)
    if (_dyld_get_image_header(i) == image) name = _dyld_get_image_name(i);
  if (*name != '/' && getcwd(q, MAX_DIR)) {
    while (*q) q++;
    *q++ = '/';
  }
  put_some(q, name, MAX_NAME + 60);
  if (*name == '/') put_some(m->path, name, MAX_PATH - 1);
  m->image = image;
#if CAIRN_MODE == LOG_MODE_SPIKE
  note_starts(m);
#endif
}

static struct process *find_shared(void) {
  for (u32 i = 0; i < _dyld_image_count(); i++) {
    u64 size = 0;
    const void *image = _dyld_get_image_header(i);
    const struct shared *s = image ? (const struct shared *)getsectiondata(image, "__DATA", "__cairn_traced", &size) : 0;
    if (s && s != &shared && size >= sizeof *s && s->abi == TIMED_ABI && s->size == sizeof(struct process) && s->process) return s->process;
  }
  return 0;
}

/* ---- threads ---- */

/* own_slot and set_slot read and write the slot of this thread at a distance from its block, as inserted code does. */
#if __aarch64__
static u64 *slot_at(u64 distance) {
  u64 block;
  __asm__ volatile("mrs %0, tpidrro_el0" : "=r"(block));
  return (u64 *)((block & ~7ul) + distance);
}
static u64 own_slot(u64 distance) { return *(volatile u64 *)slot_at(distance); }
static void set_slot(u64 distance, u64 v) { *(volatile u64 *)slot_at(distance) = v; }
#else
static u64 own_slot(u64 distance) {
  u64 v;
  __asm__ volatile("movq %%gs:(%1), %0" : "=r"(v) : "r"(distance) : "memory");
  return v;
}
static void set_slot(u64 distance, u64 v) { __asm__ volatile("movq %0, %%gs:(%1)" : : "r"(v), "r"(distance) : "memory"); }
#endif

/* block_most blocks all signals, and returns which were blocked. */
static u64 block_most(void) {
  u32 all = ~0u, was = 0;
  pthread_sigmask(SIG_BLOCK, &all, &was);
  return was;
}

static void unblock(u64 mask) {
  u32 was = (u32)mask;
  pthread_sigmask(SIG_SETMASK, &was, 0);
}

/* take takes the lock, with all signals blocked: their handlers may need a chunk. */
static int take(struct process *p) {
  u64 signals = block_most();
  os_unfair_lock_lock(&p->lock);
  p->signals = (u32)signals;
  return 1;
}

static void give(struct process *p) {
  u32 signals = p->signals;
  os_unfair_lock_unlock(&p->lock);
  unblock(signals);
}

/* start_thread starts a thread, which gets no signals, and reports whether it could. */
static int start_thread(void *(*f)(void *), struct process *p) {
  void *thread;
  u64 signals = block_most();
  int ok = !pthread_create(&thread, 0, f, p);
  if (ok) pthread_detach(thread);
  unblock(signals);
  return ok;
}

static u32 thread_number(void) {
  u64 tid = 0;
  pthread_threadid_np(0, &tid);
  return (u32)tid;
}

#if CAIRN_MODE != LOG_MODE_TRACE
/* make_window makes the window, and reports whether there is one. A stack pointer may be misaligned. */
static int make_window(struct process *p) {
  u8 *m = mmap(0, WINDOW + 2 * GRAIN, PROT_RW, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  if (m == (u8 *)-1) return 0;
  p->base = m + GRAIN;
  tick(p);
  return 1;
}
#endif

/* take_keys makes n keys beside each other, at most KEYS, with what is called of values of the first and of the last when a thread ends.
 * It returns the first, 0 if there are none, or their slots are not where inserted code looks for them. */
enum { KEYS = 3 };
static u64 take_keys(u32 n, void (*first)(void *), void (*last)(void *)) {
  enum { TRIES = 15 };
  u64 key[TRIES], of = 0;
  u32 made = 0, run = 0;
  while (!of && made + n - run <= TRIES && !pthread_key_create(&key[made], run == 0 ? first : run == n - 1 ? last : 0)) {
    u64 k = key[made++];
    int there = pthread_setspecific(k, key) == 0 && own_slot(8 * k) == (u64)key;
    pthread_setspecific(k, 0);
    if (!there) break;
    run = run && key[made - 2] + 1 != k ? 0 : run + 1;
    if (run == n) of = k + 1 - n;
  }
  for (u32 i = 0; i < made; i++)
    if ((!of || key[i] < of || key[i] >= of + n) && pthread_key_delete) pthread_key_delete(key[i]);
  return of;
}

/* ---- the clock ---- */

static void *run_clock(void *of) {
  enum { USER_INTERACTIVE = 0x21 };
  struct process *p = of;
  clock_begins(p);
  if (pthread_setname_np) pthread_setname_np("cairn-clock");
  if (pthread_set_qos_class_self_np) pthread_set_qos_class_self_np(USER_INTERACTIVE, 0);
  for (;;) {
    mach_wait_until(mach_absolute_time() + p->period * p->denom / p->numer);
    tick(p);
    write_mode(p, 0);
  }
  return 0;
}

/* start_clock starts the thread of the clock, which gets no signals. */
static void start_clock(struct process *p) {
  if (p->off || __atomic_exchange_n(&p->has_clock, 1, __ATOMIC_ACQ_REL)) return;
  start_thread(run_clock, p);
}

/* stay keeps this image loaded, whose code the process uses from now on. */
static void stay(const char *path) {
  enum { NOW = 2, NO_LOAD = 0x10, NO_DELETE = 0x80 };
  if (dlopen) dlopen(path, NOW | NO_LOAD | NO_DELETE);
}

/* ---- the life of the process ---- */

/* set_origin makes now the time from which the clock counts. */
static void set_origin(struct process *p) {
  u64 t[2] = {0, 0};
  gettimeofday(t, 0);
  p->real = t[0] * SECOND + (u32)t[1] * 1000ul;
  p->mono = now(p);
}

/* forked makes the child begin a log of its own. */
static void forked(void) {
  struct process *p = shared.process;
  p->lock = 0;
  p->pid = getpid();
  p->forked = 1, p->has_clock = 0;
  p->chunks = 0;
  p->first_used = 0;
  p->first = p->more = 0;
  fork_mode(p);
}

static void finish(void *unused) {
  struct process *p = shared.process;
  (void)unused;
  p->ended = 1;
  tick(p);
  write_mode(p, 1);
}

/* image_goes notes that an image is unloaded. */
static void image_goes(const void *image, i64 slide) {
  struct process *p = shared.process;
  (void)slide;
  for (struct module *m = p->module; m < p->module + p->modules; m++)
    if (m->image == image) module_goes(p, m);
  take(p);
  for (struct module *m = p->module; m < p->module + p->modules; m++)
    if (m->image == image) {
      write_module(p, m, LOG_MODULE_UNLOADED);
      m->image = 0;
    }
  give(p);
}

/* make_state makes the state of the process, 0 if it cannot. */
static struct process *make_state(void) {
  struct process *p = (struct process *)map_memory(sizeof *p, PROT_RW);
  char exe[MAX_DIR];
  u32 timebase[2] = {1, 1}, size = sizeof exe;
  const char *name = exe;
  if (!p) return 0;
  p->abi = TIMED_ABI, p->size = sizeof *p;
  mach_timebase_info(timebase);
  p->numer = timebase[0], p->denom = timebase[1];
  p->pid = getpid();
  set_origin(p);
  p->clock = 1;
  if (_NSGetExecutablePath(exe, &size)) put(exe, "program");
  for (const char *s = exe; *s; s++)
    if (*s == '/') name = s + 1;
  put_id(put(put_some(p->name, name, MAX_NAME), "."), _dyld_get_image_header(0));
  read_environment(p);
  if (CAIRN_MODE != LOG_MODE_TRACE && p->off) return 0;
  p->zeros = map_memory(CHUNK, PROT_RW);
  if (!p->zeros || !start_mode(p)) print_error(NO_ROOM, "");
  else if ((p->key = take_keys(OWN_KEYS))) return p;
  else print_error("no thread-local storage where code looks for it", "");
  return 0;
}

/* join_image makes this image use the state, and notes it, unless there are too many. */
static int join_image(struct process *p) {
  static struct module own;
  u32 i = 0;
  add_image(&own);
  take(p);
  while (i < p->modules && p->module[i].image) i++;
  if (i < MAX_MODULES) {
    p->modules += i == p->modules;
    own.number = p->numbers++;
    copy(&p->module[i], &own, sizeof own);
    if (p->first) write_module(p, &own, 0);
  }
  give(p);
  if (i == MAX_MODULES) return print_error("of this library, as 128 others log theirs: ", own.path), 0;
  store(&shared.process, p);
  store(&local, place_of_thread(p, own.path));
  join_mode(p);
#if CAIRN_MODE == LOG_MODE_TRACE
  tracer = &p->clock;
#else
  if (load(&local) > 0) store(&base, p->base);
#endif
  return 1;
}

/* start returns the state, which it finds or makes, 0 if there is none. */
static struct process *start(void) {
  static u8 started;
  if (load(&shared.process)) return shared.process;
  if (!mmap || !pthread_key_create || !os_unfair_lock_lock || !mach_timebase_info || !getsectiondata) return 0;
  if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL)) return 0; /* in a signal handler, or it has failed */
  struct process *p = find_shared();
  int made = !p;
  if ((made && !(p = make_state())) || !join_image(p)) {
    if (CAIRN_MODE != LOG_MODE_TRACE) store(&local, -1l);
    return 0;
  }
  if (!made) return p;
  pthread_atfork(0, 0, forked);
  if (_dyld_register_func_for_remove_image) _dyld_register_func_for_remove_image(image_goes);
  stay(p->module->path);
  hear(p);
  return p;
}

/* The thread of the clock starts when the system's libraries are ready. Handlers run in reverse order: those that later
 * constructors register run before this one. */
__attribute__((__constructor__(101))) static void begin_process(void) {
  struct process *p = start();
  if (!p || p->ready) return;
  p->ready = 1;
  start_clock(p);
  __cxa_atexit(finish, 0, 0);
}

#include "macho_routine.h"
#if CAIRN_MODE == LOG_MODE_TRACE
#include "macho_trace.c"
#include "macho_depth.c"
#elif CAIRN_MODE == LOG_MODE_STACKS
#include "macho_tree.c"
#else
#include "macho_spike.c"
#endif
#if CAIRN_MODE != LOG_MODE_SPIKE
static void clock_begins(struct process *p) {}
static void hear(struct process *p) {}
static void join_mode(struct process *p) {}
#endif

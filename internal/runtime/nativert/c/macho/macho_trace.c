/* The runtime of mode trace for Mach-O: see macho_trace.h. A copy with only hidden symbols is linked into each program and
 * dylib; the first that starts makes the state, and stays loaded. */

#include "macho_trace.h"

/* What inserted code reads, under names without C's underscore. The clock has a value before the start. */
static u64 idle = 1;
HIDDEN u64 *tracer __asm__("__cairn_tracer") = &idle;
HIDDEN u64 local __asm__("__cairn_local"); /* distance of a thread's slot from its block; 0: not started */

static u64 nowhere[2]; /* for events that have no other place */

/* The state that this image uses, where other images find it. */
struct shared {
  u32 abi, size;
  struct process *process;
};
__attribute__((section("__DATA,__cairn_traced"), used)) static struct shared shared = {TRACE_ABI, sizeof(struct process), 0};

/* ---- text ---- */

typedef char letter;
#include "rt_text.h"

static void print_error(const char *what, const char *about) {
  char b[MAX_PATH + 128], *p = put(put_some(put(put(b, "cairn: no calls are logged: "), what), about, MAX_PATH), ": errno ");
  p = put(put_number(p, (u32)*__error()), "\n");
  write(2, b, (u64)(p - b));
}

#include "macho_trace_log.h"
#include "macho_trace_words.h"

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
}

static struct process *find_shared(void) {
  for (u32 i = 0; i < _dyld_image_count(); i++) {
    u64 size = 0;
    const void *image = _dyld_get_image_header(i);
    const struct shared *s = image ? (const struct shared *)getsectiondata(image, "__DATA", "__cairn_traced", &size) : 0;
    if (s && s != &shared && size >= sizeof *s && s->abi == TRACE_ABI && s->size == sizeof(struct process) && s->process) return s->process;
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

/* take takes the lock, with all signals blocked: their handlers may need a chunk. */
static void take(struct process *p, u32 *signals) {
  u32 all = ~0u;
  pthread_sigmask(SIG_BLOCK, &all, signals);
  os_unfair_lock_lock(&p->lock);
}

static void give(struct process *p, const u32 *signals) {
  os_unfair_lock_unlock(&p->lock);
  pthread_sigmask(SIG_SETMASK, signals, 0);
}

/* thread_ends notes that a thread, whose position was at, has ended: another may use its chunk. */
static void thread_ends(void *at) {
  struct process *p = shared.process;
  u8 *c = (u8 *)(((u64)at - 1) & ~(CHUNK - 1));
  u32 signals;
  if (!p || !p->ring_chunks) return;
  take(p, &signals);
  for (u64 i = 0; i < p->ring_chunks; i++)
    if (p->ring[i].at == c && c) p->ring[i].ended = 1;
  give(p, &signals);
}

/* make_key makes the key, and reports whether its slot is where inserted code looks for it. */
static int make_key(struct process *p) {
  if (pthread_key_create(&p->key, thread_ends)) return 0;
  pthread_setspecific(p->key, p);
  int there = own_slot(8 * p->key) == (u64)p;
  pthread_setspecific(p->key, 0);
  return there;
}

/* ---- the clock ---- */

static void *run_clock(void *of) {
  enum { USER_INTERACTIVE = 0x21 };
  struct process *p = of;
  if (pthread_setname_np) pthread_setname_np("cairn-clock");
  if (pthread_set_qos_class_self_np) pthread_set_qos_class_self_np(USER_INTERACTIVE, 0);
  for (;;) {
    mach_wait_until(mach_absolute_time() + p->period * p->denom / p->numer);
    tick(p);
    if (load(&p->first)) write_status(p);
  }
  return 0;
}

/* start_clock starts the thread of the clock, which gets no signals. */
static void start_clock(struct process *p) {
  void *thread;
  u32 all = ~0u, signals;
  if (p->off || __atomic_exchange_n(&p->has_clock, 1, __ATOMIC_ACQ_REL)) return;
  pthread_sigmask(SIG_BLOCK, &all, &signals);
  if (!pthread_create(&thread, 0, run_clock, p)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &signals, 0);
}

/* ---- the life of the process ---- */

/* forked makes the child begin a log of its own at its next event. */
static void forked(void) {
  struct process *p = shared.process;
  p->lock = 0;
  p->pid = getpid();
  p->forked = 1, p->has_clock = 0;
  p->origin = now(p);
  p->clock = 1;
  p->ticks = p->worst = p->hand = p->overwritten = p->chunks = 0;
  p->sequence = p->first_used = 0;
  p->first = p->more = 0;
  for (u64 i = 0; i < p->ring_chunks; i++) p->ring[i] = (struct place){0, 0};
  pthread_setspecific(p->key, 0);
}

static void finish(void *unused) {
  struct process *p = shared.process;
  (void)unused;
  tick(p);
  if (load(&p->first)) write_status(p);
}

/* image_goes notes that an image is unloaded. */
static void image_goes(const void *image, i64 slide) {
  struct process *p = shared.process;
  u32 signals;
  (void)slide;
  take(p, &signals);
  for (struct module *m = p->module; m < p->module + p->modules; m++)
    if (m->image == image) {
      write_module(p, m, LOG_MODULE_UNLOADED);
      m->image = 0;
    }
  give(p, &signals);
}

/* make_state makes the state of the process, 0 if it cannot. */
static struct process *make_state(void) {
  struct process *p = (struct process *)map_memory(sizeof *p, PROT_RW);
  char exe[MAX_DIR];
  u32 timebase[2] = {1, 1}, size = sizeof exe;
  const char *name = exe;
  if (!p) return 0;
  p->abi = TRACE_ABI, p->size = sizeof *p;
  mach_timebase_info(timebase);
  p->numer = timebase[0], p->denom = timebase[1];
  p->pid = getpid();
  p->origin = now(p);
  p->clock = 1;
  if (_NSGetExecutablePath(exe, &size)) put(exe, "program");
  for (const char *s = exe; *s; s++)
    if (*s == '/') name = s + 1;
  put_id(put(put_some(p->name, name, MAX_NAME), "."), _dyld_get_image_header(0));
  read_environment(p);
  p->sink = map_memory(CHUNK, PROT_RW);
  p->zeros = map_memory(CHUNK, PROT_RW);
  p->ring = (struct place *)map_memory((p->ring_chunks + 1) * sizeof *p->ring, PROT_RW);
  if (p->sink && p->zeros && p->ring && make_key(p)) return p;
  print_error("no memory, or no thread-local storage where code looks for it", "");
  return 0;
}

/* stay keeps this image loaded, whose code the process uses from now on. */
static void stay(const char *path) {
  enum { NOW = 2, NO_LOAD = 0x10, NO_DELETE = 0x80 };
  if (dlopen) dlopen(path, NOW | NO_LOAD | NO_DELETE);
}

/* join makes this image use the state, and notes it, unless there are too many. */
static int join(struct process *p) {
  static struct module own;
  u32 signals, i = 0;
  add_image(&own);
  take(p, &signals);
  while (i < p->modules && p->module[i].image) i++;
  if (i < MAX_MODULES) {
    p->modules += i == p->modules;
    own.number = p->numbers++;
    copy(&p->module[i], &own, sizeof own);
    if (p->first) write_module(p, &own, 0);
  }
  give(p, &signals);
  if (i == MAX_MODULES) return print_error("of this library, as 128 others log theirs: ", own.path), 0;
  tracer = &p->clock;
  store(&shared.process, p);
  store(&local, 8 * p->key);
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
  if (made && !(p = make_state())) return 0;
  if (!join(p)) return 0;
  if (!made) return p;
  pthread_atfork(0, 0, forked);
  if (_dyld_register_func_for_remove_image) _dyld_register_func_for_remove_image(image_goes);
  stay(p->module->path);
  return p;
}

/* The thread of the clock starts when the system's libraries are ready. Handlers run in reverse order: those that later
 * constructors register run before this one. */
__attribute__((constructor(101))) static void begin(void) {
  struct process *p = start();
  if (!p || p->ready) return;
  p->ready = 1;
  start_clock(p);
  __cxa_atexit(finish, 0, 0);
}

/* ---- what inserted code calls ---- */

#if __aarch64__
#define SAVE_VECTORS (void)vectors;
#define RESTORE_VECTORS
#else
#include "vectors_x86_64.h"
#define SAVE_VECTORS u64 state = find_vectors(); save_vectors(state, vectors);
#define RESTORE_VECTORS restore_vectors(state, vectors);
#endif

/* next returns the position behind the next event of this thread, whose chunk is full, or which has none. */
static u64 next(struct process *p) {
  u32 signals;
  u64 tid = 0;
  pthread_threadid_np(0, &tid);
  take(p, &signals);
  u64 at = own_slot(8 * p->key), was = at;
  if (!at || (at & (CHUNK - 1)) == CHUNK - LOG_EVENT_SIZE) at = (u64)another(p, (u8 *)(at & ~(CHUNK - 1)), (u32)tid) + LOG_CHUNK_HEADER_SIZE;
  at += LOG_EVENT_SIZE;
  if (was) set_slot(8 * p->key, at);
  else pthread_setspecific(p->key, (void *)at); /* the first time: so that the system calls thread_ends */
  give(p, &signals);
  if (p->ready) start_clock(p);
  return at;
}

/* full is called with room for vector registers. */
__attribute__((used)) HIDDEN u64 full(u8 *vectors) __asm__("__cairn_do_trace_full");
u64 full(u8 *vectors) {
  SAVE_VECTORS
  int error = *__error();
  struct process *p = start();
  u64 at = p ? next(p) : (u64)&nowhere[1];
  *__error() = error;
  RESTORE_VECTORS
  return at;
}

/* The routine keeps all registers but the result; the flags are free. */
#if __aarch64__
#define PAIRS(op) \
  op " x0, x1, [sp]\n" op " x2, x3, [sp, 16]\n" op " x4, x5, [sp, 32]\n" op " x6, x7, [sp, 48]\n" op " x8, x9, [sp, 64]\n" \
  op " x10, x11, [sp, 80]\n" op " x12, x13, [sp, 96]\n" op " x14, x15, [sp, 112]\n" op " q0, q1, [sp, 128]\n" op " q2, q3, [sp, 160]\n" \
  op " q4, q5, [sp, 192]\n" op " q6, q7, [sp, 224]\n" op " q8, q9, [sp, 256]\n" op " q10, q11, [sp, 288]\n" op " q12, q13, [sp, 320]\n" \
  op " q14, q15, [sp, 352]\n" op " q16, q17, [sp, 384]\n" op " q18, q19, [sp, 416]\n" op " q20, q21, [sp, 448]\n" op " q22, q23, [sp, 480]\n" \
  op " q24, q25, [sp, 512]\n" op " q26, q27, [sp, 544]\n" op " q28, q29, [sp, 576]\n" op " q30, q31, [sp, 608]\n"
__asm__(".text\n.arch_extension fp\n.p2align 2\n.private_extern __cairn_trace_full\n.globl __cairn_trace_full\n__cairn_trace_full:\n"
        "stp x29, x30, [sp, -16]!\nmov x29, sp\nsub sp, sp, 640\n" PAIRS("stp") "bl __cairn_do_trace_full\nmov x17, x0\n" PAIRS("ldp")
        "mov sp, x29\nldp x29, x30, [sp], 16\nret\n");
#else
__asm__(".text\n.p2align 4\n.private_extern __cairn_trace_full\n.globl __cairn_trace_full\n__cairn_trace_full:\n"
        "pushq %rbp\nmovq %rsp, %rbp\npushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\n"
        "andq $-64, %rsp\nsubq $2816, %rsp\ncld\nmovq %rsp, %rdi\ncall __cairn_do_trace_full\nmovq %rax, %r11\nleaq -64(%rbp), %rsp\n"
        "popq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\npopq %rbp\nret\n");
_Static_assert(VECTORS == 2816, "as above");
#endif

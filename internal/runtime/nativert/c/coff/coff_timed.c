/* The runtime of mode spike for Windows: see coff_timed.h. A copy is linked into each program and DLL; the first that
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

/* ---- images ---- */

#include "coff_image.h"

static u32 image_size(const u8 *base) { return *(const u32 *)(optional(base) + 56); }

/* ---- text ---- */

typedef u16 letter;
#include "rt_text.h"

static void print(const u16 *text, u32 n) {
  static char bytes[3 * (MAX_PATH + 128)];
  u32 done;
  i32 size = WideCharToMultiByte(UTF8, 0, text, (i32)n, bytes, sizeof bytes, 0, 0);
  if (size > 0) WriteFile(GetStdHandle((u32)STDERR), bytes, (u32)size, &done, 0);
}

static void print_error(const u16 *what, const u16 *about) {
  static u16 text[MAX_PATH + 128];
  u32 failure = GetLastError();
  u16 *p = put(text, u"cairn: no spikes are logged: ");
  p = put(p, what);
  for (u32 i = 0; about[i] && i < MAX_PATH; i++) *p++ = about[i];
  p = put(put_number(put(p, u": error "), failure), u"\n");
  print(text, (u32)(p - text));
}

#include "coff_clock.c"
#include "coff_stack.c"
#include "coff_log.c"
#include "coff_judge.c"

/* ---- the words of CAIRN_SPIKE ---- */

/* word_value returns what follows a name at s, 0 if another word is there. */
static const u16 *word_value(const u16 *s, const char *name) {
  while (*name)
    if (*s++ != (u16)*name++) return 0;
  return s;
}

static int ends_word(const u16 *s) { return !*s || *s == ','; }

/* time_of parses a time such as 1.5ms; 0 if it is invalid. */
static u64 time_of(const u16 *s) {
  u64 v = 0, scale = 1;
  int point = 0;
  for (u32 digits = 0; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
    if (*s == '.') point = 1;
    else if (++digits > 9) return 0;
    else v = v * 10 + (u64)(*s - '0'), scale *= point ? 10 : 1;
  }
  u64 unit = *s == 'u' && s[1] == 's' ? 1000 : *s == 'm' && s[1] == 's' ? MS : *s == 's' ? SECOND : 0;
  return unit && ends_word(s + (unit == SECOND ? 1 : 2)) ? v * unit / scale : 0;
}

/* set applies a word, and reports whether it is one. */
static int set(struct process *p, const u16 *s) {
  const u16 *v;
  u64 n = 0;
  if ((v = word_value(s, "off")) && ends_word(v)) p->off = 1;
  else if ((v = word_value(s, "on")) && ends_word(v)) p->off = 0;
  else if ((v = word_value(s, "threshold=")) && (n = time_of(v)) >= 10000) p->threshold = n;
  else if ((v = word_value(s, "period=")) && (n = time_of(v)) >= 500000 && n <= SECOND) p->period = n;
  else if ((v = word_value(s, "rate=")) && *v >= '0' && *v <= '9') {
    for (; *v >= '0' && *v <= '9' && n < 1u << 28; v++) n = n * 10 + (u64)(*v - '0');
    if (!ends_word(v)) return 0;
    p->rate = (u32)n;
  } else return 0;
  return 1;
}

/* set_all applies a list of words. */
static void set_all(struct process *p, const u16 *s) {
  static u16 text[256];
  while (*s) {
    if (*s != ',' && !set(p, s)) {
      u16 *q = put(text, u"cairn: CAIRN_SPIKE: ");
      for (u32 i = 0; !ends_word(s + i) && i < 100; i++) *q++ = s[i];
      q = put(q, u" is not understood; ignored (threshold=10ms,period=1ms,rate=100,off)\n");
      print(text, (u32)(q - text));
    }
    while (!ends_word(s)) s++;
    if (*s) s++;
  }
}

/* ---- the life of a process ---- */

#ifndef CAIRN_DEFAULTS
#define CAIRN_DEFAULTS ""
#endif

static const u16 too_long[] = u"cairn: no spikes are logged: the directory for logs has a path of 600 characters or more\n";

static void read_environment(struct process *p) {
  static u16 value[2048];
  u32 n = (u32)MultiByteToWideChar(UTF8, 0, CAIRN_DEFAULTS, -1, value, 2048);
  if (n) set_all(p, value);
  n = GetEnvironmentVariableW(u"CAIRN_SPIKE", value, 2048);
  if (n && n < 2048) set_all(p, value);
  n = GetEnvironmentVariableW(u"CAIRN_DIR", value, 2048);
  if (!n) n = (u32)MultiByteToWideChar(UTF8, 0, CAIRN_DEFAULT_DIR, -1, value, 2048) - 1;
  if (!n) return;
  if (n < 2048 && GetFullPathNameW(value, MAX_DIR, p->dir, 0) < MAX_DIR) return;
  *p->dir = 0;
  print(too_long, sizeof too_long / sizeof *too_long - 1);
}

/* find_vectors finds what of the processor's state can be saved in the room that there is. */
static void find_vectors(struct process *p) {
  enum { OSXSAVE = 1 << 27, ROOM = 2816 };
  u32 a = 1, b, c = 0, d, low, high;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (!(c & OSXSAVE)) return;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  p->xsave = low & 0xe7;
}

/* look_at_exception makes blocks of the window, and notes what may leave calls, and names that threads are given. */
static i32 look_at_exception(struct pointers *x) {
  enum { VIOLATION = (i32)0xc0000005, NAME = 0x406d1388, GO_ON = -1 };
  const struct exception *e = x->exception;
  struct process *p = state;
  struct thread *t;
  if ((i32)e->code == VIOLATION && e->count >= 2 && commit(p, e->info[1])) return GO_ON;
  if (e->code == NAME && e->count >= 3 && e->info[0] == 0x1000 && ((u32)e->info[2] == (u32)-1 || (u32)e->info[2] == GetCurrentThreadId())) {
    const char *name = (const char *)e->info[1];
    if (!(t = begin(p))) return 0;
    for (t->name_length = 0; name[t->name_length] && t->name_length < MAX_NAME - 1; t->name_length++) t->name[t->name_length] = name[t->name_length];
    t->named = 0;
    end(t);
    return 0;
  }
  if (e->code >> 30 != 3 && e->code >> 29 != 1) return 0; /* for debuggers */
  if (!(t = begin(p))) return 0;
  copy(&t->context, x->context, sizeof t->context);
  walk(p, &t->context, now(p), &t->raised);
  end(t);
  return 0;
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

/* make_state makes the state of the process. This module stays, as the state refers to its code. */
static struct process *make_state(void) {
  enum { PIN_ADDRESS = 5 };
  void *module;
  u64 real = 0;
  struct process *p = VirtualAlloc(0, sizeof *p, MEM_RESERVE | MEM_COMMIT, READWRITE);
  if (!p || !make_window(p) || (p->tls = TlsAlloc()) == (u32)-1) {
    print_error(u"no room for the window of 4 GiB", u"");
    ExitProcess(125);
  }
  p->abi = TIMED_ABI, p->size = sizeof *p;
  p->pid = GetCurrentProcessId();
  QueryPerformanceFrequency(&p->hz);
  GetSystemTimeAsFileTime(&real);
  p->real = (real - 116444736000000000ull) * 100;
  p->mono = now(p);
  p->threshold = 10 * MS, p->period = MS, p->rate = 100;
  read_environment(p);
  find_vectors(p);
  set_low(p);
  tick(p);
  GetModuleHandleExW(PIN_ADDRESS, __ImageBase, &module);
  return p;
}

static u8 has_clock; /* its thread was started by this module */

static void start(void) {
  typedef i32 (*listener)(u32, void (*)(u32, const struct notice *, void *), void *, void **);
  static void *cookie;
  if (state) return;
  struct process *p = find_shared();
  if (p) {
    __cairn_base = p->base;
    state = p;
    return;
  }
  p = make_state();
  __cairn_base = p->base;
  state = p;
  AddVectoredExceptionHandler(1, happens);
  list_modules(p);
  listener listen = (listener)GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "LdrRegisterDllNotification");
  if (listen) listen(0, loader_says, 0, &cookie);
  void *thread = CreateThread(0, BLOCK, run_clock, p, 0, 0);
  if (thread) has_clock = 1, CloseHandle(thread);
  else print_error(u"no thread for the clock", u"");
}

/* finish marks the log as that of a process that ended in order. */
static void finish(void) {
  struct process *p = state;
  if (!p || is_dll(__ImageBase)) return;
  p->ended = 1;
  look(p);
}

/* life is called first of all, in each module, and for each thread. */
static void life(const u8 *module, u32 reason, const void *always) {
  (void)module;
  if (reason == ATTACH) start();
  if (reason == DETACH && always && state) {
    give(state); /* all other threads have been ended, maybe while they had the lock */
    state->ended = 1;
    look(state);
  }
  if (reason != THREAD_DETACH || !state) return;
  if (has_clock) thread_ends();
  struct thread *t = TlsGetValue(state->tls);
  if (!t || t->busy) return;
  TlsSetValue(state->tls, 0);
  for (struct open_calls *c = t->open_calls, *next; c; c = next) next = c->next, VirtualFree(c, 0, MEM_RELEASE);
  VirtualFree(t, 0, MEM_RELEASE);
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

/* The runtime of the coverage and count modes for Windows: it writes the records of its module, a program or a DLL, to a
 * file. A copy is linked into each.
 *
 * It is the counterpart of rt.c, and smaller: a file cannot be mapped over a section of a loaded module, so files are
 * written at the end, when the program calls cairn_dump, and when an exception ends it. It uses kernel32, and atexit of the
 * C library if the module has that. It has no static frame of a page, for which compilers call the C library.
 *
 * Files: DIR\<module>.<id>.<pid>.<n>.mipraw; package mip documents the format. DIR is CAIRN_DIR, or the argument of
 * cairn_set_dir, or that of --default-dir. The id is that of the CodeView record: GUID and age. */

#include "coff_types.h"

#include "wire.h"
#include "rt_header.h"
#include "coff_names.h"

/* ---- kernel32 ---- */

#define IMPORT(type, name, ...) __declspec(dllimport) type name(__VA_ARGS__)

IMPORT(u32, GetEnvironmentVariableW, const u16 *, u16 *, u32);
IMPORT(u32, GetFullPathNameW, const u16 *, u32, u16 *, u16 **);
IMPORT(u32, GetModuleFileNameW, const void *, u16 *, u32);
IMPORT(u32, GetCurrentProcessId, void);
IMPORT(u32, GetLastError, void);
IMPORT(void, Sleep, u32);
IMPORT(void *, GetStdHandle, u32);
IMPORT(void *, CreateFileW, const u16 *, u32, u32, void *, u32, u32, void *);
IMPORT(i32, WriteFile, void *, const void *, u32, u32 *, void *);
IMPORT(i32, CloseHandle, void *);
IMPORT(i32, DeleteFileW, const u16 *);
IMPORT(u32, GetFileAttributesW, const u16 *);
IMPORT(i32, MoveFileExW, const u16 *, const u16 *, u32);
IMPORT(i32, CreateDirectoryW, const u16 *, void *);
IMPORT(void *, VirtualAlloc, void *, u64, u32, u32);
IMPORT(i32, VirtualFree, void *, u64, u32);
IMPORT(void, GetSystemTimeAsFileTime, u64 *);
IMPORT(i32, QueryPerformanceCounter, u64 *);
IMPORT(i32, MultiByteToWideChar, u32, u32, const char *, i32, u16 *, i32);
IMPORT(i32, WideCharToMultiByte, u32, u32, const u16 *, i32, char *, i32, const char *, i32 *);
IMPORT(i32, K32EnumProcessModules, void *, const void **, u32, u32 *);
IMPORT(void *, CreateThread, void *, u64, u32 (*)(void *), void *, u32, u32 *);
IMPORT(u32, GetCurrentThreadId, void);
#include "coff_alone.h"
typedef i32 (*filter)(void *);
IMPORT(filter, SetUnhandledExceptionFilter, filter);

enum { UTF8 = 65001, GENERIC_WRITE = 0x40000000, SHARE_READ = 1, CREATE_NEW = 1, NORMAL = 0x80, REPLACE = 1 };
enum { FILE_EXISTS = 80, ALREADY_EXISTS = 183, MEM_COMMIT = 0x3000, MEM_RELEASE = 0x8000, READWRITE = 4, STDERR = -12 };
enum { DETACH, ATTACH, THREAD_ATTACH, THREAD_DETACH };

/* ---- this module ---- */

#include "coff_image.h"

/* Both sections exist even if nothing is instrumented, or in a mode without a buffer. */
__asm__(".section .crn$a,\"bw\"\n\t.zero 4\n\t.section .cro$a,\"bw\"\n\t.zero 4\n\t.text\n");

/* Instrumented objects refer to this: a link without the runtime fails with its name. */
const u8 __cairn_link_with_cairn_cc = 0;

#ifndef CAIRN_SLOTS
#define CAIRN_SLOTS 0
#endif
static u8 *raw_start;
static u32 raw_size, *ring, ring_size;
static u32 taken;    /* first executions so far */
static u32 sequence; /* number of the latest first call, in modes that count */
#if CAIRN_SLOTS
static u32 slots_asked[CAIRN_SLOTS];
#endif

/* locate finds the records and the order buffer. A function may run before the module's start. */
static void locate(void) {
#if CAIRN_SLOTS
  ring = slots_asked;
  ring_size = CAIRN_SLOTS;
#else
  ring = (u32 *)find_section(__ImageBase, ".cro", &ring_size);
  ring_size /= CAIRN_SLOT_SIZE;
#endif
  raw_start = find_section(__ImageBase, ".crn", &raw_size);
}

static u32 slot_count(void) {
  if (!raw_start) locate();
  return ring_size;
}

/* Lengths of input text are bounded. */
enum { MAX_DIR = 600, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

static struct {
  u16 path[MAX_PATH]; /* directory\module.id. */
  u16 tmp[MAX_PATH];
  u16 file[MAX_PATH];
  char scenario[CAIRN_MAX_SCENARIO + 1];
  u32 dir;    /* length of the directory; 0: write nothing */
  u32 pid;
  u32 n;      /* number in the file name */
  u64 run;    /* unique number of this run */
  filter before;
  u32 busy;   /* a file is being written */
  u32 writer; /* id of the thread that writes a file each second */
  u8 claimed; /* file n is ours: replace it */
  u8 dumped;  /* a dump was requested since the last reset */
  u8 many;    /* there may have been a second thread */
  u8 quiet;   /* nobody chose the directory */
  u8 started, finished;
} st;

/* ---- text ---- */

typedef u16 letter;
#include "rt_text.h"

/* print_error prints a message, which ends with the number of an error unless that is 0. */
static void print_error(const u16 *what, const u16 *path, u32 failure) {
  static u16 text[MAX_PATH + 64];
  static char bytes[3 * (MAX_PATH + 64)];
  u32 done;
  if (st.quiet) return;
  u16 *p = put_some(put(put(text, u"cairn: "), what), path, MAX_PATH);
  if (failure) p = put_number(put(p, u": error "), failure);
  p = put(p, u"\n");
  i32 n = WideCharToMultiByte(UTF8, 0, text, (i32)(p - text), bytes, sizeof bytes, 0, 0);
  if (n > 0) WriteFile(GetStdHandle((u32)STDERR), bytes, (u32)n, &done, 0);
}

/* ---- the module's name, and files ---- */

static u16 *put_module(u16 *p) {
  u16 *name = st.file, *base = name;
  u32 n = GetModuleFileNameW(__ImageBase, name, MAX_PATH - 1);
  name[n] = 0;
  for (; *name; name++)
    if (*name == '\\' || *name == '/') base = name + 1;
  return put_some(p, *base ? base : u"program", MAX_MODULE);
}

static int too_long(void) {
  print_error(u"the directory for raw files has a path of 600 characters or more: nothing is recorded", u"", 0);
  return -1;
}

/* set_path sets the path up to the process. */
static int set_path(const u16 *dir) {
  const struct codeview *id = find_id(__ImageBase);
  u32 n = length(dir) < MAX_DIR ? GetFullPathNameW(dir, MAX_DIR, st.path, 0) : MAX_DIR;
  if (!n || n >= MAX_DIR) return too_long();
  while (n > 1 && st.path[n - 1] == '\\') n--;
  st.dir = n;
  u16 *p = st.path + n;
  *p++ = '\\';
  p = put_module(p);
  *p++ = '.';
  for (u32 i = 0; id && i < 2 * sizeof id->id; i++) *p++ = u"0123456789abcdef"[i & 1 ? id->id[i / 2] & 15 : id->id[i / 2] >> 4];
  *p++ = '.';
  *p = 0;
  return 0;
}

static u16 *put_path(u16 *p, u32 number, const u16 *suffix) {
  u16 *q = put_number(put(p, st.path), st.pid);
  *q++ = '.';
  put(put_number(q, number), suffix);
  return p;
}

static int is_taken(u32 number) { return GetFileAttributesW(put_path(st.file, number, u".mipraw")) != (u32)-1; }

/* skip_taken goes to a number that may be free: a DLL that is loaded again and again writes a file each time. */
static void skip_taken(void) {
  u32 step = 1;
  for (; step && is_taken(st.n + step - 1); step *= 2) st.n += step;
  while (step /= 2)
    if (is_taken(st.n + step - 1)) st.n += step;
}

/* publish renames the temporary file: to the name of the file that it replaces, or to the first free one. */
static int publish(void) {
  if (!st.claimed) skip_taken();
  for (;; st.n++) {
    put_path(st.file, st.n, u".mipraw");
    if (MoveFileExW(st.tmp, st.file, st.claimed ? REPLACE : 0)) {
      st.claimed = 1;
      return 0;
    }
    u32 failure = GetLastError();
    if (st.claimed || failure != FILE_EXISTS && failure != ALREADY_EXISTS) return -1;
  }
}

static u32 add_sum(u32 sum, const u8 *p, u64 n) {
  while (n--) sum = (sum ^ *p++) * CAIRN_FNV_PRIME;
  return sum;
}

/* copy uses volatile accesses, so that no compiler replaces it by a call. */
static u8 *copy(u8 *to, const volatile u8 *from, u64 n) {
  while (n--) *to++ = *from++;
  return to;
}

/* fill builds the file at h and returns its end. */
static u8 *fill(struct header *h) {
  const struct codeview *id = find_id(__ImageBase);
  u8 *p = (u8 *)(h + 1), *end;
  copy((u8 *)h->magic, (const u8 *)CAIRN_RAW_MAGIC, sizeof h->magic);
  h->version = CAIRN_RAW_VERSION;
  h->pid = st.pid;
  h->run = st.run;
  if (id) {
    h->id_len = sizeof id->id;
    copy(h->id, id->id, sizeof id->id);
  }
  while (st.scenario[h->scenario_len]) *p++ = (u8)st.scenario[h->scenario_len++];
  h->data_offset = (u32)(p - (u8 *)h);
  h->size = raw_size;
  h->next = taken; /* before the slots: later ones are not in the file */
  end = copy(p, raw_start, raw_size);
  while (end > p && !end[-1]) end--;
  h->stored = (u64)(end - p);
  if (h->next) {
    h->slots = ring_size;
    end = copy(end, (const u8 *)ring, CAIRN_SLOT_SIZE * (u64)(h->next < ring_size ? h->next : ring_size));
  }
  /* After the copy: a thread that starts later is not in it. Counts are then exact. */
  if (!st.many) h->flags = CAIRN_RAW_SINGLE;
  h->checksum = add_sum(CAIRN_FNV_BASIS, (u8 *)h, (u64)(end - (u8 *)h));
  return end;
}

/* create opens the temporary file. That of a thread that was ended while it wrote one has another name. */
static void *create(void) {
  for (u32 n = (u32)(st.run >> 7) & 0xffffff, last = n + 100;; n++) {
    put_path(st.tmp, n, u".tmp");
    void *to = CreateFileW(st.tmp, GENERIC_WRITE, SHARE_READ, 0, CREATE_NEW, NORMAL, 0);
    if (to != (void *)-1 || GetLastError() != FILE_EXISTS || n == last) return to;
  }
}

static int write_all(const u8 *p, u64 n) {
  void *to = create();
  if (to == (void *)-1) return -1;
  int bad = 0;
  for (u32 done = 0; n && !bad; p += done, n -= done)
    bad = !WriteFile(to, p, (u32)(n < 1 << 30 ? n : 1 << 30), &done, 0) || !done;
  return bad | !CloseHandle(to);
}

/* emit writes the records to a file. It writes from a copy: the records continue to change, and the checksum must
 * match. */
static int emit(void) {
  u64 room = sizeof(struct header) + CAIRN_MAX_SCENARIO + raw_size + CAIRN_SLOT_SIZE * (u64)slot_count();
  put(st.tmp, st.path);
  u8 *file = VirtualAlloc(0, room, MEM_COMMIT, READWRITE);
  int bad = !file;
  if (file) {
    u64 size = (u64)(fill((struct header *)file) - file);
    st.tmp[st.dir] = 0;
    CreateDirectoryW(st.tmp, 0);
    st.tmp[st.dir] = '\\';
    bad = write_all(file, size) || publish();
    if (bad) print_error(u"cannot write ", st.tmp, GetLastError()), DeleteFileW(st.tmp);
    VirtualFree(file, 0, MEM_RELEASE);
  }
  return -bad;
}

static int begin(void) { return st.dir && !__atomic_exchange_n(&st.busy, 1, __ATOMIC_ACQUIRE); }
static void done(void) { __atomic_store_n(&st.busy, 0, __ATOMIC_RELEASE); }

/* ---- this module, and all modules ---- */

static void name_run(void) {
  u64 now = 0, ticks = 0;
  GetSystemTimeAsFileTime(&now);
  QueryPerformanceCounter(&ticks);
  st.run = now / 10 ^ ticks << 20 ^ (u64)&now << 28 ^ (u64)st.pid << 44;
}

static void start(void);
static int dump_module(const u16 *unused) {
  (void)unused;
  start(); /* unless the loader did: a program without a C library has no table by which it would */
  if (!begin()) return -1;
  st.dumped = 1;
  int r = emit();
  done();
  return r;
}

static int reset_module(const u16 *unused) {
  (void)unused;
  st.n += st.dumped;
  if (st.dumped) name_run();
  st.claimed = st.dumped = 0;
  u32 n = slot_count();
  for (u32 i = 0; i < raw_size; i++) ((volatile u8 *)raw_start)[i] = 0;
  for (u32 i = 0; i < n; i++) ((volatile u32 *)ring)[i] = 0;
  taken = sequence = 0;
  return 0;
}

/* The records so far move to the new directory: they are written at once, and the file in the old directory is
 * removed. */
static int set_dir_module(const u16 *dir) {
  static u16 path[MAX_PATH], old[MAX_PATH];
  u32 n = st.n, was = st.dir;
  u8 claimed = st.claimed;
  if (__atomic_exchange_n(&st.busy, 1, __ATOMIC_ACQUIRE)) return -1;
  put(path, st.path);
  if (claimed) put_path(old, n, u".mipraw");
  st.claimed = 0;
  st.n = 0;
  int r = set_path(dir) || emit() ? -1 : 0;
  if (r) {
    put(st.path, path);
    st.dir = was;
    st.n = n;
    st.claimed = claimed;
  } else {
    if (claimed) DeleteFileW(old);
    st.quiet = 0;
  }
  done();
  return r;
}

/* Other modules' copies of this runtime find the three functions here. */
enum { DUMP, RESET, SET_DIR };
typedef int (*module_call)(const u16 *);
__attribute__((section(".crnc"), used)) static const module_call calls[] = {dump_module, reset_module, set_dir_module};

static __attribute__((noinline)) int call_all(u32 which, const u16 *arg) {
  static const void *modules[1024];
  u32 size = 0, room = 0;
  int result = 0, own = 0;
  if (!K32EnumProcessModules((void *)-1, modules, sizeof modules, &size)) size = 0;
  for (u32 i = 0; i < size / sizeof *modules && i < sizeof modules / sizeof *modules; i++) {
    const module_call *c = (const module_call *)find_section(modules[i], ".crnc", &room);
    if (!c || (which + 1) * sizeof *c > room) continue;
    own |= c == calls;
    result |= c[which](arg);
  }
  return own ? result : result | calls[which](arg);
}

int __cairn_dump(void) { return call_all(DUMP, 0); }
void __cairn_reset(void) { call_all(RESET, 0); }

int __cairn_set_dir(const char *dir) {
  static u16 wide[MAX_DIR];
  if (!dir || !*dir || !MultiByteToWideChar(0, 0, dir, -1, wide, MAX_DIR)) return -1;
  return call_all(SET_DIR, wide);
}

/* ---- the life of the process ---- */

enum { PATIENCE = 1000 }; /* milliseconds for another thread to write a file */

/* write_last waits for a thread that writes a file. */
static void write_last(void) {
  if (!st.dir) return;
  for (u32 n = 0; !begin() && n < PATIENCE; n++) Sleep(1);
  emit();
  done();
}

static void finish(void) {
  write_last();
  st.finished = 1;
}

/* A program that TerminateProcess may end loses one second if CAIRN_CONTINUOUS is 1. Not so a DLL, in which no thread of ours may
 * run when it is unloaded. */
static u32 write_each(void *unused) {
  (void)unused;
  for (u32 sum = 0, n = 1;; n++) {
    Sleep(100);
    if (is_alone()) finish(), end_process();
    if (n % 10) continue;
    u32 now = add_sum(CAIRN_FNV_BASIS, raw_start, raw_size);
    if (now == sum || !begin()) continue;
    sum = now;
    emit();
    done();
  }
}

static void start_writer(void) {
  u16 value[2];
  if (is_dll(__ImageBase) || !st.dir || GetEnvironmentVariableW(u"CAIRN_CONTINUOUS", value, 2) != 1 || *value != '1') return;
  void *thread = CreateThread(0, 0, write_each, 0, 0, &st.writer);
  if (thread) CloseHandle(thread);
}

/* An exception that nothing handles ends the process, and DLLs are not told. */
static i32 unhandled(void *exception) {
  call_all(DUMP, 0);
  return st.before ? st.before(exception) : 0;
}

/* set_scenario takes as many characters as there is room for. A name that no buffer of ours holds is that of nobody. */
static void set_scenario(void) {
  static u16 value[8192];
  i32 n = (i32)GetEnvironmentVariableW(u"CAIRN_SCENARIO", value, sizeof value / sizeof *value), bytes = 0;
  if (n >= (i32)(sizeof value / sizeof *value)) n = 0;
  if (n > CAIRN_MAX_SCENARIO) n = CAIRN_MAX_SCENARIO;
  for (; n > 0 && bytes <= 0; n--)
    if (value[n - 1] >> 10 != 0x36) /* the first half of a character */
      bytes = WideCharToMultiByte(UTF8, 0, value, n, st.scenario, CAIRN_MAX_SCENARIO, 0, 0);
  st.scenario[bytes > 0 ? bytes : 0] = 0;
}

static void start(void) {
  static u16 value[MAX_DIR];
  u32 n;
  if (st.started) return;
  st.started = 1;
  slot_count();
  st.pid = GetCurrentProcessId();
  name_run();
  set_scenario();
  n = GetEnvironmentVariableW(u"CAIRN_DIR", value, MAX_DIR);
  if (n >= MAX_DIR)
    too_long();
  else if (n)
    set_path(value);
  else if (MultiByteToWideChar(UTF8, 0, CAIRN_DEFAULT_DIR, -1, value, MAX_DIR) > 1) {
    st.quiet = 1;
    set_path(value);
  }
  if (st.dir && !is_dll(__ImageBase)) st.before = SetUnhandledExceptionFilter(unhandled);
  start_writer();
}

/* The loader calls this first of all, and last, by a table of the C library, which the link demands (_tls_used). A DLL
 * that is loaded later does not know of threads before. */
static void life(const u8 *module, u32 reason, const void *always) {
  (void)module;
  switch (reason) {
    case ATTACH:
      st.many |= is_dll(__ImageBase) && !always;
      start();
      break;
    case THREAD_ATTACH:
      if (GetCurrentThreadId() != st.writer) st.many = 1;
      break;
    case THREAD_DETACH:
      if (st.writer) thread_ends();
      break;
    case DETACH:            /* of a DLL: before its destructors, with which finish comes */
      if (always) done(); /* the process ends, and all other threads have been ended, maybe while they wrote a file */
      if (!st.finished) write_last();
  }
}
__attribute__((section(".CRT$XLB"), used)) static void (*const callback)(const u8 *, u32, const void *) = life;

/* Handlers run in reverse order: those that later constructors register run before this one. */
extern int atexit(void (*)(void)) __attribute__((weak));
static void register_end(void) {
  start();
  if (atexit) atexit(finish);
}
__attribute__((section(".CRT$XCB"), used)) static void (*const constructor)(void) = register_end;

#include "coff_first.h"

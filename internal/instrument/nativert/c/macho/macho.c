/* The runtime of the coverage and count modes for Mach-O: it writes the records of its image to a
 * file. A copy with only hidden symbols is linked into every instrumented program, dylib and
 * framework.
 *
 * It is the counterpart of rt.c, and smaller: on macOS and iOS libSystem is the only interface to
 * the kernel, so it uses that, by weak imports, and nothing else. Files are written at the end,
 * when the program calls cairn_dump, or on CAIRN_SIGNAL; of an app that the system kills, the last
 * dump remains. It allocates no memory except one mapping while it writes a file.
 *
 * Files: DIR/<module>.<uuid>.<pid>.<n>.mipraw; package mip documents the format. DIR is CAIRN_DIR,
 * or the argument of cairn_set_dir, or that of --default-dir, in which ~/ is the container of an
 * app. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;

#include "wire.h"
#include "rt_header.h"
#include "macho_names.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define WEAK __attribute__((weak_import))

/* ---- libSystem ---- */

extern int open(const char *, int, ...) WEAK;
extern i64 write(int, const void *, u64) WEAK;
extern int close(int) WEAK, unlink(const char *) WEAK, mkdir(const char *, u16) WEAK, getpid(void) WEAK;
extern int link(const char *, const char *) WEAK, rename(const char *, const char *) WEAK;
extern void *mmap(void *, u64, int, int, int, i64) WEAK;
extern int munmap(void *, u64) WEAK, issetugid(void) WEAK, *__error(void) WEAK;
extern char *getenv(const char *) WEAK, *getcwd(char *, u64) WEAK;
extern int __cxa_atexit(void (*)(void *), void *, const void *) WEAK;
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) WEAK;
extern void (*signal(int, void (*)(int)))(int) WEAK;
extern u64 mach_absolute_time(void) WEAK;
extern int gettimeofday(void *, void *) WEAK, _NSGetExecutablePath(char *, u32 *) WEAK;
extern int pthread_is_threaded_np(void) WEAK;
extern u32 _dyld_image_count(void) WEAK;
extern const void *_dyld_get_image_header(u32) WEAK;
extern u8 *getsectiondata(const void *, const char *, const char *, u64 *) WEAK;

enum { O_WRONLY = 1, O_CREAT = 0x200, O_EXCL = 0x800, O_CLOEXEC = 0x1000000, EEXIST = 17 };
enum { PROT_RW = 3, MAP_PRIVATE = 2, MAP_ANON = 0x1000 };

/* ---- this image ---- */

extern u8 raw_start[] __asm__("section$start$__DATA$__cairn_raw");
extern u8 raw_stop[] __asm__("section$end$__DATA$__cairn_raw");
extern u32 slots_start[] __asm__("section$start$__DATA$__cairn_order");
extern u32 slots_stop[] __asm__("section$end$__DATA$__cairn_order");

/* Both sections exist even if nothing is instrumented, or in a mode without a buffer. */
__asm__(".zerofill __DATA,__cairn_raw,l_cairn_no_record,4,2\n\t.no_dead_strip l_cairn_no_record\n"
        ".zerofill __DATA,__cairn_order,l_cairn_no_slot,4,2\n\t.no_dead_strip l_cairn_no_slot\n");

/* The header of the image that this is linked into. */
struct image {
  u32 magic, machine, subtype, kind, commands, size, flags, reserved;
};
struct command {
  u32 kind, size;
};
extern const struct image __dso_handle HIDDEN;
enum { MH_DYLIB = 6, MH_BUNDLE = 8, LC_ID_DYLIB = 13, LC_UUID = 27 };

/* Instrumented objects refer to this: a link without the runtime fails with its name. */
HIDDEN const u8 cairn_link __asm__("__cairn_link_with_cairn_cc") = 0;

#ifndef CAIRN_SLOTS
#define CAIRN_SLOTS 0
#endif
#if CAIRN_SLOTS
static u32 __cairn_slots_asked[CAIRN_SLOTS];
#define ring __cairn_slots_asked
#else
#define ring slots_start
#endif
static u32 taken;    /* first executions so far */
static u32 sequence; /* number of the latest first call, in modes that count */

static u32 slot_count(void) { return CAIRN_SLOTS ? CAIRN_SLOTS : (u32)(slots_stop - slots_start); }

/* Lengths of input text are bounded. */
enum { MAX_DIR = 1024, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

static struct {
  char path[MAX_PATH]; /* directory/module.id. */
  char scenario[CAIRN_MAX_SCENARIO + 1];
  u32 dir;    /* length of the directory; 0: write nothing */
  i32 pid;    /* process that the records belong to */
  u32 n;      /* number in the file name */
  u64 run;    /* unique number of this run */
  u8 privileged; /* the program has more rights than its caller: never write a file */
  u8 claimed; /* file n is ours: replace it */
  u8 dumped;  /* a dump was requested since the last reset */
} st;

/* ---- text ---- */

static char *put(char *p, const char *s) {
  while ((*p = *s++)) p++;
  return p;
}

static char *put_some(char *p, const char *s, u32 most) {
  for (; most && *s; most--) *p++ = *s++;
  *p = 0;
  return p;
}

static char *put_number(char *p, u32 v) {
  char b[12], *q = b + 11;
  *q = 0;
  do *--q = '0' + v % 10;
  while (v /= 10);
  return put(p, q);
}

static u32 length(const char *s) {
  u32 n = 0;
  while (s[n]) n++;
  return n;
}

static void print_error(const char *what, const char *path) {
  char b[MAX_PATH + 64], *p = put(put(put(put(b, "cairn: cannot "), what), path), ": errno ");
  p = put(put_number(p, __error ? (u32)*__error() : 0), "\n");
  if (write) write(2, b, (u64)(p - b));
}

/* ---- the image's name and identity ---- */

static const struct command *find(u32 kind) {
  const struct command *c = (const struct command *)(&__dso_handle + 1);
  for (u32 i = 0; i < __dso_handle.commands; i++) {
    if (c->kind == kind) return c;
    c = (const struct command *)((const u8 *)c + c->size);
  }
  return 0;
}

static char *put_module(char *p) {
  char exe[1024];
  u32 size = sizeof exe;
  const struct command *id = find(LC_ID_DYLIB);
  const char *name = "program", *base;
  exe[0] = 0;
  if (id)
    name = (const char *)id + ((const u32 *)id)[2];
  else if (__dso_handle.kind == MH_BUNDLE)
    name = "bundle";
  else if (_NSGetExecutablePath && !_NSGetExecutablePath(exe, &size))
    name = exe;
  for (base = name; *name; name++)
    if (*name == '/') base = name + 1;
  return put_some(p, base, MAX_MODULE);
}

/* set_path sets the path up to the process. */
static int set_path(const char *dir) {
  char *p = st.path, *home;
  const struct command *id = find(LC_UUID);
  if (length(dir) >= MAX_DIR / 2) {
    print_error("write: a name that is too long: ", "CAIRN_DIR");
    return -1;
  }
  if (dir[0] == '~' && (dir[1] == '/' || !dir[1]) && getenv && (home = getenv("HOME")) && length(home) < MAX_DIR / 2) {
    p = put(p, home);
    dir++;
  } else if (*dir != '/' && getcwd && getcwd(p, MAX_DIR / 2)) {
    while (*p) p++;
    *p++ = '/';
  }
  p = put(p, dir);
  st.dir = (u32)(p - st.path);
  *p++ = '/';
  p = put_module(p);
  *p++ = '.';
  for (u32 i = 0; id && i < 32; i++) {
    u8 byte = ((const u8 *)(id + 1))[i / 2], digit = i & 1 ? byte & 15 : byte >> 4;
    *p++ = (char)(digit + (digit < 10 ? '0' : 'a' - 10));
  }
  *p++ = '.';
  *p = 0;
  return 0;
}

/* ---- files ---- */

static void put_path(char *p, u32 number, const char *suffix) {
  p = put_number(put(p, st.path), (u32)st.pid);
  *p++ = '.';
  put(put_number(p, number), suffix);
}

/* publish renames the temporary file: to the name of the file that it replaces, or to the first
 * free one. */
static int publish(const char *tmp) {
  char path[MAX_PATH];
  for (;; st.n++) {
    put_path(path, st.n, ".mipraw");
    if (!st.claimed && link && !link(tmp, path)) {
      unlink(tmp);
      st.claimed = 1;
      return 0;
    }
    if (!st.claimed && link && __error && *__error() == EEXIST) continue;
    st.claimed = 1;
    return rename(tmp, path); /* ours, or a file system without links */
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
  const struct command *id = find(LC_UUID);
  u64 size = (u64)(raw_stop - raw_start);
  u8 *p = (u8 *)(h + 1), *end;
  copy((u8 *)h->magic, (const u8 *)CAIRN_RAW_MAGIC, sizeof h->magic);
  h->version = CAIRN_RAW_VERSION;
  h->pid = (u32)st.pid;
  h->run = st.run;
  if (id) {
    h->id_len = 16;
    copy(h->id, (const u8 *)(id + 1), 16);
  }
  h->scenario_len = (u8)length(st.scenario);
  p = copy(p, (const u8 *)st.scenario, h->scenario_len);
  h->data_offset = (u32)(p - (u8 *)h);
  h->size = size;
  h->next = taken; /* before the slots: later ones are not in the file */
  end = copy(p, raw_start, size);
  while (end > p && !end[-1]) end--;
  h->stored = (u64)(end - p);
  if (h->next) {
    h->slots = slot_count();
    end = copy(end, (const u8 *)ring, CAIRN_SLOT_SIZE * (u64)(h->next < h->slots ? h->next : h->slots));
  }
  /* After the copy: a thread that starts later is not in it. Counts are then exact. */
  if (pthread_is_threaded_np && !pthread_is_threaded_np()) h->flags = CAIRN_RAW_SINGLE;
  h->checksum = add_sum(CAIRN_FNV_BASIS, (u8 *)h, (u64)(end - (u8 *)h));
  return end;
}

static int write_all(int fd, const u8 *p, u64 n) {
  while (n) {
    i64 done = write(fd, p, n);
    if (done <= 0) return -1;
    p += done;
    n -= (u64)done;
  }
  return 0;
}

/* emit writes the records to a file. It writes from a copy: the records continue to change, and the
 * checksum must match. */
static int emit(void) {
  char tmp[MAX_PATH];
  u64 room = sizeof(struct header) + CAIRN_MAX_SCENARIO + (u64)(raw_stop - raw_start) + CAIRN_SLOT_SIZE * (u64)slot_count();
  int fd, bad;
  if (!mmap || !open || !write || !rename) return -1;
  put_path(tmp, (u32)(st.run >> 7) & 0xffffff, ".tmp");
  u8 *file = mmap(0, room, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (file == (u8 *)-1) {
    print_error("write ", tmp);
    return -1;
  }
  u64 size = (u64)(fill((struct header *)file) - file);
  tmp[st.dir] = 0;
  mkdir(tmp, 0777);
  tmp[st.dir] = '/';
  fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  bad = fd < 0;
  if (!bad) {
    bad = write_all(fd, file, size) | close(fd);
    bad = bad || publish(tmp);
    if (bad) unlink(tmp);
  }
  if (bad) print_error("write ", tmp);
  munmap(file, room);
  return bad ? -1 : 0;
}

/* ---- this image, and all images ---- */

static void name_run(void) {
  u64 now[2] = {0, 0};
  if (gettimeofday) gettimeofday(now, 0);
  st.run = now[0] * 1000000 + now[1];
  if (mach_absolute_time) st.run ^= mach_absolute_time() << 20;
  st.run ^= (u64)__builtin_frame_address(0) << 28 ^ (u64)st.pid << 44;
}

static void clear(void) {
  for (volatile u8 *p = raw_start; p < raw_stop; p++) *p = 0;
  for (u32 i = 0; i < slot_count(); i++) ((volatile u32 *)ring)[i] = 0;
  taken = sequence = 0;
}

static int dump_module(const char *unused) {
  (void)unused;
  /* A child that no fork handler ran in would write its parent's counts again. */
  if (!st.dir || getpid() != st.pid) return -1;
  st.dumped = 1;
  return emit();
}

static int reset_module(const char *unused) {
  (void)unused;
  st.n += st.dumped;
  if (st.dumped) name_run();
  st.claimed = st.dumped = 0;
  clear();
  return 0;
}

/* The records so far move to the new directory: they are written at once, and the file in the old
 * directory is removed. */
static int set_dir_module(const char *dir) {
  char path[MAX_PATH], old[MAX_PATH];
  u32 n = st.n, was = st.dir;
  u8 claimed = st.claimed;
  if (st.privileged || !getpid || getpid() != st.pid) return -1;
  put(path, st.path);
  if (claimed) put_path(old, n, ".mipraw");
  st.claimed = 0;
  st.n = 0;
  if (!set_path(dir) && !emit()) {
    if (claimed) unlink(old);
    return 0;
  }
  put(st.path, path);
  st.dir = was;
  st.n = n;
  st.claimed = claimed;
  return -1;
}

/* Other images' copies of this runtime find the three functions here. */
enum { DUMP, RESET, SET_DIR };
typedef int (*module_call)(const char *);
__attribute__((section("__DATA,__cairn_calls"), used)) static const module_call calls[] = {dump_module, reset_module, set_dir_module};

static __attribute__((noinline)) int call_all(u32 which, const char *arg) {
  int result = 0, own = 0;
  if (_dyld_image_count && _dyld_get_image_header && getsectiondata)
    for (u32 i = 0; i < _dyld_image_count(); i++) {
      u64 size = 0;
      const void *image = _dyld_get_image_header(i);
      const module_call *c = image ? (const module_call *)getsectiondata(image, "__DATA", "__cairn_calls", &size) : 0;
      if (!c || (which + 1) * sizeof *c > size) continue;
      own |= c == calls;
      result |= c[which](arg);
    }
  return own ? result : result | calls[which](arg);
}

HIDDEN int __cairn_dump(void) { return call_all(DUMP, 0); }
HIDDEN void __cairn_reset(void) { call_all(RESET, 0); }
HIDDEN int __cairn_set_dir(const char *dir) { return dir && *dir ? call_all(SET_DIR, dir) : -1; }

/* ---- the life of the process ---- */

/* The child starts from zero, so that sums over all files stay right. */
static void forked(void) {
  st.pid = getpid();
  st.n = st.claimed = st.dumped = 0;
  name_run();
  clear();
}

static void on_signal(int sig) {
  (void)sig;
  __cairn_dump();
}

/* watch installs the handler of CAIRN_SIGNAL, a number, unless the program handles the signal: it
 * writes the files. */
static void watch(const char *s) {
  int sig = 0;
  while (*s >= '0' && *s <= '9') sig = sig * 10 + (*s++ - '0');
  if (*s || sig <= 0 || !signal) return;
  void (*before)(int) = signal(sig, on_signal);
  if (before) signal(sig, before);
}

static void finish(void *unused) {
  (void)unused;
  dump_module(0);
}

__attribute__((constructor(101))) static void start(void) {
  const char *s;
  if (!getpid || !getenv) return;
  st.pid = getpid();
  name_run();
  /* A program with more rights than its caller writes no files. */
  st.privileged = issetugid && issetugid();
  if (st.privileged) return;
  s = getenv("CAIRN_DIR");
  if (!s || !*s) s = CAIRN_DEFAULT_DIR;
  if (*s) set_path(s);
  if ((s = getenv("CAIRN_SCENARIO"))) put_some(st.scenario, s, CAIRN_MAX_SCENARIO);
  if (pthread_atfork) pthread_atfork(0, 0, forked);
  if ((s = getenv("CAIRN_SIGNAL"))) watch(s);
  /* Handlers run in reverse order: those that later constructors register run before this one. */
  if (__cxa_atexit) __cxa_atexit(finish, 0, &__dso_handle);
}

#include "macho_first.h"

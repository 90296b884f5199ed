/* The runtime of the coverage and count modes for Mach-O: it writes the records of its image to a
 * file. A copy with only hidden symbols is linked into every instrumented program, dylib and
 * framework.
 *
 * It is the counterpart of rt.c, and smaller: on macOS and iOS libSystem is the only interface to
 * the kernel, so it uses that, by weak imports, and nothing else. The file is mapped over the records
 * from the start of the process, or of a child, so that nothing is lost of an app that the system kills.
 * With CAIRN_CONTINUOUS=0, or where the file cannot be mapped, it is written at the end, when the program
 * calls cairn_dump, or on CAIRN_SIGNAL. It allocates no memory except one mapping while it writes a file.
 *
 * Files: DIR/<module>.<uuid>.<pid>.<n>.mipraw; package mip documents the format. DIR is CAIRN_DIR,
 * or the argument of cairn_set_dir, or that of --default-dir, in which ~/ is the container of an
 * app. */

#include "macho_system.h"
#include "wire.h"
#include "rt_header.h"
#include "macho_names.h"

/* ---- this image ---- */

/* The segment of the records is what the file has: its head, the records, and the slots, which are not
 * aligned. */
typedef u32 __attribute__((aligned(1))) slot;
extern u8 head[] __asm__("section$start$__CAIRN_DATA$__cairn_head");
extern u8 raw_start[] __asm__("section$start$__CAIRN_DATA$__cairn_raw");
extern u8 raw_stop[] __asm__("section$end$__CAIRN_DATA$__cairn_raw");
extern slot slots_start[] __asm__("section$start$__CAIRN_DATA$__cairn_order");
extern slot slots_stop[] __asm__("section$end$__CAIRN_DATA$__cairn_order");

#ifndef CAIRN_SLOTS
#define CAIRN_SLOTS 0
#endif
#if __aarch64__
#define PAGE_SHIFT "14"
#else
#define PAGE_SHIFT "12"
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define ZEROS(section, name, size, align) \
  ".zerofill __CAIRN_DATA," section "," name "," size "," align "\n\t.no_dead_strip " name "\n"

/* All sections exist even if nothing is instrumented, or in a mode without a buffer. A buffer of a size that
 * was asked for is here, others have their slots in the objects. */
__asm__(ZEROS("__cairn_head", "l_cairn_head", TEXT(CAIRN_RAW_HEADER_SIZE + CAIRN_MAX_SCENARIO), PAGE_SHIFT)
        ZEROS("__cairn_raw", "l_cairn_counts", "8", "2")
#if CAIRN_SLOTS
        ZEROS("__cairn_order", "l_cairn_slots", TEXT(4 * CAIRN_SLOTS), "0"));
#else
        ZEROS("__cairn_order", "l_cairn_slots", "4", "0"));
#endif
_Static_assert((CAIRN_RAW_HEADER_SIZE + CAIRN_MAX_SCENARIO) % 4 == 0, "the records follow the head");

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

/* What the file must have is among the records. */
extern u32 counts[2] __asm__("l_cairn_counts") HIDDEN;
#define taken counts[1]  /* first executions so far */
#define ring slots_start
static u32 sequence; /* number of the latest first call, in modes that count */

static u32 slot_count(void) { return (u32)(slots_stop - slots_start); }

/* ordered reports whether the mode has a buffer: beside the slot that is always there. */
static int ordered(void) { return slot_count() > 1; }

/* Lengths of input text are bounded. */
enum { MAX_HEAD = 4096 /* of a file */, MAX_DIR = 1024, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

static struct {
  char path[MAX_PATH]; /* directory/module.id. */
  char scenario[CAIRN_MAX_SCENARIO + 1];
  u32 dir;    /* length of the directory; 0: write nothing */
  i32 pid;    /* process that the records belong to */
  u32 n;      /* number in the file name */
  u64 run;    /* unique number of this run */
  u8 privileged; /* the program has more rights than its caller: never write a file */
  u8 live;    /* the records are to be a mapped file */
  u8 mapped;  /* they are */
  u8 claimed; /* file n is ours: replace it */
  u8 dumped;  /* a dump was requested since the last reset */
} st;

/* ---- text ---- */

typedef char letter;
#include "rt_text.h"

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

/* Kinds of files. */
enum {
  COPY,  /* a copy of the records */
  LIVE,  /* the records themselves, from now on */
  FRESH, /* as LIVE, starting from zero */
};

static u32 single(void) { return pthread_is_threaded_np && !pthread_is_threaded_np() ? CAIRN_RAW_SINGLE : 0; }

/* fill builds the file at h and returns its end. */
static u8 *fill(struct header *h, int kind) {
  const struct command *id = find(LC_UUID);
  u64 size = (u64)(raw_stop - raw_start), slots;
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
  if (kind != COPY) p = (u8 *)h + (raw_start - head);
  h->data_offset = (u32)(p - (u8 *)h);
  h->size = size;
  if (kind != COPY) {
    h->flags = CAIRN_RAW_CONTINUOUS;
    h->stored = size;
    slots = ordered() ? CAIRN_SLOT_SIZE * (u64)slot_count() : 0;
    if (slots) {
      h->slots = slot_count();
      h->next_at = (u64)((u8 *)&taken - raw_start);
    }
    return kind == FRESH ? p + size + slots : copy(copy(p, raw_start, size), (const u8 *)ring, slots);
  }
  h->next = taken; /* before the slots: later ones are not in the file */
  end = copy(p, raw_start, size);
  while (end > p && !end[-1]) end--;
  h->stored = (u64)(end - p);
  if (h->next) {
    h->slots = slot_count();
    end = copy(end, (const u8 *)ring, CAIRN_SLOT_SIZE * (u64)(h->next < h->slots ? h->next : h->slots));
  }
  h->flags = single(); /* after the copy: a thread that starts later is not in it */
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

/* place maps a file, or memory, over the segment of the records. */
static int place(int flags, int fd) {
  return mmap(head, (u64)((u8 *)slots_stop - head), PROT_RW, flags | MAP_FIXED, fd, 0) == head ? 0 : -1;
}

/* map_records maps the file over the records. If the file system supports no shared mappings they are memory again,
 * and the end writes a file. */
static void map_records(int fd, const u8 *file, u64 size) {
  st.mapped = !place(MAP_SHARED, fd);
  if (!st.mapped && !place(MAP_PRIVATE | MAP_ANON, -1)) copy(head, file, size);
}

/* create creates a file, which no other user may write to. */
static int create(const char *path) {
  enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC };
  int fd = open_dprotected_np ? open_dprotected_np(path, FLAGS, CLASS_D, 0, 0644) : -1;
  return fd < 0 ? open(path, FLAGS, 0644) : fd;
}

/* emit writes the records to a file, and maps it over them if they are to be live. It writes from a copy: the records
 * continue to change, and the checksum must match. It writes zeros as well: a full disk must be noticed here, not in
 * a probe. */
static int emit(int kind) {
  char tmp[MAX_PATH];
  u64 room = MAX_HEAD + (u64)(raw_stop - raw_start) + CAIRN_SLOT_SIZE * (u64)slot_count();
  int fd, bad;
  if (!mmap || !open || !write || !rename) return -1;
  put_path(tmp, (u32)(st.run >> 7) & 0xffffff, ".tmp");
  u8 *file = mmap(0, room, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (file == (u8 *)-1) {
    if (kind == COPY) print_error("write ", tmp);
    return -1;
  }
  u64 size = (u64)(fill((struct header *)file, kind) - file);
  tmp[st.dir] = 0;
  mkdir(tmp, 0777);
  tmp[st.dir] = '/';
  fd = create(tmp);
  bad = fd < 0;
  if (!bad) {
    bad = write_all(fd, file, size) || publish(tmp);
    if (bad) unlink(tmp);
    if (!bad && kind != COPY) map_records(fd, file, size);
    close(fd);
  }
  if (bad && kind == COPY) print_error("write ", tmp);
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
  /* The slot that is always there may be on a page that the mapped file does not have. */
  for (u32 i = 0; ordered() && i < slot_count(); i++) ((volatile slot *)ring)[i] = 0;
  taken = sequence = 0;
}

/* seal completes the head of the mapped file. */
static void seal(void) {
  struct header *h = (struct header *)head;
  h->checksum = 0;
  h->flags |= (u16)(CAIRN_RAW_SEALED | (h->shared ? 0 : single()));
  h->checksum = add_sum(CAIRN_FNV_BASIS, head, (u64)(raw_stop - head) + CAIRN_SLOT_SIZE * (u64)h->slots);
}

/* restart starts from zero. If fresh is set, the written file is kept and later records go to another one. A child
 * that cannot create a file continues with that of its parent, so that the sum over all files stays right. */
static void restart(int fresh, int child) {
  if (fresh) {
    st.claimed = st.dumped = 0;
    name_run();
    if (st.live && st.dir && !emit(FRESH) && st.mapped) {
      sequence = 0;
      return;
    }
    if (child && st.mapped) {
      ((struct header *)head)->shared = 1;
      st.live = 0; /* and must not be sealed by this process */
      return;
    }
    if (st.mapped && place(MAP_PRIVATE | MAP_ANON, -1)) return;
    st.mapped = 0;
  }
  clear();
}

/* uses_parents reports whether this is a child that uses its parent's file, as it has none of its own. */
static int uses_parents(void) { return st.mapped > st.live; }

static int dump_module(const char *unused) {
  (void)unused;
  /* A child that no fork handler ran in would write its parent's counts again. */
  if (!st.dir || getpid() != st.pid) return -1;
  st.dumped = 1;
  return st.mapped ? 0 : emit(COPY);
}

static int reset_module(const char *unused) {
  (void)unused;
  if (uses_parents()) return -1;
  if (st.mapped && st.dumped) seal();
  st.n += st.dumped;
  restart(st.dumped, 0);
  return 0;
}

/* The records so far move to the new directory: they are written at once, and the file in the old
 * directory is removed. */
static int set_dir_module(const char *dir) {
  char path[MAX_PATH], old[MAX_PATH];
  u32 n = st.n, was = st.dir;
  u8 claimed = st.claimed;
  if (st.privileged || uses_parents() || !getpid || getpid() != st.pid) return -1;
  put(path, st.path);
  if (claimed) put_path(old, n, ".mipraw");
  st.claimed = 0;
  st.n = 0;
  if (!set_path(dir)) {
    if ((st.live && !emit(LIVE)) || (!st.mapped && !emit(COPY))) {
      if (claimed) unlink(old);
      return 0;
    }
    if (st.mapped) print_error("write ", dir); /* as only a copy does that itself */
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
  st.n = 0;
  restart(1, 1);
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
  if (st.mapped && st.live) seal();
  if (!st.mapped) dump_module(0);
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
  /* Linkers may lay out the segment otherwise than as the file. */
  s = getenv("CAIRN_CONTINUOUS");
  st.live = !(s && *s == '0') && getpagesize && !((u64)head & (u64)(getpagesize() - 1)) && raw_start >= head + sizeof(struct header) + CAIRN_MAX_SCENARIO &&
            raw_start <= head + MAX_HEAD && (u8 *)slots_start == raw_stop;
  if (st.live && st.dir) emit(LIVE); /* if that fails, the end tries again, and reports why */
  if (pthread_atfork) pthread_atfork(0, 0, forked);
  if ((s = getenv("CAIRN_SIGNAL"))) watch(s);
  /* Handlers run in reverse order: those that later constructors register run before this one. */
  if (__cxa_atexit) __cxa_atexit(finish, 0, &__dso_handle);
}

#include "macho_first.h"

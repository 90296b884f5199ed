/* The module record in the log of mode trace, made from the module's own ELF header, and the
 * environment. */

#include "trace.h"
#include "elf.h"

extern const struct ehdr header __asm__("__ehdr_start") HIDDEN __attribute__((weak));
__asm__(".hidden __ehdr_start\n");

struct found {
  u64 bias, start, end;
  const u8 *id;
  u32 id_len;
};

static void find_id(const u8 *p, u64 size, u64 align, struct found *f) {
  const u8 *end = p + size;
  align = align == 8 ? 7 : 3;
  while (end - p >= 16) {
    const struct note *n = (const struct note *)p;
    p += (12 + n->name_len + align) & ~align;
    if (n->type == 3 && n->name_len == 4 && *(const u32 *)n->name == 0x554e47 /* GNU */) {
      f->id = p;
      f->id_len = (u32)least(n->desc_len, LOG_MAX_BUILD_ID);
      return;
    }
    p += (n->desc_len + align) & ~align;
  }
}

static void examine(const struct ehdr *e, struct found *f) {
  const struct phdr *ph = (const struct phdr *)((const u8 *)e + e->phoff);
  u64 low = NONE, high = 0;
  for (u32 i = 0; i < e->phnum; i++)
    if (ph[i].type == PT_LOAD) {
      low = least(low, ph[i].vaddr & ~(u64)4095);
      high = most(high, ph[i].vaddr + ph[i].memsz);
    }
  f->start = (uword)e;
  f->bias = (uword)e - low;
  f->end = f->bias + high;
  f->id_len = 0;
  for (u32 i = 0; i < e->phnum && !f->id_len; i++)
    if (ph[i].type == PT_NOTE) find_id((const u8 *)(uword)(f->bias + ph[i].vaddr), ph[i].memsz, ph[i].align, f);
}

/* ---- /proc/self/maps ---- */

#include "hex.h"

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

/* listed reads a line of the listing. It finds the file that is mapped at *at, on Android also a part of
 * one, as of an apk, or the address where the file path is mapped from its beginning. */
static int listed(const char *s, u64 *at, char *path) {
  u64 start = hex(&s);
  if (*s++ != '-') return 0;
  hex(&s);
  for (int blanks = 0; blanks < 2; s++) {
    if (!*s) return 0;
    blanks += *s == ' ';
  }
  u64 offset = hex(&s);
  while (*s && *s != '/') s++;
  if (!*s || (offset && !(ANDROID && *at))) return 0;
  if (*at) {
    if (start != *at || length(s) > LOG_MAX_PATH) return 0;
    put(path, s);
    return 1;
  }
  if (!same(s, path)) return 0;
  *at = start;
  return 1;
}

/* find searches the listing with a buffer of LOG_MAX_PATH + 4096 bytes. */
static int find(u64 *at, char *path, char *b) {
  u64 have = 0, size = LOG_MAX_PATH + 4096;
  int ok = 0;
  i64 n, fd = open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  while (fd >= 0 && !ok && (n = sys3(SYS_read, fd, b + have, size - 1 - have)) > 0) {
    u64 from = 0;
    have += (u64)n;
    for (u64 i = 0; i < have && !ok; i++)
      if (b[i] == '\n') {
        b[i] = 0;
        ok = listed(b + from, at, path);
        from = i + 1;
      }
    for (u64 i = from; i < have; i++) b[i - from] = b[i];
    have -= from;
  }
  if (fd >= 0) sys1(SYS_close, fd);
  return ok;
}

/* Working memory; 0 if there is none. */
enum { WORK = 1 << 20 };
static char *memory_of(u64 size) {
  char *m = (char *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return failed(m) ? 0 : m;
}

char *__cairn_trace_name(char *to) {
  char *path = memory_of(WORK), *s;
  struct found f = {0};
  u64 at = 0;
  if (!path) return put(to, "program");
  read_exe(path, LOG_MAX_PATH);
  char *base = path;
  for (s = path; *s; s++)
    if (*s == '/') base = s + 1;
  for (u32 i = 0; base[i] && i < 128; i++) *to++ = base[i];
  *to++ = '.';
  if (find(&at, path, path + 2 * LOG_MAX_PATH)) examine((const struct ehdr *)(uword)at, &f);
  for (u32 i = 0; i < f.id_len && i < 6; i++) to = put_hex(to, f.id[i], 2);
  sys2(SYS_munmap, path, WORK);
  *to = 0;
  return to;
}

/* The number of this module plus one; 0: it has no record. */
static u32 own_number;

/* moment moves the clock to now, and returns it in ns: no event so far is later, and none that follows
 * is earlier. */
static u64 moment(struct tracer *t) {
  __cairn_trace_tick(t);
  return t->origin + (load(&t->clock) - 1) * LOG_CLOCK_UNIT;
}

/* chunk_behind returns the next chunk of records, or 0. */
static u8 *chunk_behind(const struct tracer *t, const u8 *chunk) {
  u32 i = 0;
  if (chunk == t->more) return 0;
  while (i < t->fulls && chunk != t->first && t->full[i++] != chunk) {
  }
  return i < t->fulls ? t->full[i] : t->more;
}

/* next_record returns the record of a module after r, or the first one. */
static u64 *next_record(struct tracer *t, u64 *r) {
  enum { CHUNK = LOG_CHUNK_SIZE };
  u8 *chunk = r ? (u8 *)((uword)r & -(uword)CHUNK) : t->first;
  u8 *at = r ? (u8 *)r + ((u16 *)r)[1] : chunk + LOG_CHUNK_HEADER_SIZE;
  for (;;) {
    u32 used = chunk == t->first ? t->first_used : chunk == t->more ? t->more_used : CHUNK;
    if ((u64)(at - chunk) + 8 > used || ((u16 *)at)[1] < 8) {
      if (!(chunk = chunk_behind(t, chunk))) return 0;
      at = chunk + LOG_CHUNK_HEADER_SIZE;
      continue;
    }
    if (*(u16 *)at == LOG_TYPE_MODULE) return (u64 *)at;
    at += ((u16 *)at)[1];
  }
}
#define each_record(t, r) for (u64 *r = t->first ? next_record(t, 0) : 0; r; r = next_record(t, r))
#define flags_of(r) ((u32 *)(r))[10]
#define number_of_record(r) ((u32 *)(r))[1]

/* known reports whether the module was the last one at its addresses, when it was loaded before. It
 * is not unloaded any more then. */
static int known(struct tracer *t, const struct found *f, const char *path, u64 n) {
  const u64 *last = 0;
  each_record(t, r)
    if (!(flags_of(r) & LOG_MODULE_UNLOADED) && r[3] < f->end && r[4] > f->start) last = r;
  const u8 *b = (const u8 *)last;
  int same = last && last[3] == f->start && last[4] == f->end && ((u16 *)last)[22] == f->id_len && ((u16 *)last)[23] == n;
  for (u32 i = 0; same && i < f->id_len; i++) same = b[48 + i] == f->id[i];
  for (u64 i = 0; same && i < n; i++) same = b[LOG_MODULE_SIZE + i] == (u8)path[i];
  if (!same) return 0;
  own_number = number_of_record(last) + 1;
  each_record(t, r)
    if (flags_of(r) & LOG_MODULE_UNLOADED && number_of_record(r) == own_number - 1) store(&r[1], NONE);
  return 1;
}

/* module_gone writes that this module is unloaded, and moves the clock: a module that is loaded at the
 * same address has later events. */
void __cairn_trace_module_gone(struct tracer *t) {
  u64 now = moment(t);
  if (!own_number || !t->first) return;
  add(&t->clock, 1);
  each_record(t, r)
    if (flags_of(r) & LOG_MODULE_UNLOADED && number_of_record(r) == own_number - 1) {
      store(&r[1], now);
      return;
    }
  u64 *r = (u64 *)__cairn_trace_record(t, LOG_TYPE_MODULE, LOG_MODULE_SIZE, own_number - 1);
  if (!r) return;
  r[1] = now;
  flags_of(r) = LOG_MODULE_UNLOADED;
}

void __cairn_trace_module(struct tracer *t) {
  static u8 done;
  struct found f = {0};
  if (done || t->off) return;
  done = 1;
#ifdef CAIRN_IS_HOST
  return; /* it has no code of the program */
#endif
  char *path = memory_of(WORK);
  if (!&header || !path) return;
  char *exe = path + 2 * LOG_MAX_PATH;
  u64 at = (uword)&header;
  examine(&header, &f);
  if (!find(&at, path, path + 4 * LOG_MAX_PATH)) path[0] = 0;
  read_exe(exe, LOG_MAX_PATH);
  u64 n = length(path);
  u8 *r = known(t, &f, path, n) ? 0 : __cairn_trace_record(t, LOG_TYPE_MODULE, LOG_MODULE_SIZE + up8(n), t->modules++);
  if (r) {
    u64 *w = (u64 *)r;
    own_number = t->modules;
    w[1] = moment(t), w[2] = f.bias, w[3] = f.start, w[4] = f.end;
    ((u32 *)r)[10] = LOG_MODULE_INSTRUMENTED | (same(path, exe) ? LOG_MODULE_MAIN : 0);
    ((u16 *)r)[22] = (u16)f.id_len, ((u16 *)r)[23] = (u16)n;
    copy(r + 48, f.id, f.id_len);
    copy(r + LOG_MODULE_SIZE, path, n);
  }
  sys2(SYS_munmap, path, WORK);
}

/* ---- the environment ---- */

static int word_is(const char *s, const char *w) {
  u64 n = length(w);
  for (u64 i = 0; i < n; i++)
    if (s[i] != w[i]) return 0;
  return w[n - 1] == '=' || !s[n] || s[n] == ',';
}

/* number_of parses a number with one of the units, which are worth scale[i]; 0 if it is invalid. */
static u64 number_of(const char *s, const char *const *unit, const u64 *scale) {
  u64 v = 0;
  int digits = 0;
  for (; *s >= '0' && *s <= '9' && digits < 10; s++, digits++) v = v * 10 + (u64)(*s - '0');
  for (; digits && *unit; unit++, scale++)
    if (word_is(s, *unit)) return v * *scale;
  return 0;
}

static u64 size_of(const char *s) {
  static const u64 scale[] = {1 << 10, 1 << 20, 1 << 30};
  const char *const unit[] = {"KB", "MB", "GB", 0};
  return number_of(s, unit, scale);
}

static u64 time_of(const char *s) {
  static const u64 scale[] = {1000, MS, SECOND};
  const char *const unit[] = {"us", "ms", "s", 0};
  return number_of(s, unit, scale);
}

static void misread(const char *s) {
  char b[256], *q = put(b, "cairn: CAIRN_TRACE: ");
  for (u32 i = 0; *s && *s != ',' && i < 100; i++) *q++ = *s++;
  *q = 0;
  q = put(q, " is not understood; ignored (size=16MB,file,period=1ms,off)\n");
  sys3(SYS_write, 2, b, (u64)(q - b));
}

static void options(struct tracer *t, const char *s) {
  while (*s) {
    u64 v;
    const char *value = s;
    while (*value && *value != ',' && value[-(value > s)] != '=') value++;
    if (word_is(s, "off")) t->off = 1;
    else if (word_is(s, "file")) t->ring_chunks = 0;
    else if (word_is(s, "size=") && (v = size_of(value)) >= LOG_CHUNK_SIZE && v <= (u64)1 << 40) t->ring_chunks = v / LOG_CHUNK_SIZE;
    else if (word_is(s, "period=") && (v = time_of(value)) >= LOG_CLOCK_UNIT && v <= SECOND) t->period = v;
    else if (*s != ',') misread(s);
    while (*s && *s != ',') s++;
    if (*s) s++;
  }
}

/* The environment that the kernel gave the process: constructors may run before the C library
 * provides it. The kernel allows 6 MB. */
enum { ENVIRONMENT = (6 << 20) + 4096 };
static char *environment;
static u64 environment_size;

static i64 read_environment(void) {
  i64 n, fd = open_file("/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
  environment_size = 0;
  while (fd >= 0 && environment_size < ENVIRONMENT - 1 &&
         (n = sys3(SYS_read, fd, environment + environment_size, ENVIRONMENT - 1 - environment_size)) > 0)
    environment_size += (u64)n;
  if (fd >= 0) sys1(SYS_close, fd);
  return fd;
}

static const char *env(const char *name) {
  u64 n = length(name);
  for (const char *s = environment; s < environment + environment_size; s += length(s) + 1) {
    u64 i = 0;
    while (i < n && s[i] == name[i]) i++;
    if (i == n && s[n] == '=') return s + n + 1;
  }
  return "";
}

/* configure reads the environment. A program with more rights than its caller ignores the caller's
 * environment, and writes no files. */
void __cairn_trace_configure(struct tracer *t) {
  _Static_assert(sizeof CAIRN_DEFAULT_DIR <= TRACE_DIR, "--default-dir is too long");
  t->period = MS;
  t->ring_chunks = (16ul << 20) / LOG_CHUNK_SIZE;
  environment = memory_of(ENVIRONMENT);
  if (is_privileged() || !environment) {
    t->off = 1;
    return;
  }
  i64 err = read_environment();
  if (err < 0) { /* what is in the log is not known without /proc either */
    __cairn_trace_error("mode trace needs /proc: /proc/self/environ", err);
    t->off = 1;
  }
  options(t, env("CAIRN_TRACE"));
  const char *dir = env("CAIRN_DIR");
  if (!absolute(t->dir, TRACE_DIR, *dir ? dir : CAIRN_DEFAULT_DIR)) {
    __cairn_trace_error("CAIRN_DIR is too long", 0);
    t->off = 1;
  }
  if (!t->dir[0]) t->off = 1;
  if (!t->off) __cairn_bus_start();
  sys2(SYS_munmap, environment, ENVIRONMENT);
}

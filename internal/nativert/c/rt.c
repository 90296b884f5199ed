/* The runtime of cairn's machine profiles: it gets the records of its module
 * out of the process. One copy, all of it hidden, is linked into every
 * instrumented executable and shared object.
 *
 * It calls the kernel itself and needs no C library, so that it works in
 * static, musl and freestanding programs. Three functions of a C library are
 * used if they are there (weak): __register_atfork or environ and pthread_atfork,
 * and dl_iterate_phdr. No memory is allocated but one mapping while a file is
 * written. Size matters: this is what a program grows by.
 *
 * Files: $CAIRN_DIR/<module>.<build id>.<pid>.<n>.mipraw, drawn in package
 * mip. A file is written under a temporary name and linked to the first free
 * n, so that neither a reader nor a process of equal pid (every container has
 * a pid 1) can get in its way. */

#include "wire.h"

/* Even for size, gcc makes copies of code to save a jump. */
#if !__clang__
#pragma GCC optimize("no-thread-jumps", "no-inline-functions-called-once", "no-gcse", "no-move-loop-invariants")
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;

#define HIDDEN __attribute__((visibility("hidden")))
#define WEAK __attribute__((weak))
#define INLINE static inline __attribute__((always_inline))

/* The records. The linker sets both symbols. */
extern u8 raw_start[] __asm__("__start_" CAIRN_RAW_SECTION) HIDDEN;
extern u8 raw_stop[] __asm__("__stop_" CAIRN_RAW_SECTION) HIDDEN;
/* gcc does not say so of a symbol that it was given the name of, and ld and
 * gold would export them. */
__asm__(".hidden __start_" CAIRN_RAW_SECTION ", __stop_" CAIRN_RAW_SECTION ", __ehdr_start\n");

/* An empty piece at the end of the section that rounds its end up to a page,
 * and with its alignment the start: a file can be mapped over exactly it. */
__asm__(".pushsection " CAIRN_RAW_SECTION ",\"aw\",@nobits\n"
        ".balign 4096\n.Lcairn_page_end:\n"
        ".popsection\n"
        ".pushsection .text\n.reloc ., R_X86_64_NONE, .Lcairn_page_end\n.popsection\n");

/* The order buffer and what order.S has for it. In a module without, the
 * section is empty and nothing else is asked for. */
extern u8 order_start[] __asm__("__start_" CAIRN_ORDER_SECTION) HIDDEN WEAK;
extern u8 order_stop[] __asm__("__stop_" CAIRN_ORDER_SECTION) HIDDEN WEAK;
extern u32 __cairn_next HIDDEN WEAK;       /* first executions so far; it lies among the records */
extern const u32 __cairn_ring HIDDEN WEAK; /* slots; 0: as many as the section has room for */
__asm__(".hidden __start_" CAIRN_ORDER_SECTION ", __stop_" CAIRN_ORDER_SECTION "\n");

/* Referred to by instrumented objects, to be linked. */
HIDDEN const u8 __cairn_link_with_cairn_cc = 0;

/* Index of the last function that was called for the first time. */
HIDDEN u32 __cairn_order;

struct state {
  const char *dir; /* 0: write nothing */
  const char *scenario; /* what the run is about; 0: not known */
  i32 pid;         /* whose records these are */
  u32 n;           /* number in the file name */
  u32 sig;         /* of our handler; 0: there is none */
  union {
    struct {
      u8 claimed; /* the file of number n is ours: replace it */
      u8 mapped;  /* continuous: the records are the file */
      u8 dumped;  /* a dump was asked for since the last reset */
    };
    u32 done; /* all three */
  };
};
static struct state st;

struct header {
  char magic[8];
  u16 version, flags;
  u32 data_offset;
  u64 size, stored;
  u32 checksum, pid;
  u8 id_len, scenario_len, pad[2];
  u8 id[CAIRN_MAX_BUILD_ID];
  u32 slots, next;
  u64 next_at;
};
_Static_assert(sizeof(struct header) == CAIRN_RAW_HEADER_SIZE, "layout");
_Static_assert(__builtin_offsetof(struct header, flags) == CAIRN_RAW_FLAGS_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, size) == CAIRN_RAW_SIZE_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, checksum) == CAIRN_RAW_CHECKSUM_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, pid) == CAIRN_RAW_PID_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, id_len) == CAIRN_RAW_ID_LEN_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, scenario_len) == CAIRN_RAW_SCENARIO_LEN_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, id) == CAIRN_RAW_ID_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, slots) == CAIRN_RAW_SLOTS_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, next_at) == CAIRN_RAW_NEXT_AT_OFFSET, "layout");

/* ---- the kernel ---- */

enum {
  SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_mmap = 9, SYS_munmap = 11,
  SYS_rt_sigaction = 13, SYS_getpid = 39, SYS_rename = 82, SYS_mkdir = 83,
  SYS_link = 86, SYS_unlink = 87, SYS_readlink = 89, SYS_getuid = 102,
  SYS_getgid = 104, SYS_geteuid = 107, SYS_getegid = 108, SYS_prctl = 157
};
enum { EEXIST = 17, ENAMETOOLONG = 36, ENOSPC = 28 };
enum { O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000 };
enum { PR_GET_DUMPABLE = 3 };
enum { PROT_RW = 3, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20 };

static long map(void *at, u64 size, long flags, long fd, u64 offset) {
  register long r10 __asm__("r10") = flags, r8 __asm__("r8") = fd;
  register u64 r9 __asm__("r9") = offset;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_mmap), "D"(at), "S"(size), "d"(PROT_RW), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return r;
}
INLINE long sys4(long n, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return r;
}
INLINE long sys2(long n, const void *a, long b) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return r;
}
INLINE int sys0(long n) { /* of numbers that fit: ids */
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n) : "rcx", "r11", "memory");
  return r;
}

INLINE void copy(void *to, const void *from, u64 n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
INLINE void clear(void *to, u64 n) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

/* ---- text ---- */

/* Lengths are bounded where text comes in: MAX_DIR and MAX_MODULE. */
enum { MAX_DIR = 1024, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

static char *put(char *p, const char *s) {
  while ((*p = *s++)) p++;
  return p;
}

static char *put_number(char *p, u32 v) {
  char b[12], *q = b + 11;
  *q = 0;
  do *--q = '0' + v % 10;
  while (v /= 10);
  return put(p, q);
}

static void complain(const char *path, long err) {
  char b[MAX_PATH + 64], *p = put(put(put(b, "cairn: cannot write "), path), ": errno ");
  p = put(put_number(p, (u32)-err), "\n");
  sys4(SYS_write, 2, (long)b, p - b, 0);
}

/* ---- the module's name and identity ---- */

struct note {
  u32 name_len, desc_len, type;
  char name[];
};
struct phdr {
  u32 type, flags;
  u64 offset, vaddr, paddr, filesz, memsz, align;
};
struct ehdr {
  u8 ident[16];
  u16 type, machine;
  u32 version;
  u64 entry, phoff, shoff;
  u32 flags;
  u16 ehsize, phentsize, phnum;
};
enum { PT_NOTE = 4, NT_GNU_BUILD_ID = 3 };

extern const struct ehdr ehdr __asm__("__ehdr_start") HIDDEN WEAK;

/* find_note returns the description of a note of the module whose program
 * headers are given, or 0. name4 is the first four bytes of the note's name; its
 * type is 3 for both that are looked for.
 * The notes are found from the load address, or from the ELF header: they are
 * in the segment that starts with it. */
static const u8 *find_note(const struct phdr *ph, u32 n, u64 base, const struct ehdr *h, u32 name4, u32 *len) {
  for (; n--; ph++) {
    if (ph->type != PT_NOTE) continue;
    const u8 *p = h ? (const u8 *)h + ph->offset : (const u8 *)(base + ph->vaddr), *end = p + ph->memsz;
    u32 align = ph->align == 8 ? 7 : 3;
    while (end - p >= 16) {
      const struct note *note = (const struct note *)p;
      p += (12 + note->name_len + align) & ~align;
      *len = note->desc_len;
      if (note->type == NT_GNU_BUILD_ID && *(const u32 *)note->name == name4) return p;
      p += (note->desc_len + align) & ~align;
    }
  }
  *len = 0;
  return 0;
}

/* build_id finds the module's own id. */
static const u8 *build_id(u32 *len) {
  const struct ehdr *h = &ehdr;
  *len = 0;
  if (!h) return 0;
  const u8 *id = find_note((const struct phdr *)((const u8 *)h + h->phoff), h->phnum, 0, h,
                           0x554e47 /* GNU */, len);
  if (*len > CAIRN_MAX_BUILD_ID) *len = CAIRN_MAX_BUILD_ID;
  return id;
}

struct dl_info {
  u64 addr;
  const char *name;
  const struct phdr *phdr;
  u16 phnum;
};
extern int dl_iterate_phdr(int (*)(struct dl_info *, u64, void *), void *) WEAK;

/* own_name keeps the name of the shared object that this code is in: the one
 * that was loaded at our ELF header. */
static int own_name(struct dl_info *i, u64 size, void *arg) {
  (void)size;
  if (i->addr != (u64)&ehdr) return 0;
  *(const char **)arg = i->name;
  return 1;
}

/* put_module puts the base name of the module: of the shared object, or of the
 * executable, which has no name there. */
static char *put_module(char *p) {
  char exe[1024];
  const char *own = 0, *name;
  if (dl_iterate_phdr) dl_iterate_phdr(own_name, &own);
  if (!(name = own) || !*name) {
    long n = sys4(SYS_readlink, (long)"/proc/self/exe", (long)exe, sizeof exe - 1, 0);
    exe[n > 0 ? n : 0] = 0;
    name = exe;
  }
  const char *base = name;
  for (; *name; name++)
    if (*name == '/') base = name + 1;
  for (u32 i = 0; i < MAX_MODULE && *base; i++) *p++ = *base++;
  return p;
}

/* ---- files ---- */

/* put_path puts directory/module.id.pid. and, as the last part, a number. */
static void put_path(char *p, u32 number, const char *suffix) {
  u32 len;
  const u8 *id = build_id(&len);
  p = put_module(put(put(p, st.dir), "/"));
  *p++ = '.';
  for (; len--; id++) {
    *p++ = "0123456789abcdef"[*id >> 4];
    *p++ = "0123456789abcdef"[*id & 15];
  }
  *p++ = '.';
  p = put_number(p, (u32)st.pid);
  *p++ = '.';
  put(put_number(p, number), suffix);
}

/* publish gives the temporary file its name: that of the file it replaces, or
 * the first that is free. */
static long publish(const char *tmp) {
  char path[MAX_PATH];
  for (;; st.n++) {
    long err = -1;
    put_path(path, st.n, ".mipraw");
    if (!st.claimed) {
      err = sys2(SYS_link, tmp, (long)path);
      if (err == -EEXIST) continue;
    }
    st.claimed = 1;
    if (err >= 0) return sys2(SYS_unlink, tmp, 0);
    return sys2(SYS_rename, tmp, (long)path); /* ours, or no hard links here */
  }
}

INLINE u64 raw_size(void) { return (u64)(raw_stop - raw_start); }
INLINE u64 order_size(void) { return (u64)(order_stop - order_start); }

/* place maps a file, or new memory, over the records and the order buffer. */
static long place(long flags, long fd) {
  long err = map(raw_start, raw_size(), flags | MAP_FIXED, fd, CAIRN_PAGE_SIZE);
  if (err >= 0 && order_size())
    err = map(order_start, order_size(), flags | MAP_FIXED, fd, CAIRN_PAGE_SIZE + raw_size());
  return err;
}

/* fill makes the file at h and returns its end. */
static u8 *fill(struct header *h, int live) {
  u8 *p = (u8 *)(h + 1);
  u64 order = order_size();
  u32 len;
  const u8 *id = build_id(&len);
  copy(h->magic, CAIRN_RAW_MAGIC, 8);
  h->version = CAIRN_RAW_VERSION;
  h->pid = (u32)st.pid;
  h->id_len = (u8)len;
  copy(h->id, id, len);
  for (const char *s = st.scenario; s && *s && h->scenario_len < CAIRN_MAX_SCENARIO; h->scenario_len++) *p++ = (u8)*s++;
  if (live) {
    h->flags = CAIRN_RAW_CONTINUOUS;
    p = (u8 *)h + CAIRN_PAGE_SIZE;
  }
  h->data_offset = (u32)(p - (u8 *)h);
  h->size = raw_size();
  copy(p, raw_start, raw_size());
  if (order) {
    h->next_at = (u64)((u8 *)&__cairn_next - raw_start);
    h->slots = __cairn_ring ? __cairn_ring : (u32)(order / CAIRN_SLOT_SIZE);
    if (!live) {
      h->next = *(u32 *)(p + h->next_at);
      h->next_at = 0;
      order = CAIRN_SLOT_SIZE * (u64)(h->next < h->slots ? h->next : h->slots);
    }
  }
  u8 *end = p + raw_size();
  if (!live)
    while (end > p && !end[-1]) end--;
  h->stored = (u64)(end - p);
  copy(end, order_start, order);
  end += order;
  if (!live) {
    u32 sum = CAIRN_FNV_BASIS;
    for (p = (u8 *)(h + 1); p < end; p++) sum = (sum ^ *p) * CAIRN_FNV_PRIME;
    h->checksum = sum;
  }
  return end;
}

/* emit writes the records to a file. If live is set, the file is then mapped
 * over them, and from now on they are the file, if they fill whole pages.
 * Otherwise what is written is a copy: the records go on changing meanwhile,
 * and the checksum must fit. Zeros are written as well: a full disk must say so
 * here and not as a SIGBUS in a probe. */
static int emit(int live) {
  char tmp[MAX_PATH];
  u64 room = CAIRN_PAGE_SIZE + raw_size() + order_size();
  if (live && ((u64)raw_start | (u64)raw_stop | (u64)order_start | (u64)order_stop) & (CAIRN_PAGE_SIZE - 1)) return -1;
  u8 *file = (u8 *)map(0, room, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((u64)file > -4096UL) return -1;
  long size = fill((struct header *)file, live) - file;

  put_path(tmp, (u32)__builtin_ia32_rdtsc(), ".tmp");
  sys2(SYS_mkdir, st.dir, 0777);
  long err, fd = sys4(SYS_open, (long)tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, 0);
  if ((err = fd) >= 0) {
    if (sys4(SYS_write, fd, (long)file, size, 0) != size) err = -ENOSPC;
    if (err >= 0 && live) err = place(MAP_SHARED, fd);
    sys2(SYS_close, (void *)fd, 0);
    if (err >= 0) err = publish(tmp);
    if (err < 0) sys2(SYS_unlink, tmp, 0);
  }
  sys2(SYS_munmap, file, (long)room);
  if (err < 0) {
    complain(tmp, err);
    return -1;
  }
  return 0;
}

/* restart begins from zero. If fresh is set, what was written stays, and what
 * comes goes to another file. */
static void restart(int fresh) {
  int live = fresh & st.mapped;
  __cairn_order = 0;
  if (live) {
    place(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  } else {
    clear(raw_start, raw_size());
    clear(order_start, order_size());
  }
  if (fresh) st.done = 0;
  if (live) st.mapped = !emit(1);
}

/* ---- this module, and all modules ---- */

HIDDEN int __cairn_dump_module(void) {
  /* A child that no fork handler saw would write its parent's counts again. */
  if (!st.dir || sys0(SYS_getpid) != st.pid) return -1;
  st.dumped = 1;
  if (st.mapped) return 0;
  return emit(0);
}

HIDDEN void __cairn_reset_module(void) {
  st.n += st.dumped;
  restart(st.dumped);
}

/* A note tells other modules' copies of this runtime where dump and reset are,
 * without exporting a symbol. */
__asm__(".pushsection .note.cairn,\"a\",@note\n"
        ".balign 4\n.long 6, 8, 3\n.asciz \"CAIRN\"\n.balign 4\n"
        ".Lcairn_calls:\n.long __cairn_dump_module - .Lcairn_calls, __cairn_reset_module - .Lcairn_calls\n"
        ".popsection\n"
        ".pushsection .text\n.reloc ., R_X86_64_NONE, .Lcairn_calls\n.popsection\n");

struct call {
  u32 which;
  int result;
};

static int call_module(struct dl_info *i, u64 size, void *arg) {
  (void)size;
  struct call *c = arg;
  u32 len;
  const u8 *d = find_note(i->phdr, i->phnum, i->addr, 0, 0x52494143 /* CAIR */, &len);
  if (d && ((int (*)(void))(d + ((const i32 *)d)[c->which]))() < 0 && !c->which) c->result = -1;
  return 0;
}

static __attribute__((noinline)) int call_all(u32 which) {
  struct call c = {which, 0};
  if (dl_iterate_phdr)
    dl_iterate_phdr(call_module, &c);
  else if (which)
    __cairn_reset_module();
  else
    return __cairn_dump_module();
  return c.result;
}

HIDDEN int __cairn_dump(void) { return call_all(0); }
HIDDEN void __cairn_reset(void) { call_all(1); }

/* ---- the life of the process ---- */

/* glibc hands the environment to constructors, and takes fork handlers away
 * with the module they belong to. Other libraries have the usual names. Each
 * name costs a hundred bytes of tables for the dynamic linker. */
#if __has_include(<gnu/libc-version.h>)
#define GLIBC 1
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) WEAK;
extern void *__dso_handle HIDDEN WEAK;
#else
#define GLIBC 0
extern char **environ WEAK;
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) WEAK;
#endif

/* env returns the value of the variable CAIRN_ and name, or 0. */
static const char *env(char **e, const char *name) {
  for (; e && *e; e++) {
    const char *p = *e, *q = "CAIRN_";
    while (*q && *p == *q) p++, q++;
    if (*q) continue;
    for (q = name; *q && *p == *q; q++) p++;
    if (!*q && *p == '=') return p + 1;
  }
  return 0;
}

/* The child starts from zero, so that sums over all files stay true. */
static void forked(void) {
  st.pid = (i32)sys0(SYS_getpid);
  st.n = 0;
  restart(1);
}

struct kernel_sigaction {
  u64 handler, flags, restorer, mask;
};
void restorer(void) __asm__(".Lcairn_restorer") HIDDEN;
__asm__(".pushsection .text\n.Lcairn_restorer:\nmov $15, %eax\nsyscall\n.popsection\n");

static void on_signal(int sig) {
  (void)sig;
  __cairn_dump();
}

/* watch installs the handler for CAIRN_SIGNAL, a number, unless the program or
 * another module has one. There is no signal 0. */
static void watch(const char *s) {
  u32 sig = 0;
  while (*s >= '0' && *s <= '9') sig = sig * 10 + (u32)(*s++ - '0');
  struct kernel_sigaction a;
  if (*s || sys4(SYS_rt_sigaction, sig, 0, (long)&a, 8) < 0 || a.handler) return;
  a.handler = (u64)on_signal;
  a.flags = 0x14000000; /* SA_RESTORER | SA_RESTART */
  a.restorer = (u64)restorer;
  st.sig = sig;
  sys4(SYS_rt_sigaction, sig, (long)&a, 0, 8);
}

static void start(int argc, char **argv, char **envp) {
  (void)argc, (void)argv;
  /* A program with more rights than its caller takes no orders from the
   * caller's environment, nor writes files for it. Where the rights are capabilities
   * of its file, the kernel says so by not dumping its memory (0, or 2: only root may
   * see it). */
  if (sys0(SYS_getuid) != sys0(SYS_geteuid) ||
      sys0(SYS_getgid) != sys0(SYS_getegid) || !((int)sys2(SYS_prctl, (void *)PR_GET_DUMPABLE, 0) & ~2))
    return;
#if !GLIBC
  envp = &environ ? environ : 0;
#endif
  const char *dir = env(envp, "DIR"), *s;
  if (!dir || !*dir) dir = CAIRN_DEFAULT_DIR;
  if (!*dir) return;
  for (s = dir; *s; s++)
    if (s - dir >= MAX_DIR) {
      complain("CAIRN_DIR", -ENAMETOOLONG);
      return;
    }
  st.dir = dir;
  st.pid = (i32)sys0(SYS_getpid);
#if GLIBC
  /* Without a handle it would outlive its module. */
  if (__register_atfork && &__dso_handle) __register_atfork(0, 0, forked, &__dso_handle);
#else
  if (pthread_atfork) pthread_atfork(0, 0, forked);
#endif
  st.scenario = env(envp, "SCENARIO");
  s = env(envp, "CONTINUOUS");
  if (s && *s > '0') st.mapped = !emit(1);
  s = env(envp, "SIGNAL");
  if (s) watch(s);
}

/* The module may be about to be unloaded, and its handler with it. The signal
 * must not end the process then. */
static void finish(void) {
  struct kernel_sigaction a;
  __cairn_dump_module();
  if (sys4(SYS_rt_sigaction, st.sig, 0, (long)&a, 8) < 0 || a.handler != (u64)on_signal) return;
  a.handler = 1; /* SIG_IGN */
  sys4(SYS_rt_sigaction, st.sig, (long)&a, 0, 8);
}

/* First in, last out: before the module's other constructors, after its other
 * destructors. */
__attribute__((section(".init_array.00000"), used)) static void (*const init)(int, char **, char **) = start;
__attribute__((section(".fini_array.00000"), used)) static void (*const fini)(void) = finish;

/* What rt.c asks the kernel for, and text. */

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

enum {
  SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_mmap = 9, SYS_munmap = 11,
  SYS_rt_sigaction = 13, SYS_getpid = 39, SYS_getcwd = 79, SYS_rename = 82, SYS_mkdir = 83,
  SYS_link = 86, SYS_unlink = 87, SYS_readlink = 89, SYS_getrlimit = 97, SYS_getuid = 102,
  SYS_getgid = 104, SYS_geteuid = 107, SYS_getegid = 108, SYS_prctl = 157, SYS_gettid = 186,
  SYS_tgkill = 234, SYS_renameat2 = 316
};
enum { EEXIST = 17, EFBIG = 27, ENOSPC = 28, ENAMETOOLONG = 36 };
enum { O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000 };
enum { SIGBUS = 7, SA_SIGINFO = 4, SA_RESTORER = 0x04000000, SA_ONSTACK = 0x08000000, SA_RESTART = 0x10000000 };
enum { AT_FDCWD = -100, RENAME_NOREPLACE = 1 };
enum { PR_GET_DUMPABLE = 3, RLIMIT_FSIZE = 1 };
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
/* rename_new renames unless there is such a file. */
INLINE long rename_new(const char *from, const char *to) {
  register long r10 __asm__("r10") = (long)to, r8 __asm__("r8") = RENAME_NOREPLACE;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_renameat2), "D"(AT_FDCWD), "S"(from), "d"(AT_FDCWD), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
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

struct kernel_sigaction {
  u64 handler, flags, restorer, mask;
};
void restorer(void) __asm__(".Lcairn_restorer") HIDDEN;
__asm__(".pushsection .text\n.Lcairn_restorer:\nmov $15, %eax\nsyscall\n.popsection\n");

/* handler_of returns what handles a signal, or -1 if there is no such signal. */
static __attribute__((noinline)) u64 handler_of(u32 sig) {
  struct kernel_sigaction a;
  return sys4(SYS_rt_sigaction, sig, 0, (long)&a, 8) < 0 ? -1UL : a.handler;
}

static __attribute__((noinline)) void set_handler(u32 sig, u64 handler, u64 flags) {
  struct kernel_sigaction a = {handler, flags, (u64)restorer, 0};
  sys4(SYS_rt_sigaction, sig, (long)&a, 0, 8);
}

/* handle installs a handler for a signal, unless the program or another module
 * has one. There is no signal 0. */
static u32 handle(u32 sig, void *handler, u64 flags) {
  if (handler_of(sig)) return 0;
  set_handler(sig, (u64)handler, flags);
  return sig;
}

/* unhandle takes it away: the module may be about to be unloaded. */
static void unhandle(u32 sig, void *handler, u64 instead) {
  if (sig && handler_of(sig) == (u64)handler) set_handler(sig, instead, 0);
}

/* ---- text ---- */

/* Lengths are bounded where text comes in. */
enum { MAX_DIR = 1024, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

static char *put(char *p, const char *s) {
  while ((*p = *s++)) p++;
  return p;
}

/* put_some puts no more than so many bytes, and no zero. */
static __attribute__((noinline)) char *put_some(char *p, const char *s, u32 most) {
  for (; most && *s; most--) *p++ = *s++;
  return p;
}

static char *put_number(char *p, u32 v) {
  char b[12], *q = b + 11;
  *q = 0;
  do *--q = '0' + v % 10;
  while (v /= 10);
  return put(p, q);
}

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

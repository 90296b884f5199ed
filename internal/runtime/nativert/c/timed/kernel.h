/* What the runtimes of the timed modes need from the compiler and the kernel. */
#ifndef CAIRN_KERNEL_H
#define CAIRN_KERNEL_H

/* Passes without which gcc 12 makes less code, and fewer rows of unwind tables, on all machines. Some are
 * also in rt_kernel.h, whose others help only there. A pragma makes it forget that there is no strlen to call, which the last one replaces loops by. */
#if !__clang__
#pragma GCC optimize("no-tree-forwprop", "no-move-loop-invariants", "no-tree-tail-merge", "no-tree-loop-distribute-patterns")
#endif

#include "sys.h"

COMPILERS_CALLS
ANY_FLOATS

#define WEAK __attribute__((weak, visibility("default")))
/* What another member of the archive may define has a weak definition besides, not a weak declaration: gold
 * resolves an undefined weak symbol that is hidden to the address of the module's header. */
#define FALLBACK HIDDEN __attribute__((weak))
#define barrier() __asm__ volatile("" ::: "memory")
#define load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)

enum { MS = 1000000, SECOND = 1000000000 };
#define NEVER 0x7fffffffu /* inline threshold that no call reaches */
#define NONE (~(u64)0)

/* ---- the kernel ---- */

enum { MADV_DONTNEED = 4, MADV_NOHUGEPAGE = 15, MADV_DONTDUMP = 16, MADV_WIPEONFORK = 18 };
enum { REALTIME = 0, MONOTONIC = 1, PROCESS_CPU = 2, THREAD_CPU = 3 };
enum { FUTEX_WAIT = 128, FUTEX_WAKE = 129, FUTEX_SHARED_WAIT = 0, FUTEX_SHARED_WAKE = 1 };
enum { AT_SECURE = 23, AT_SYSINFO_EHDR = 33 };
enum { SYS_pidfd_open = 434, SYS_pidfd_getfd = 438 };

enum { SA_SIGINFO = 4, SA_ONSTACK = 0x08000000, SA_RESTART = 0x10000000, SA_NODEFER = 0x40000000 };

struct action {
  void (*handler)(int, void *, void *);
  uword flags;
  void (*restorer)(void);
  uword mask[8 / sizeof(uword)];
};

#define failed(r) ((uword)(r) > -4096ul)
#ifdef CAIRN_ATTACH
/* A library that is put into a running program records all its memory for its removal, and leaves
 * messages to the tracer; see attach.c. */
HIDDEN i64 __cairn_mapped(i64 at, u64 size);
HIDDEN void __cairn_unmapped(u64 at, u64 size);
#else
#define __cairn_mapped(at, size) (at)
#define __cairn_unmapped(at, size) ((void)0)
#endif
#define map(at, size, prot, flags, fd, offset) \
  __cairn_mapped(sys6(SYS_mmap, (sword)(at), (sword)(size), prot, flags, fd, (sword)MMAP_OFFSET(offset)), size)
#define unmap(at, size) (__cairn_unmapped((u64)(at), size), sys2(SYS_munmap, at, size))

INLINE u64 length(const char *s) {
  u64 n = 0;
  while (s[n]) n++;
  return n;
}
INLINE u64 least(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 most(u64 a, u64 b) { return a > b ? a : b; }
INLINE u64 less(u64 a, u64 b) { return a > b ? a - b : 0; } /* a - b, or 0 */
INLINE u64 up8(u64 n) { return (n + 7) & ~7ul; }

#define TEXT_FUNCTION INLINE
#define TEXT_NUMBER uword
#include "text.h"

INLINE char *put_hex(char *p, u64 v, int digits) {
  for (int i = digits - 1; i >= 0; i--) *p++ = "0123456789abcdef"[v >> 4 * i & 15];
  *p = 0;
  return p;
}
/* fits reports whether a file may have that size (ulimit -f). Writing more would end the program by
 * SIGXFSZ. */
INLINE int fits(u64 size) {
  uword limit[2];
  return sys2(SYS_getrlimit, 1 /* RLIMIT_FSIZE */, limit) < 0 || size <= limit[0] || (sizeof limit[0] < sizeof size && !~limit[0]);
}
/* auxiliary returns a value of the auxiliary vector, 0 if there is none, or -errno. */
INLINE i64 auxiliary(u64 type) {
#if __ANDROID__ /* the file is not for an app that may not be debugged */
  if (getauxval) return (i64)getauxval(type);
#endif
  uword aux[2];
  i64 value = 0, fd = open_file("/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return fd;
  while (sys3(SYS_read, fd, aux, sizeof aux) == sizeof aux && aux[0])
    if (aux[0] == type) value = (i64)aux[1];
  sys1(SYS_close, fd);
  return value;
}
/* is_privileged reports whether the program has more rights than its caller: set-uid, set-gid, or
 * file capabilities, with which it cannot read its own /proc files. */
INLINE int is_privileged(void) {
  if (sys0(SYS_getuid) != sys0(SYS_geteuid) || sys0(SYS_getgid) != sys0(SYS_getegid)) return 1;
  i64 secure = auxiliary(AT_SECURE);
  return secure > 0 || secure == -EACCES;
}
/* identify returns the device and inode of a descriptor. is_file returns its size, or -1 if it is
 * another file: some programs close all descriptors, and then get the same number for a file of
 * theirs. */
INLINE i64 identify(i32 fd, u64 *device, u64 *inode) {
  u64 stat[STAT_WORDS];
  i64 err = sys2(SYS_fstat, fd, stat);
  if (err >= 0) *device = stat[0], *inode = stat[STAT_INODE], err = (i64)stat[STAT_SIZE];
  return err;
}
INLINE i64 is_file(i32 fd, u64 device, u64 inode) {
  u64 d = 0, i = 0;
  i64 size = fd < 0 ? -1 : identify(fd, &d, &i);
  return size >= 0 && d == device && i == inode ? size : -1;
}
/* absolute copies the path of a directory and makes it absolute, as the program may change its
 * directory; if the working directory's own path is too long, the path stays relative. It returns 0
 * if there is no room. */
INLINE int absolute(char *to, u64 room, const char *path) {
  u64 n = 0;
  if (*path && *path != '/') {
    i64 got = sys2(SYS_getcwd, to, room);
    if (got > 1 && to[0] == '/') n = (u64)got - 1; /* it may be unreachable */
    if (n && n + 2 < room && to[n - 1] != '/') to[n++] = '/';
  }
  if (n + length(path) + 1 > room) return 0;
  put(to + n, path);
  return 1;
}
/* A lock that is rarely held. Its holder may be waiting for a processor, and may never get that of a
 * thread with a higher priority which only yields: so others sleep at last. */
INLINE void lock(u32 *l) {
  uword nap[2] = {0, MS};
  for (u32 n = 0; __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE); n++) {
    if (n < 100) pause_briefly();
    else if (n < 200) sys0(SYS_sched_yield);
    else sys4(SYS_futex, l, FUTEX_WAIT, 1, nap);
  }
}
INLINE void unlock(u32 *l) { store(l, 0); }
/* leave_files gives this thread an empty file table, so that its files take no descriptors from the
 * program. Kernels before 5.9 cannot do that: it returns 0, and the thread shares the program's table. */
enum { CLOSE_RANGE_UNSHARE = 2 };
INLINE int leave_files(void) { return sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) >= 0; }
/* print writes a message to standard error, in the timed modes from any thread. */
HIDDEN void __cairn_print(const char *text, u64 n);

#endif

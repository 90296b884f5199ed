/* sys.h for AArch64. Its kernel has no system calls with a path and no directory. */

enum {
  SYS_getcwd = 17, SYS_fcntl = 25, SYS_mkdirat = 34, SYS_unlinkat = 35, SYS_linkat = 37, SYS_renameat = 38, SYS_ftruncate = 46,
  SYS_fallocate = 47, SYS_fchmod = 52, SYS_openat = 56, SYS_close = 57, SYS_getdents64 = 61, SYS_lseek = 62,
  SYS_read = 63, SYS_write = 64, SYS_pread = 67, SYS_pwrite = 68, SYS_ppoll = 73, SYS_readlinkat = 78,
  SYS_newfstatat = 79, SYS_fstat = 80, SYS_exit = 93, SYS_exit_group = 94, SYS_unshare = 97, SYS_futex = 98,
  SYS_set_robust_list = 99, SYS_get_robust_list = 100, SYS_timer_create = 107, SYS_timer_settime = 110, SYS_timer_delete = 111,
  SYS_clock_gettime = 113, SYS_clock_nanosleep = 115, SYS_sched_setscheduler = 119, SYS_sched_yield = 124, SYS_tgkill = 131,
  SYS_rt_sigaction = 134, SYS_rt_sigprocmask = 135, SYS_setpriority = 140, SYS_getrlimit = 163,
  SYS_setrlimit = 164, SYS_getrusage = 165, SYS_prctl = 167, SYS_getpid = 172, SYS_getppid = 173,
  SYS_getuid = 174, SYS_geteuid = 175, SYS_getgid = 176, SYS_getegid = 177, SYS_gettid = 178,
  SYS_socket = 198, SYS_bind = 200, SYS_listen = 201, SYS_connect = 203, SYS_sendto = 206,
  SYS_getsockopt = 209, SYS_munmap = 215, SYS_mremap = 216, SYS_clone = 220, SYS_mmap = 222, SYS_mprotect = 226,
  SYS_mincore = 232, SYS_madvise = 233, SYS_accept4 = 242, SYS_process_vm_readv = 270, SYS_renameat2 = 276,
  SYS_memfd_create = 279, SYS_close_range = 436
};

#if __ANDROID__
/* Filters of apps end a process for system calls that the C library of its version of Android does not make. They are not
 * made: what cannot do without is done in another way, as on old kernels. */
#define FORBIDDEN(n)                                                                                                      \
  ((n) == SYS_set_robust_list || (n) == SYS_get_robust_list || (n) == SYS_getrlimit || (n) == SYS_setrlimit || \
   (n) == SYS_renameat2 || (n) == SYS_memfd_create || (n) == SYS_close_range || (n) == 434 || (n) == 438 /* pidfd_open, pidfd_getfd */)
#else
#define FORBIDDEN(n) 0
#endif
enum { UNKNOWN_CALL = -38 };

INLINE i64 sys6(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register i64 x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
INLINE i64 sys_5(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register i64 x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
INLINE i64 sys_4(i64 n, i64 a, i64 b, i64 c, i64 d) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register i64 x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
INLINE i64 sys_3(i64 n, i64 a, i64 b, i64 c) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
INLINE i64 sys_2(i64 n, const void *a, i64 b) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = (i64)a, x1 __asm__("x1") = b;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
  return x0;
}
INLINE i64 sys_1(i64 n, i64 a) {
  if (FORBIDDEN(n)) return UNKNOWN_CALL;
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8) : "memory");
  return x0;
}
INLINE i32 sys0(i64 n) { /* small results: ids */
  register i64 x8 __asm__("x8") = n, x0 __asm__("x0");
  __asm__ volatile("svc 0" : "=r"(x0) : "r"(x8) : "memory");
  return (i32)x0;
}

/* In assembly, as compilers replace loops by calls of memcpy and memset. */
static __attribute__((noinline, unused)) void copy(void *to, const void *from, u64 n) {
  u64 word;
  __asm__ volatile("b 2f\n"
                   "1: ldr %3, [%1], 8\n\tstr %3, [%0], 8\n"
                   "2: subs %2, %2, 8\n\tb.hs 1b\n\tadds %2, %2, 8\n\tb.eq 4f\n"
                   "3: ldrb %w3, [%1], 1\n\tstrb %w3, [%0], 1\n\tsubs %2, %2, 1\n\tb.ne 3b\n"
                   "4:"
                   : "+r"(to), "+r"(from), "+r"(n), "=&r"(word) : : "cc", "memory");
}
static __attribute__((noinline, unused)) void clear(void *to, u64 n) {
  __asm__ volatile("b 2f\n"
                   "1: str xzr, [%0], 8\n"
                   "2: subs %1, %1, 8\n\tb.hs 1b\n\tadds %1, %1, 8\n\tb.eq 4f\n"
                   "3: strb wzr, [%0], 1\n\tsubs %1, %1, 1\n\tb.ne 3b\n"
                   "4:"
                   : "+r"(to), "+r"(n) : : "cc", "memory");
}

/* ---- files ---- */

INLINE i64 open_file(const char *path, i64 flags, i64 mode) { return sys4(SYS_openat, AT_FDCWD, path, flags, mode); }
INLINE i64 create_file(const char *path, i64 mode) {
  return sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}
INLINE i64 make_dir(const char *path, i64 mode) { return sys3(SYS_mkdirat, AT_FDCWD, path, mode); }
INLINE i64 rename_file(const char *from, const char *to) {
  return sys5(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
INLINE i64 link_file(const char *from, const char *to) {
  return sys5(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
INLINE i64 remove_file(const char *path) { return sys3(SYS_unlinkat, AT_FDCWD, path, 0); }
INLINE i64 read_link(const char *path, char *to, u64 room) {
  return sys4(SYS_readlinkat, AT_FDCWD, path, to, room);
}
enum { O_DIRECTORY = 040000, O_TMPFILE = 020040000 };

/* struct stat: the indices of the size and of the number of links in words of 8 bytes, and of the
 * mode in words of 4 bytes. */
enum { STAT_WORDS = 16, STAT_INODE = 1, STAT_SIZE = 6, STAT_MODE_4 = 4 };
INLINE u64 links_of(const u64 *stat) { return stat[2] >> 32; }
INLINE i64 stat_link(const char *path, u32 *stat) {
  return sys4(SYS_newfstatat, AT_FDCWD, path, stat, 0x100 /* AT_SYMLINK_NOFOLLOW */);
}

/* wait_for waits up to ms milliseconds until one of n files is ready. */
INLINE i64 wait_for(void *files, u64 n, u64 ms) {
  u64 ts[2] = {ms / 1000, ms % 1000 * 1000000};
  return sys5(SYS_ppoll, files, n, ts, 0, 0);
}

/* ---- signals ---- */

/* The kernel provides the return address of handlers. */
enum { SA_RESTORER = 0 };
#define DEFINE_RESTORER(name, label) enum { name = 0 }
#define DEFINE_SIGNAL_RESTORER(name) enum { name = 0 }

/* ---- threads ---- */

/* start_thread starts a thread without the C library. It calls the first of the two words at sp
 * with the second as its argument, on that stack. */
INLINE i64 start_thread(u64 *sp) {
  register i64 x8 __asm__("x8") = SYS_clone, x0 __asm__("x0") = 0x50f00 /* VM FS FILES SIGHAND THREAD SYSVSEM */;
  register i64 x1 __asm__("x1") = (i64)sp, x2 __asm__("x2") = 0, x3 __asm__("x3") = 0, x4 __asm__("x4") = 0;
  __asm__ volatile("svc 0\n\tcbnz x0, 1f\n\t"
                   "mov x29, 0\n\tmov x30, 0\n\tldp x1, x0, [sp], 16\n\tblr x1\n\tbrk 0\n1:"
                   : "+r"(x0), "+r"(x1) : "r"(x8), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

/* thread_pointer identifies a thread. */
INLINE u64 thread_pointer(void) {
  u64 tp;
  __asm__("mrs %0, tpidr_el0" : "=r"(tp));
  return tp;
}

/* ---- pages ---- */

/* Pages have 4, 16 or 64 KiB, depending on the kernel. Sections are aligned for the largest; files
 * use the actual size. */
enum { MAX_PAGE = 0x10000 };

#if CAIRN_MAPPED
#define getauxval ((u64(*)(u64))0) /* a runtime that is a file has no symbols */
#else
extern u64 getauxval(u64) __attribute__((weak)); /* auxiliary vector */
#endif
enum { AT_PAGESZ = 6 };

/* page_size asks the C library, or else the kernel, whose madvise refuses addresses that are not
 * page-aligned. */
static __attribute__((noinline, unused)) u64 page_size(void) {
  static u64 size;
  u64 n = size;
  if (!n) {
    if (getauxval) n = getauxval(AT_PAGESZ);
    if (!n)
      for (n = 4096; n < MAX_PAGE && sys3(SYS_madvise, n, 0, 0) < 0;) n *= 2;
    size = n;
  }
  return n;
}

/* Size of the space for a runtime that is a file and its variables. */
#define IMAGE_ROOM 0x40000

/* used_room returns how many bytes of such a section are mapped. If a linker put something
 * after our part, that is the whole section. */
static __attribute__((noinline, unused)) u64 used_room(const u8 *start, const u8 *stop, const u8 *used) {
  u64 page = page_size();
  if ((u64)stop & (MAX_PAGE - 1)) return (u64)(stop - start);
  return ((u64)(used - start) + page - 1) & -page;
}

/* ---- the processor ---- */

#define RELOC_NONE "R_AARCH64_NONE"

/* ticks returns the counter that all processors share. */
INLINE u64 ticks(void) {
  u64 now;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
}

/* nonce returns a different number each time. The counter may be so slow that two threads read the
 * same value, but they have different stacks. */
INLINE u64 nonce(void) { return ticks() ^ (u64)__builtin_frame_address(0) >> 4; }

/* muldiv is a * b / c, which fits 64 bits; the compiler would call libgcc. */
static __attribute__((unused)) u64 muldiv(u64 a, u64 b, u64 c) {
  u64 low = a * b, high = (u64)((unsigned __int128)a * b >> 64);
  if (!high) return low / c;
  for (int i = 0; i < 64; i++) {
    u64 carry = high >> 63;
    high = high << 1 | low >> 63;
    low <<= 1;
    if (carry || high >= c) high -= c, low |= 1;
  }
  return low;
}

/* pause_briefly is for loops that wait for another thread. */
INLINE void pause_briefly(void) { __asm__ volatile("yield" ::: "memory"); }

/* Compilers copy and clear large objects by calls of a C library; these are redirected to
 * timed_memory_aarch64.S. */
#define COMPILERS_CALLS                                  \
  __asm__(".hidden __cairn_memcpy, __cairn_memset\n"     \
          ".set memcpy, __cairn_memcpy\n.set memset, __cairn_memset\n");

/* The machine's part of the runtime of the timed modes. */
#define TIMED_MACHINE "timed_aarch64.h"

/* sys.h for Armv7. Words have 32 bits; numbers in files still have 64. */

enum {
  SYS_exit = 1, SYS_read = 3, SYS_write = 4, SYS_close = 6, SYS_lseek = 19, SYS_getpid = 20, SYS_getppid = 64, SYS_setrlimit = 75,
  SYS_getrusage = 77 /* of words */, SYS_munmap = 91, SYS_fchmod = 94, SYS_setpriority = 97, SYS_clone = 120, SYS_mprotect = 125,
  SYS_sched_setscheduler = 156, SYS_sched_yield = 158, SYS_mremap = 163, SYS_prctl = 172, SYS_rt_sigaction = 174,
  SYS_rt_sigprocmask = 175, SYS_pread = 180, SYS_pwrite = 181, SYS_getcwd = 183, SYS_sigaltstack = 186, SYS_getrlimit = 191 /* of words */, SYS_mmap = 192 /* its offset is in pages */,
  SYS_ftruncate = 194, SYS_fstat = 197 /* all of 64 bits */, SYS_getuid = 199, SYS_getgid = 200, SYS_geteuid = 201, SYS_getegid = 202,
  SYS_getdents64 = 217, SYS_mincore = 219, SYS_madvise = 220, SYS_fcntl = 221, SYS_gettid = 224, SYS_futex = 240,
  SYS_exit_group = 248, SYS_timer_create = 257, SYS_timer_settime = 258, SYS_timer_delete = 261,
  SYS_clock_gettime = 263, SYS_clock_nanosleep = 265 /* times are words, here and above */, SYS_tgkill = 268,
  SYS_socket = 281, SYS_bind = 282, SYS_connect = 283, SYS_listen = 284, SYS_getsockname = 286, SYS_getpeername = 287, SYS_sendto = 290,
  SYS_getsockopt = 295, SYS_openat = 322, SYS_mkdirat = 323, SYS_fstatat = 327, SYS_unlinkat = 328, SYS_linkat = 330,
  SYS_readlinkat = 332, SYS_faccessat = 334, SYS_ppoll = 336, SYS_unshare = 337, SYS_set_robust_list = 338, SYS_get_robust_list = 339, SYS_fallocate = 352, SYS_accept4 = 366,
  SYS_process_vm_readv = 376, SYS_renameat2 = 382, SYS_memfd_create = 385, SYS_close_range = 436
};

/* Register r7 holds the number of the system call. In the Thumb state it may be the frame pointer
 * too. */
#define SVC "push {r7}\n\tmov r7, %[n]\n\tsvc 0\n\tpop {r7}"

INLINE sword sys6(sword n, sword a, sword b, sword c, sword d, sword e, sword f) {
  register sword r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = d;
  register sword r4 __asm__("r4") = e, r5 __asm__("r5") = f;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
  return r0;
}
INLINE sword sys_5(sword n, sword a, sword b, sword c, sword d, sword e) {
  register sword r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = d;
  register sword r4 __asm__("r4") = e;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n), "r"(r1), "r"(r2), "r"(r3), "r"(r4) : "memory");
  return r0;
}
INLINE sword sys_4(sword n, sword a, sword b, sword c, sword d) {
  register sword r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = d;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n), "r"(r1), "r"(r2), "r"(r3) : "memory");
  return r0;
}
INLINE sword sys_3(sword n, sword a, sword b, sword c) {
  register sword r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n), "r"(r1), "r"(r2) : "memory");
  return r0;
}
INLINE sword sys_2(sword n, const void *a, sword b) {
  register sword r0 __asm__("r0") = (sword)a, r1 __asm__("r1") = b;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n), "r"(r1) : "memory");
  return r0;
}
INLINE sword sys_1(sword n, sword a) {
  register sword r0 __asm__("r0") = a;
  __asm__ volatile(SVC : "+r"(r0) : [n] "r"(n) : "memory");
  return r0;
}
INLINE i32 sys0(sword n) {
  register sword r0 __asm__("r0");
  __asm__ volatile(SVC : "=&r"(r0) : [n] "r"(n) : "memory");
  return r0;
}

/* In assembly, as compilers replace loops by calls of memcpy and memset. */
static __attribute__((noinline, unused)) void copy(void *to, const void *from, uword n) {
  uword unit;
  __asm__ volatile("b 2f\n"
                   "1: ldr %3, [%1], #4\n\tstr %3, [%0], #4\n"
                   "2: subs %2, %2, #4\n\tbhs 1b\n\tadds %2, %2, #4\n\tbeq 4f\n"
                   "3: ldrb %3, [%1], #1\n\tstrb %3, [%0], #1\n\tsubs %2, %2, #1\n\tbne 3b\n"
                   "4:"
                   : "+r"(to), "+r"(from), "+r"(n), "=&r"(unit) : : "cc", "memory");
}
static __attribute__((noinline, unused)) void clear(void *to, uword n) {
  uword zero = 0;
  __asm__ volatile("b 2f\n"
                   "1: str %2, [%0], #4\n"
                   "2: subs %1, %1, #4\n\tbhs 1b\n\tadds %1, %1, #4\n\tbeq 4f\n"
                   "3: strb %2, [%0], #1\n\tsubs %1, %1, #1\n\tbne 3b\n"
                   "4:"
                   : "+r"(to), "+r"(n) : "r"(zero) : "cc", "memory");
}

/* ---- files ---- */

enum { O_LARGEFILE = 0400000, O_DIRECTORY = 040000, O_TMPFILE = 020040000 };

INLINE sword open_file(const char *path, sword flags, sword mode) {
  return sys4(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
INLINE sword create_file(const char *path, sword mode) {
  return sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_LARGEFILE, mode);
}
INLINE sword make_dir(const char *path, sword mode) { return sys3(SYS_mkdirat, AT_FDCWD, path, mode); }
INLINE sword rename_file(const char *from, const char *to) {
  return sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
INLINE sword link_file(const char *from, const char *to) {
  return sys5(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
INLINE sword remove_file(const char *path) { return sys3(SYS_unlinkat, AT_FDCWD, path, 0); }
INLINE sword read_link(const char *path, char *to, uword room) {
  return sys4(SYS_readlinkat, AT_FDCWD, path, to, room);
}

/* Unit of the offset of the kernel's mmap. */
#define MMAP_OFFSET(offset) ((offset) >> 12)

/* A number of 64 bits is in two registers, the first of which is even. */
INLINE sword resize_file(sword fd, u64 size) { return sys4(SYS_ftruncate, fd, 0, size, size >> 32); }
INLINE sword allocate_file(sword fd, u64 at, u64 n) {
  return sys6(SYS_fallocate, fd, 0, (sword)at, (sword)(at >> 32), (sword)n, (sword)(n >> 32));
}
INLINE sword write_at(sword fd, const void *data, uword n, u64 at) {
  return sys6(SYS_pwrite, fd, (sword)data, (sword)n, 0, (sword)at, (sword)(at >> 32));
}

INLINE sword read_at(sword fd, void *data, uword n, u64 at) {
  return sys6(SYS_pread, fd, (sword)data, (sword)n, 0, (sword)at, (sword)(at >> 32));
}

/* struct stat: the indices of the inode and of the size in words of 8 bytes, and of the mode in words of 4 bytes. */
enum { STAT_WORDS = 13, STAT_INODE = 12, STAT_SIZE = 6, STAT_MODE_4 = 4 };
INLINE u64 links_of(const u64 *stat) { return stat[2] >> 32; }
INLINE sword stat_link(const char *path, u32 *stat) {
  return sys4(SYS_fstatat, AT_FDCWD, path, stat, 0x100 /* AT_SYMLINK_NOFOLLOW */);
}

/* wait_for waits up to ms milliseconds until one of n files is ready. */
INLINE sword wait_for(void *files, uword n, u64 ms) {
  u32 ts[2] = {(u32)ms / 1000, (u32)ms % 1000 * 1000000};
  return sys5(SYS_ppoll, files, n, ts, 0, 0);
}

/* copy_readable copies memory if all of it can be read. It is for emulators, which have neither process_vm_readv
 * nor the program's addresses in /proc/self/mem: another thread may unmap the memory in between. */
static __attribute__((noinline, unused)) int copy_readable(void *to, const void *from, uword n) {
  uword first = (uword)from & ~4095ul, last = ((uword)from + n - 1) & ~4095ul;
  for (uword at = first; n && at <= last; at += 4096)
    if (sys3(SYS_faccessat, AT_FDCWD, at < (uword)from ? (uword)from : at, 0) == -14 /* EFAULT */) return 0;
  copy(to, from, n);
  return 1;
}

/* ---- time ---- */

/* A time is seconds and nanoseconds. The kernel's have words. */
INLINE sword read_clock(sword clock, u64 *time) {
  u32 now[2] = {0, 0};
  sword err = sys2(SYS_clock_gettime, (const void *)clock, (sword)now);
  time[0] = now[0], time[1] = now[1];
  return err;
}
INLINE sword sleep_by(sword clock, const u64 *time) {
  u32 period[2] = {(u32)time[0], (u32)time[1]};
  return sys4(SYS_clock_nanosleep, clock, 0, period, 0);
}

/* ---- threads ---- */

/* start_thread starts a thread without the C library. It calls the first of the two words at sp
 * with the second as its argument, on that stack. */
INLINE sword start_thread(uword *sp) {
  register sword r0 __asm__("r0") = 0x50f00 /* VM FS FILES SIGHAND THREAD SYSVSEM */, r1 __asm__("r1") = (sword)sp;
  register sword r2 __asm__("r2") = 0, r3 __asm__("r3") = 0, r4 __asm__("r4") = 0;
  __asm__ volatile("push {r7}\n\tmov r7, %[n]\n\tsvc 0\n\tcmp r0, #0\n\tbne 1f\n\t"
                   "mov r11, #0\n\tmov lr, #0\n\tpop {r1}\n\tpop {r0}\n\tblx r1\n\tudf #0\n1:\tpop {r7}"
                   : "+r"(r0), "+r"(r1) : [n] "i"(SYS_clone), "r"(r2), "r"(r3), "r"(r4) : "cc", "memory");
  return r0;
}

/* thread_pointer identifies a thread. */
INLINE uword thread_pointer(void) {
  uword tp;
  __asm__("mrc p15, 0, %0, c13, c0, 3" : "=r"(tp));
  return tp;
}

/* ---- signals ---- */

/* The kernel provides the return address of handlers. */
enum { SA_RESTORER = 0 };
#define DEFINE_RESTORER(name, label) enum { name = 0 }
#define DEFINE_SIGNAL_RESTORER(name) enum { name = 0 }

/* Index of the faulting address in siginfo, in words of 4 bytes. */
enum { SI_ADDR = 3 };

/* ---- pages ---- */

/* All pages have this size. */
enum { MAX_PAGE = 4096 };
#define page_size() MAX_PAGE

#define used_room(start, stop, used) ((uword)((stop) - (start)))

/* Size of the space for a runtime that is a file and its variables. */
#define IMAGE_ROOM 0x10000

/* ---- the processor ---- */

#define RELOC_NONE "R_ARM_NONE"
#define NOTE_TYPE "%note"

/* This code uses no floating-point numbers: it is compatible with both hard-float and soft-float
 * programs. */
#define ANY_FLOATS __asm__(".eabi_attribute 28, 3\n");

/* Some processors cannot divide; the compiler would call libgcc. */
#define TENTH(v) ((u32)((u64)(v) * 0xcccccccdu >> 35))
#define LAST_DIGIT(v) ((v) - 10 * TENTH(v))

/* ticks is 0: programs cannot read a counter of the processor. */
INLINE u64 ticks(void) { return 0; }

/* pause_briefly is for loops that wait for another thread. */
INLINE void pause_briefly(void) { __asm__ volatile("yield" ::: "memory"); }

/* A module that has not started records nothing. */
#define NOT_STARTED ((void *)0)
enum { HAS_HOST = 0 };

/* muldiv is a * b / c, which fits 64 bits. */
static __attribute__((unused)) u64 muldiv(u64 a, u64 b, u64 c) {
  u64 middle = (a >> 32) * (u32)b + ((u64)(u32)a * (u32)b >> 32), other = (u64)(u32)a * (b >> 32) + (u32)middle;
  u64 low = a * b, high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
  if (!high) return low / c;
  for (int i = 0; i < 64; i++) {
    u64 carry = high >> 63;
    high = high << 1 | low >> 63;
    low <<= 1;
    if (carry || high >= c) high -= c, low |= 1;
  }
  return low;
}

/* Compilers copy, clear and divide by calls of a C library and of libgcc; these are redirected to
 * timed_memory_arm.S. */
#define COMPILERS_CALLS                                                                                        \
  __asm__(".hidden __cairn_memcpy, __cairn_memset, __cairn_memzero, __cairn_fill, __cairn_divide, __cairn_divide_long\n" \
          ".hidden __cairn_divide_signed, __cairn_divide_signed_long, __cairn_shift_left, __cairn_shift_right\n"            \
          ".set memcpy, __cairn_memcpy\n.set memset, __cairn_memset\n"                                         \
          ".set __aeabi_memcpy, __cairn_memcpy\n.set __aeabi_memcpy4, __cairn_memcpy\n.set __aeabi_memcpy8, __cairn_memcpy\n" \
          ".set __aeabi_memclr, __cairn_memzero\n.set __aeabi_memclr4, __cairn_memzero\n.set __aeabi_memclr8, __cairn_memzero\n" \
          ".set __aeabi_memset, __cairn_fill\n.set __aeabi_memset4, __cairn_fill\n.set __aeabi_memset8, __cairn_fill\n" \
          ".set __aeabi_uidiv, __cairn_divide\n.set __aeabi_uidivmod, __cairn_divide\n"                        \
          ".set __aeabi_uldivmod, __cairn_divide_long\n.set __aeabi_idiv, __cairn_divide_signed\n"                  \
          ".set __aeabi_ldivmod, __cairn_divide_signed_long\n.set __aeabi_llsl, __cairn_shift_left\n.set __aeabi_llsr, __cairn_shift_right\n");

/* nonce returns a different number each time, made of the kernel's clock, since programs cannot read
 * a counter of the processor, and of an address. */
INLINE u64 nonce(void) {
  u32 now[2] = {0, 0};
  sys2(SYS_clock_gettime, 1, (sword)now);
  return ((u64)now[0] << 30 ^ now[1]) + ((u64)(uword)__builtin_frame_address(0) << 24);
}

/* The machine's part of the runtime of the timed modes. */
#define TIMED_MACHINE "timed_arm.h"

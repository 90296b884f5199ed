/* What all parts of the runtime take from the compiler, the processor and the kernel:
 * Linux on x86-64. */
#ifndef CAIRN_SYS_H
#define CAIRN_SYS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;

#define HIDDEN __attribute__((visibility("hidden")))
#define INLINE static inline __attribute__((always_inline))

enum {
  SYS_read = 0, SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_fstat = 5, SYS_lstat = 6, SYS_poll = 7,
  SYS_lseek = 8, SYS_mmap = 9, SYS_mprotect = 10, SYS_munmap = 11, SYS_rt_sigaction = 13,
  SYS_rt_sigprocmask = 14, SYS_pread = 17, SYS_pwrite = 18, SYS_mremap = 25, SYS_madvise = 28,
  SYS_getpid = 39, SYS_socket = 41, SYS_connect = 42, SYS_sendto = 44, SYS_bind = 49, SYS_listen = 50,
  SYS_getsockopt = 55, SYS_exit = 60, SYS_fcntl = 72, SYS_ftruncate = 77, SYS_getcwd = 79, SYS_rename = 82,
  SYS_mkdir = 83, SYS_link = 86, SYS_unlink = 87, SYS_readlink = 89, SYS_fchmod = 91, SYS_getrlimit = 97,
  SYS_getrusage = 98, SYS_getuid = 102, SYS_getgid = 104, SYS_geteuid = 107, SYS_getegid = 108,
  SYS_getppid = 110, SYS_setpriority = 141, SYS_sched_setscheduler = 144, SYS_prctl = 157,
  SYS_setrlimit = 160, SYS_gettid = 186, SYS_futex = 202, SYS_getdents64 = 217, SYS_timer_create = 222,
  SYS_timer_settime = 223, SYS_timer_delete = 226, SYS_clock_gettime = 228, SYS_clock_nanosleep = 230,
  SYS_exit_group = 231, SYS_tgkill = 234, SYS_linkat = 265, SYS_unshare = 272, SYS_set_robust_list = 273,
  SYS_fallocate = 285, SYS_accept4 = 288, SYS_process_vm_readv = 310, SYS_renameat2 = 316,
  SYS_memfd_create = 319, SYS_close_range = 436
};
enum { ESRCH = 3, EINTR = 4, EBADF = 9, EACCES = 13, EEXIST = 17, EFBIG = 27, ENOSPC = 28, ENAMETOOLONG = 36, EOPNOTSUPP = 95, ESTALE = 116 };
enum { O_RDONLY = 0, O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000, AT_FDCWD = -100, RENAME_NOREPLACE = 1 };
enum { PROT_NONE = 0, PROT_RW = 3, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };

/* Each sets the registers of its arguments and no others: the runtime is to be small. */
INLINE i64 sys6(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
  register i64 r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return r;
}
INLINE i64 sys_5(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e) {
  register i64 r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return r;
}
INLINE i64 sys_4(i64 n, i64 a, i64 b, i64 c, i64 d) {
  register i64 r10 __asm__("r10") = d;
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return r;
}
INLINE i64 sys_3(i64 n, i64 a, i64 b, i64 c) {
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}
INLINE i64 sys_2(i64 n, const void *a, i64 b) {
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return r;
}
INLINE i64 sys_1(i64 n, i64 a) {
  i64 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a) : "rcx", "r11", "memory");
  return r;
}
INLINE i32 sys0(i64 n) { /* of numbers that fit: ids */
  i32 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n) : "rcx", "r11", "memory");
  return r;
}
#define sys5(n, a, b, c, d, e) sys_5(n, (i64)(a), (i64)(b), (i64)(c), (i64)(d), (i64)(e))
#define sys4(n, a, b, c, d) sys_4(n, (i64)(a), (i64)(b), (i64)(c), (i64)(d))
#define sys3(n, a, b, c) sys_3(n, (i64)(a), (i64)(b), (i64)(c))
#define sys2(n, a, b) sys_2(n, (const void *)(a), (i64)(b))
#define sys1(n, a) sys_1(n, (i64)(a))

INLINE void copy(void *to, const void *from, u64 n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
INLINE void clear(void *to, u64 n) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

#endif

/* sys.h for x86-64. */

enum {
  SYS_read = 0, SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_fstat = 5, SYS_lstat = 6, SYS_poll = 7,
  SYS_lseek = 8, SYS_mmap = 9, SYS_mprotect = 10, SYS_munmap = 11, SYS_rt_sigaction = 13,
  SYS_rt_sigprocmask = 14, SYS_pread = 17, SYS_pwrite = 18, SYS_sched_yield = 24, SYS_mremap = 25, SYS_mincore = 27, SYS_madvise = 28,
  SYS_getpid = 39, SYS_socket = 41, SYS_connect = 42, SYS_sendto = 44, SYS_bind = 49, SYS_listen = 50,
  SYS_getsockopt = 55, SYS_exit = 60, SYS_fcntl = 72, SYS_ftruncate = 77, SYS_getcwd = 79, SYS_rename = 82,
  SYS_mkdir = 83, SYS_link = 86, SYS_unlink = 87, SYS_readlink = 89, SYS_fchmod = 91, SYS_getrlimit = 97,
  SYS_getrusage = 98, SYS_getuid = 102, SYS_getgid = 104, SYS_geteuid = 107, SYS_getegid = 108,
  SYS_getppid = 110, SYS_setpriority = 141, SYS_sched_setscheduler = 144, SYS_prctl = 157,
  SYS_setrlimit = 160, SYS_gettid = 186, SYS_futex = 202, SYS_getdents64 = 217, SYS_timer_create = 222,
  SYS_timer_settime = 223, SYS_timer_delete = 226, SYS_clock_gettime = 228, SYS_clock_nanosleep = 230,
  SYS_exit_group = 231, SYS_tgkill = 234, SYS_linkat = 265, SYS_unshare = 272, SYS_set_robust_list = 273,
  SYS_get_robust_list = 274,
  SYS_fallocate = 285, SYS_accept4 = 288, SYS_process_vm_readv = 310, SYS_renameat2 = 316,
  SYS_memfd_create = 319, SYS_close_range = 436
};

/* Each sets only the registers of its arguments, to keep the runtime small. */
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
INLINE i32 sys0(i64 n) { /* small results: ids */
  i32 r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n) : "rcx", "r11", "memory");
  return r;
}

INLINE void copy(void *to, const void *from, u64 n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
INLINE void clear(void *to, u64 n) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

/* ---- files: system calls that newer machines do not have ---- */

INLINE i64 open_file(const char *path, i64 flags, i64 mode) { return sys3(SYS_open, path, flags, mode); }
INLINE i64 create_file(const char *path, i64 mode) {
  return sys4(SYS_open, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode, 0);
}
INLINE i64 make_dir(const char *path, i64 mode) { return sys2(SYS_mkdir, path, mode); }
INLINE i64 rename_file(const char *from, const char *to) { return sys2(SYS_rename, from, to); }
INLINE i64 link_file(const char *from, const char *to) { return sys2(SYS_link, from, to); }
INLINE i64 remove_file(const char *path) { return sys2(SYS_unlink, path, 0); }
INLINE i64 read_link(const char *path, char *to, u64 room) { return sys4(SYS_readlink, path, to, room, 0); }
enum { O_DIRECTORY = 0200000, O_TMPFILE = 020200000 };

/* struct stat: the indices of the size and of the number of links in words of 8 bytes, and of the
 * mode in words of 4 bytes. */
enum { STAT_WORDS = 18, STAT_INODE = 1, STAT_SIZE = 6, STAT_MODE_4 = 6 };
INLINE u64 links_of(const u64 *stat) { return stat[2]; }
INLINE i64 stat_link(const char *path, u32 *stat) { return sys2(SYS_lstat, path, stat); }

/* wait_for waits up to ms milliseconds until one of n files is ready. */
INLINE i64 wait_for(void *files, u64 n, u64 ms) { return sys3(SYS_poll, files, n, ms); }

/* ---- signals ---- */

/* Handlers return to an address that is given at their installation. */
enum { SA_RESTORER = 0x04000000 };
#define DEFINE_RESTORER(name, label)        \
  void name(void) __asm__(label) HIDDEN; \
  __asm__(".pushsection .text\n" label ":\nmov $15, %eax\nsyscall\n.popsection\n")


/* The same for code that unwinders may pass: they recognize a signal frame by these bytes if they
 * find no unwind table for the address before them. */
#define DEFINE_SIGNAL_RESTORER(name)                                                                        \
  HIDDEN void name(void);                                                                                   \
  __asm__(".text\n.balign 16\n\tnop\n.hidden " #name "\n.globl " #name "\n.type " #name ", @function\n" #name \
          ":\n\tmovq $15, %rax\n\tsyscall\n.size " #name ", . - " #name "\n")

/* ---- threads ---- */

/* start_thread starts a thread without the C library. It calls the first of the two words at sp
 * with the second as its argument, on that stack. */
INLINE i64 start_thread(u64 *sp) {
  register i64 r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
  i64 r;
  __asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\t"
                   "xorl %%ebp, %%ebp\n\tpopq %%rax\n\tpopq %%rdi\n\tandq $-16, %%rsp\n\tcall *%%rax\n\thlt\n1:"
                   : "=a"(r)
                   : "a"(56 /* clone */), "D"(0x50f00 /* VM FS FILES SIGHAND THREAD SYSVSEM */), "S"(sp), "d"(0), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return r;
}

/* thread_pointer identifies a thread. */
INLINE u64 thread_pointer(void) {
  u64 tp;
  __asm__("movq %%fs:0, %0" : "=r"(tp));
  return tp;
}

/* ---- pages ---- */

/* All pages have this size. */
enum { MAX_PAGE = 4096 };
#define page_size() MAX_PAGE

/* Size of the space for a runtime that is a file and its variables. */
#define IMAGE_ROOM 0x10000

/* used_room returns how many bytes of such a section are mapped. */
#define used_room(start, stop, used) ((u64)((stop) - (start)))

/* ---- the processor ---- */

#define RELOC_NONE "R_X86_64_NONE"

/* ticks reads the counter of the exact clock. */
INLINE u64 ticks(void) { return __builtin_ia32_rdtsc(); }

/* nonce returns a different number each time. */
INLINE u64 nonce(void) { return ticks(); }

/* muldiv is a * b / c, which fits 64 bits; the compiler would call libgcc. */
INLINE u64 muldiv(u64 a, u64 b, u64 c) {
  u64 high;
  __asm__("mulq %2\n\tdivq %3" : "+a"(a), "=&d"(high) : "r"(b), "r"(c) : "cc");
  return a;
}

/* pause_briefly is for loops that wait for another thread. */
INLINE void pause_briefly(void) { __builtin_ia32_pause(); }

/* Compilers call no functions of a C library here. */
#define COMPILERS_CALLS

/* The machine's part of the runtime of the timed modes. */
#define TIMED_MACHINE "timed_x86_64.h"

/* sys.h for x86-64. */

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

INLINE void copy(void *to, const void *from, u64 n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
INLINE void clear(void *to, u64 n) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

/* ---- files: system calls that newer machines do not have ---- */

INLINE i64 create_file(const char *path, i64 mode) {
  return sys4(SYS_open, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode, 0);
}
INLINE i64 make_dir(const char *path, i64 mode) { return sys2(SYS_mkdir, path, mode); }
INLINE i64 rename_file(const char *from, const char *to) { return sys2(SYS_rename, from, to); }
INLINE i64 link_file(const char *from, const char *to) { return sys2(SYS_link, from, to); }
INLINE i64 remove_file(const char *path) { return sys2(SYS_unlink, path, 0); }
INLINE i64 read_link(const char *path, char *to, u64 room) { return sys4(SYS_readlink, path, to, room, 0); }

/* ---- signals ---- */

/* The kernel has handlers return to what they are installed with. */
enum { SA_RESTORER = 0x04000000 };
#define DEFINE_RESTORER(name, label)        \
  void name(void) __asm__(label) HIDDEN; \
  __asm__(".pushsection .text\n" label ":\nmov $15, %eax\nsyscall\n.popsection\n")

/* ---- pages ---- */

/* All have one size. */
enum { MAX_PAGE = 4096 };
#define page_size() MAX_PAGE

/* An empty piece at the end of a section that rounds its end up to a page, and with its
 * alignment the start: a file can be mapped over exactly it. The label is to be kept. */
#define ROUND_UP(section, label) ".pushsection " section ",\"aw\",@nobits\n.balign 4096\n" label ":\n.popsection\n"

/* used_room returns how much of such a section is to be in a file. */
#define used_room(start, stop, used) ((u64)((stop) - (start)))

/* ---- the processor ---- */

#define RELOC_NONE "R_X86_64_NONE"

/* draw returns a number that is another each time. */
INLINE u64 draw(void) { return __builtin_ia32_rdtsc(); }

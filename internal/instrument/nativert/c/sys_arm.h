/* sys.h for Armv7. Words have 32 bits there; the numbers in files have 64 all the same. */

enum {
  SYS_write = 4, SYS_close = 6, SYS_getpid = 20, SYS_munmap = 91, SYS_sched_yield = 158, SYS_prctl = 172, SYS_rt_sigaction = 174,
  SYS_rt_sigprocmask = 175, SYS_getcwd = 183, SYS_getrlimit = 191 /* of words */, SYS_mmap = 192 /* offsets in pages */,
  SYS_getuid = 199, SYS_getgid = 200, SYS_geteuid = 201, SYS_getegid = 202, SYS_gettid = 224,
  SYS_exit_group = 248, SYS_tgkill = 268, SYS_openat = 322, SYS_mkdirat = 323, SYS_unlinkat = 328, SYS_linkat = 330,
  SYS_readlinkat = 332, SYS_renameat2 = 382
};

/* Register r7 has the number, which in the Thumb state may be the frame's as well. */
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

/* In assembly, as compilers make calls of memcpy and memset of loops. */
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

INLINE sword create_file(const char *path, sword mode) {
  return sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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

/* What the kernel's mmap takes as its offset. */
#define MMAP_OFFSET(offset) ((offset) >> 12)

/* ---- signals ---- */

/* The kernel knows itself where handlers return to. */
enum { SA_RESTORER = 0 };
#define DEFINE_RESTORER(name, label) enum { name = 0 }

/* The address of a fault in what a handler is told, in words of 4 bytes. */
enum { SI_ADDR = 3 };

/* ---- pages ---- */

/* All have one size. */
enum { MAX_PAGE = 4096 };
#define page_size() MAX_PAGE

/* An empty piece at the end of a section that rounds its end up to a page, and with its
 * alignment the start: a file can be mapped over exactly it. The label is to be kept. */
#define ROUND_UP(section, label) ".pushsection " section ",\"aw\",%nobits\n.balign 4096\n" label ":\n.popsection\n"

#define used_room(start, stop, used) ((uword)((stop) - (start)))

/* ---- the processor ---- */

#define RELOC_NONE "R_ARM_NONE"
#define NOTE_TYPE "%note"

/* Registers that hold numbers of the floating-point unit or do not are all the same to this
 * code: it goes with programs of either kind. */
#define ANY_FLOATS __asm__(".eabi_attribute 28, 3\n");

/* Not all processors divide; the compiler would call libgcc. */
#define TENTH(v) ((u32)((u64)(v) * 0xcccccccdu >> 35))
#define LAST_DIGIT(v) ((v) - 10 * TENTH(v))

/* draw returns a number that is another each time: of the clock, which no program may read
 * from the processor, and of an address. */
INLINE u64 draw(void) {
  u32 now[2] = {0, 0};
  sys2(263 /* clock_gettime */, 1, (sword)now);
  return ((u64)now[0] << 30 ^ now[1]) + ((u64)(uword)__builtin_frame_address(0) << 24);
}

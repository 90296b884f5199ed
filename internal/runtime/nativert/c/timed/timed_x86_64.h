/* The runtime of the timed modes: definitions for x86-64. */

#define OWN_CALLS LOG_CALLS_X86_64
#define VDSO_CLOCK "__vdso_clock_gettime"

/* ---- vectors ---- */

/* vectors_to_keep returns which registers foreign code may use: x87, SSE, AVX and AVX-512, as far
 * as the kernel saves them. */
INLINE u64 vectors_to_keep(void) {
  u32 a = 1, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (!(c >> 27 & 1)) return 0;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a & 0xe7;
}

/* All vectors, the x87 stack and their control words: foreign code may use them, and they may hold
 * a return value or an argument. */
INLINE void keep_vectors(u64 which, u8 *area) {
  u32 lo = (u32)which, hi = 0;
  if (lo) __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(lo), "d"(hi) : "memory");
  else __asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
}
INLINE void restore_vectors(u64 which, u8 *area) {
  u32 lo = (u32)which, hi = 0;
  if (lo) __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(lo), "d"(hi) : "memory");
  else __asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
}

/* ---- frames ---- */

/* At a function's entry the stack pointer points to the return address. */
enum { ENTRY_BELOW_CFA = 8, FRAME_IS_ENTRY = 1, STACK_REGISTER = 7, FRAME_REGISTER = 6 };
#define returns_to(entry) (*(u64 *)(entry))
#define plain_address(pc) (pc)
#define LINKS(stat) (stat)[2]

/* The number of bytes of a function that may have the stamping code, the size of a reference in it,
 * and the minimum length of instructions. */
enum { STAMP_REACH = 36, REFERENCE = 4, INSTRUCTION = 1 };

/* A window that is not whole may be at any address. */
#define MASKED_STEP 0

/* refers_to returns the address that an instruction refers to by the displacement in its last
 * bytes. */
INLINE u64 refers_to(const u8 *code, u64 at) { return at + 4 + (u64)(i64) * (const i32 *)code; }

/* ---- the exact clock ---- */

#define EXACT_NEVER NONE /* inline threshold that no call reaches */

/* ticks_between reads the counter after all preceding and before all following instructions. */
INLINE u64 ticks_between(void) {
  u32 lo, hi;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi) : : "memory");
  return lo | (u64)hi << 32;
}

/* is_steady reports whether the counter runs at one rate in all states of the processor, and the
 * kernel has not found differences between processors. */
INLINE int is_steady(void) {
  u32 a = 0x80000000u, b, c, d;
  char name[32] = "";
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
  if (a < 0x80000007u) return 0;
  a = 0x80000007u;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
  if (!(d >> 8 & 1)) return 0;
  i64 fd = open_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 1;
  sys3(SYS_read, fd, name, sizeof name - 1);
  sys1(SYS_close, fd);
  return name[0] != 'h' /* hpet */ && name[0] != 'a' /* acpi_pm */ && name[0] != 'j' /* jiffies */ && name[0] != 'r';
}

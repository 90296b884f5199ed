/* What of the runtime of the timed modes is for x86-64. */

#define VDSO_CLOCK "__vdso_clock_gettime"

/* ---- vectors ---- */

/* vectors_to_keep tells which registers others' code may use: x87, SSE, AVX and
 * AVX-512, as far as the kernel keeps them. */
INLINE u64 vectors_to_keep(void) {
  u32 a = 1, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (!(c >> 27 & 1)) return 0;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a & 0xe7;
}

/* All vectors, the x87 stack and their control words: others' code may use
 * them, and a return value or an argument is in them. */
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

/* The stack pointer at a function's entry is where its return address is. */
enum { ENTRY_BELOW_CFA = 8, FRAME_IS_ENTRY = 1 };
#define returns_to(entry) (*(u64 *)(entry))
#define plain_address(pc) (pc)

/* How many bytes of a function may have code that stamps, how many refer to
 * something, and how long its instructions are at least. */
enum { STAMP_REACH = 36, REFERENCE = 4, INSTRUCTION = 1 };

/* A window that is not whole may be anywhere. */
#define MASKED_STEP 0

/* refers_to returns what an instruction refers to whose last bytes are a displacement. */
INLINE u64 refers_to(const u8 *code, u64 at) { return at + 4 + (u64)(i64) * (const i32 *)code; }

/* ---- the exact clock ---- */

#define EXACT_NEVER NONE /* inline threshold that no call reaches */

/* ticks_between reads the counter behind all that precedes it, and before what follows. */
INLINE u64 ticks_between(void) {
  u32 lo, hi;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi) : : "memory");
  return lo | (u64)hi << 32;
}

/* is_steady reports whether the counter runs at one rate, in all states of the
 * processor, and the kernel has not found that the processors' counters differ. */
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

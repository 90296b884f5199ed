/* Vector registers, which routines that inserted code calls save before they call the system, in VECTORS bytes at a multiple of 64. */

enum { VECTORS = 2816 };

/* find_vectors returns what of the processor's state can be saved in this room by xsave; 0: fxsave has to do. */
static u64 find_vectors(void) {
  enum { OSXSAVE = 1 << 27 };
  u32 a = 1, b, c = 0, d, low, high;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (!(c & OSXSAVE)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low & 0xe7;
}

static void save_vectors(u64 which, u8 *to) {
  u32 low = (u32)which, high = (u32)(which >> 32);
  for (u32 i = 0; i < 8; i++) ((volatile u64 *)(to + 512))[i] = 0;
  if (low) __asm__ volatile("xsave64 (%0)" : : "r"(to), "a"(low), "d"(high) : "memory");
  else __asm__ volatile("fxsave64 (%0)" : : "r"(to) : "memory");
}

static void restore_vectors(u64 which, const u8 *from) {
  u32 low = (u32)which, high = (u32)(which >> 32);
  if (low) __asm__ volatile("xrstor64 (%0)" : : "r"(from), "a"(low), "d"(high) : "memory");
  else __asm__ volatile("fxrstor64 (%0)" : : "r"(from) : "memory");
}

/* The runtime of the timed modes: definitions for AArch64. */

#define OWN_CALLS LOG_CALLS_GENERIC
#define VDSO_CLOCK "__kernel_clock_gettime"

/* ---- vectors ---- */

INLINE u64 vectors_to_keep(void) { return 0; }

/* The 32 registers and their control words: foreign code may use them, and they may hold a return
 * value or an argument. Bits above 128 of wider registers are not saved. */
INLINE void keep_vectors(u64 which, u8 *area) {
  (void)which;
  u64 control, status;
  __asm__ volatile(".arch_extension simd\n"
                   "stp q0, q1, [%2]\n\tstp q2, q3, [%2, 32]\n\tstp q4, q5, [%2, 64]\n\tstp q6, q7, [%2, 96]\n\t"
                   "stp q8, q9, [%2, 128]\n\tstp q10, q11, [%2, 160]\n\tstp q12, q13, [%2, 192]\n\tstp q14, q15, [%2, 224]\n\t"
                   "stp q16, q17, [%2, 256]\n\tstp q18, q19, [%2, 288]\n\tstp q20, q21, [%2, 320]\n\tstp q22, q23, [%2, 352]\n\t"
                   "stp q24, q25, [%2, 384]\n\tstp q26, q27, [%2, 416]\n\tstp q28, q29, [%2, 448]\n\tstp q30, q31, [%2, 480]\n\t"
                   "mrs %0, fpcr\n\tmrs %1, fpsr\n\tadd %2, %2, 512\n\tstp %0, %1, [%2]"
                   : "=&r"(control), "=&r"(status), "+r"(area) : : "memory");
}
INLINE void restore_vectors(u64 which, u8 *area) {
  (void)which;
  u64 control, status, at = (u64)area + 512;
  __asm__ volatile(".arch_extension simd\n"
                   "ldp %0, %1, [%3]\n\tmsr fpcr, %0\n\tmsr fpsr, %1\n\t"
                   "ldp q0, q1, [%2]\n\tldp q2, q3, [%2, 32]\n\tldp q4, q5, [%2, 64]\n\tldp q6, q7, [%2, 96]\n\t"
                   "ldp q8, q9, [%2, 128]\n\tldp q10, q11, [%2, 160]\n\tldp q12, q13, [%2, 192]\n\tldp q14, q15, [%2, 224]\n\t"
                   "ldp q16, q17, [%2, 256]\n\tldp q18, q19, [%2, 288]\n\tldp q20, q21, [%2, 320]\n\tldp q22, q23, [%2, 352]\n\t"
                   "ldp q24, q25, [%2, 384]\n\tldp q26, q27, [%2, 416]\n\tldp q28, q29, [%2, 448]\n\tldp q30, q31, [%2, 480]"
                   : "=&r"(control), "=&r"(status) : "r"(area), "r"(at) : "memory");
}

/* ---- frames ---- */

/* The stack pointer at a function's entry is the CFA. It cannot be found from a frame record. */
enum { ENTRY_BELOW_CFA = 0, FRAME_IS_ENTRY = 0, STACK_REGISTER = 31, FRAME_REGISTER = 29 };

/* plain_address returns a return address without its signature. */
INLINE u64 plain_address(u64 pc) {
  register u64 x30 __asm__("x30") = pc;
  __asm__("hint 7" : "+r"(x30)); /* xpaclri */
  return x30;
}

#define LINKS(stat) ((stat)[2] >> 32)

/* returns_to is the return address of a call whose exit calls the runtime: the stub has pushed it
 * there. */
#define returns_to(entry) plain_address(((u64 *)(entry))[-1])

/* The number of bytes of a function that may have the stamping code, the size of a reference in it,
 * and the length of instructions. */
enum { STAMP_REACH = 36, REFERENCE = 8, INSTRUCTION = 4 };

/* A window that is not whole begins at a multiple of this: see timed_masked_aarch64.c. */
#define MASKED_STEP (1ul << 32)
#define LOAD_BASE 0xd2c00010u /* movz x16, 0, lsl 32 */

/* refers_to returns the address that two instructions load, if they are adrp and ldr, or the
 * address of the window if the first contains it. */
INLINE u64 refers_to(const u8 *code, u64 at) {
  u32 adrp = ((const u32 *)code)[0], ldr = ((const u32 *)code)[1];
  if ((adrp & 0xffe0001fu) == LOAD_BASE) return (u64)(adrp >> 5 & 0xffff) << 32;
  if ((adrp & 0x9f000000u) != 0x90000000u || (ldr & 0xffc00000u) != 0xf9400000u || (ldr >> 5 & 31) != (adrp & 31)) return 0;
  u64 pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
  return (at & ~4095ul) + (u64)((i64)(pages << 43) >> 31) + (ldr >> 10 & 0xfff) * 8;
}

/* ---- the exact clock ---- */

/* An inline threshold that no call reaches. Inserted code adds it to a stamp. */
#define EXACT_NEVER (1ul << 62)

/* ticks_between reads the counter after all preceding and before all following instructions. */
INLINE u64 ticks_between(void) {
  u64 now;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
  return now;
}

/* All processors share one counter, which runs at one rate. */
INLINE int is_steady(void) { return 1; }

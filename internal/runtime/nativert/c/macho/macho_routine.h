/* What inserted code calls: routines that keep all registers but one, for the argument and the result (r11, x17), and the flags.
 * A routine gets room for vector registers and the stack pointer before the call. */

#if __aarch64__
/* begin_system and end_system are around what calls the system. */
static u64 begin_system(u8 *vectors) { return (u64)(u32)*__error(); }
static void end_system(u64 was, const u8 *vectors) { *__error() = (int)was; }

#define PAIRS(op) \
  op " x0, x1, [sp]\n" op " x2, x3, [sp, 16]\n" op " x4, x5, [sp, 32]\n" op " x6, x7, [sp, 48]\n" op " x8, x9, [sp, 64]\n" \
  op " x10, x11, [sp, 80]\n" op " x12, x13, [sp, 96]\n" op " x14, x15, [sp, 112]\n" op " q0, q1, [sp, 128]\n" op " q2, q3, [sp, 160]\n" \
  op " q4, q5, [sp, 192]\n" op " q6, q7, [sp, 224]\n" op " q8, q9, [sp, 256]\n" op " q10, q11, [sp, 288]\n" op " q12, q13, [sp, 320]\n" \
  op " q14, q15, [sp, 352]\n" op " q16, q17, [sp, 384]\n" op " q18, q19, [sp, 416]\n" op " q20, q21, [sp, 448]\n" op " q22, q23, [sp, 480]\n" \
  op " q24, q25, [sp, 512]\n" op " q26, q27, [sp, 544]\n" op " q28, q29, [sp, 576]\n" op " q30, q31, [sp, 608]\n"
#define ROUTINE(name)                                                                                                          \
  __attribute__((used)) HIDDEN u64 do_##name(u64 r, u8 *vectors, u64 sp) __asm__("__cairn_do_" #name);                         \
  u64 do_##name(u64 r, u8 *vectors, u64 sp) { return of_##name(r, vectors, sp); }                                              \
  __asm__(".text\n.arch_extension fp\n.p2align 2\n.private_extern __cairn_" #name "\n.globl __cairn_" #name "\n__cairn_" #name ":\n" \
          "stp x29, x30, [sp, -16]!\nmov x29, sp\nsub sp, sp, 640\n" PAIRS("stp")                                               \
          "mov x0, x17\nmov x1, sp\nadd x2, x29, 32\nbl __cairn_do_" #name "\nmov x17, x0\n" PAIRS("ldp")                      \
          "mov sp, x29\nldp x29, x30, [sp], 16\nret\n");
#else
#include "vectors_x86_64.h"

static u64 which_vectors;

static u64 begin_system(u8 *vectors) {
  if (!which_vectors) which_vectors = find_vectors() | 1ul << 63;
  save_vectors(which_vectors & ~(1ul << 63), vectors);
  return (u64)(u32)*__error();
}

static void end_system(u64 was, const u8 *vectors) {
  *__error() = (int)was;
  restore_vectors(which_vectors & ~(1ul << 63), vectors);
}

#define ROUTINE(name)                                                                                                         \
  __attribute__((used)) HIDDEN u64 do_##name(u64 r, u8 *vectors, u64 sp) __asm__("__cairn_do_" #name);                        \
  u64 do_##name(u64 r, u8 *vectors, u64 sp) { return of_##name(r, vectors, sp); }                                             \
  __asm__(".text\n.p2align 4\n.private_extern __cairn_" #name "\n.globl __cairn_" #name "\n__cairn_" #name ":\n"               \
          "pushq %rbp\nmovq %rsp, %rbp\npushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\n"   \
          "pushq %r10\nandq $-64, %rsp\nsubq $2816, %rsp\ncld\nmovq %r11, %rdi\nmovq %rsp, %rsi\nleaq 16(%rbp), %rdx\n"        \
          "call __cairn_do_" #name "\nmovq %rax, %r11\nleaq -64(%rbp), %rsp\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\n"      \
          "popq %rsi\npopq %rdx\npopq %rcx\npopq %rax\npopq %rbp\nret\n");
_Static_assert(VECTORS == 2816, "as above");
#endif

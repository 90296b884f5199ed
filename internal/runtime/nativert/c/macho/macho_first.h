/* The first call of a function, for Mach-O. The assembly here saves all registers that C may
 * change, as a caller may rely on any, and calls C, which is compiled without vector registers.
 *
 * The names lack the leading underscore of C, as in package native. */

#include "first_record.h"

#if __x86_64__

#define ENTRY(kind, body)                                                                           \
  __attribute__((used)) static void __cairn_call_##kind(const u8 *jmp, u64 from) { body; }                  \
  __asm__(".text\n.globl __cairn_first_" #kind "\n.private_extern __cairn_first_" #kind "\n"        \
          "__cairn_first_" #kind ":\n"                                                              \
          "pushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\n"                            \
          "pushq %r8\npushq %r9\npushq %r10\npushq %r11\npushq %rbp\n"                              \
          "movq 80(%rsp), %rdi\nmovq 88(%rsp), %rsi\nmovq %rsp, %rbp\nandq $-16, %rsp\n"            \
          "callq ___cairn_call_" #kind "\nmovq %rbp, %rsp\npopq %rbp\n"                                     \
          "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\n"                                   \
          "popq %rsi\npopq %rdx\npopq %rcx\npopq %rax\nretq\n");

ENTRY(count, (void)from; first_count(record_of(jmp, JC), 0, 0))
ENTRY(full, first_count(record_of(jmp, JC), 1, from))
ENTRY(order, (void)from; first_order(record_of(jmp, JE)))

#else

/* count_it counts the call that found a count of zero; with --atomic the probe has counted it. */
static void count_it(u8 *record) { __atomic_sub_fetch((u32 *)record, 1, __ATOMIC_RELAXED); }

#define ENTRY(kind, body)                                                                           \
  __attribute__((used)) static void __cairn_call_##kind(u8 *record, u64 from) { body; }                     \
  __asm__(".text\n.p2align 2\n.globl __cairn_first_" #kind "\n.private_extern __cairn_first_" #kind "\n" \
          "__cairn_first_" #kind ":\n"                                                              \
          "stp x29, x30, [sp, #-160]!\nmov x29, sp\n"                                               \
          "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n" \
          "stp x8, x9, [sp, #80]\nstp x10, x11, [sp, #96]\nstp x12, x13, [sp, #112]\nstp x14, x15, [sp, #128]\n" \
          "ldp x0, x1, [sp, #160]\n"                                                                \
          "bl ___cairn_call_" #kind "\n"                                                                    \
          "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n" \
          "ldp x8, x9, [sp, #80]\nldp x10, x11, [sp, #96]\nldp x12, x13, [sp, #112]\nldp x14, x15, [sp, #128]\n" \
          "ldp x29, x30, [sp], #160\nret\n");

ENTRY(count, (void)from; count_it(record); first_count(record, 0, 0))
ENTRY(full, count_it(record); first_count(record, 1, from))
ENTRY(count_atomic, (void)from; first_count(record, 0, 0))
ENTRY(full_atomic, first_count(record, 1, from))
ENTRY(order, (void)from; first_order(record))

#endif

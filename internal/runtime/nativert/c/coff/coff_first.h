/* The first call of a function, for Windows. The assembly here saves all registers that C may change there, as a caller
 * may rely on any, and calls C, which is compiled without vector registers. The stub of the function that called has no
 * entry in the unwind table, and a return address at rsp, as such functions must. */

#include "first_record.h"

#define ENTRY(kind, body)                                                                                       \
  __attribute__((used)) void __cairn_call_##kind(const u8 *jmp, u64 from) { body; }                             \
  __asm__(".text\n.globl __cairn_first_" #kind "\n.def __cairn_first_" #kind "; .scl 2; .type 32; .endef\n"     \
          ".seh_proc __cairn_first_" #kind "\n__cairn_first_" #kind ":\n"                                       \
          "pushq %rbp\n.seh_pushreg %rbp\npushq %rax\n.seh_pushreg %rax\npushq %rcx\n.seh_pushreg %rcx\n"       \
          "pushq %rdx\n.seh_pushreg %rdx\npushq %r8\n.seh_pushreg %r8\npushq %r9\n.seh_pushreg %r9\n"           \
          "pushq %r10\n.seh_pushreg %r10\npushq %r11\n.seh_pushreg %r11\n"                                      \
          "movq %rsp, %rbp\n.seh_setframe %rbp, 0\n.seh_endprologue\n"                                          \
          "movq 64(%rsp), %rcx\nmovq 72(%rsp), %rdx\nandq $-16, %rsp\nsubq $32, %rsp\n"                         \
          "call __cairn_call_" #kind "\nmovq %rbp, %rsp\npopq %r11\npopq %r10\npopq %r9\npopq %r8\n"            \
          "popq %rdx\npopq %rcx\npopq %rax\npopq %rbp\nret\n.seh_endproc\n");

ENTRY(count, (void)from; first_count(record_of(jmp, JC), 0, 0))
ENTRY(full, first_count(record_of(jmp, JC), 1, from))
ENTRY(order, (void)from; first_order(record_of(jmp, JE)))

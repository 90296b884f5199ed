/* What instrumented functions look like, by hand, and readings of the clock
 * that the runtime is held against. TIMED(f) makes f, which calls BODY(f). */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef INSTRUMENTED /* by cairn cc: nothing is to be made by hand */
#define BODY(f) __attribute__((noinline)) f
#define TIMED(f) struct f##_is_timed
#else
#define BODY(f) f##_body
#ifdef EXACT /* the exact clock */
#define TIMED(f)                                                               \
  __asm__(".text\n.globl " #f "\n.type " #f ", @function\n" #f ":\n"           \
          ".cfi_startproc\n"                                                   \
          "movq __cairn_base(%rip), %r10\nmovl %esp, %r11d\n"                  \
          "addq %r10, %r11\nmovq %rdx, %r10\nrdtsc\nshlq $32, %rdx\n"          \
          "orq %rdx, %rax\nmovq %r10, %rdx\nmovq %rax, (%r11)\n"               \
          "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                          \
          "call " #f "_body\n"                                                 \
          "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"                         \
          "movq %rax, -16(%rsp)\nmovq %rdx, -40(%rsp)\n"                       \
          "movq __cairn_base(%rip), %r10\nmovl %esp, %r11d\n"                  \
          "rdtsc\nshlq $32, %rdx\norq %rdx, %rax\nsubq (%r10,%r11), %rax\n"    \
          "cmpq -40(%r10), %rax\nmovq -40(%rsp), %rdx\nmovq -16(%rsp), %rax\n" \
          "ja 9f\n8: ret\n9: call __cairn_slow\njmp 8b\n"                      \
          ".cfi_endproc\n.size " #f ", . - " #f "\n")
#else
#define TIMED(f)                                                               \
  __asm__(".text\n.globl " #f "\n.type " #f ", @function\n" #f ":\n"           \
          ".cfi_startproc\n"                                                   \
          "movq __cairn_base(%rip), %r10\nmovl %esp, %r11d\n"                  \
          "movl -64(%r10), %eax\nmovl %eax, (%r10,%r11)\n"                     \
          "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                          \
          "call " #f "_body\n"                                                 \
          "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"                         \
          "movq __cairn_base(%rip), %rcx\nmovl %esp, %r11d\n"                  \
          "movl (%rcx,%r11), %r11d\nsubl -64(%rcx), %r11d\n"                   \
          "addl -60(%rcx), %r11d\njs 9f\n8: ret\n9: call __cairn_slow\njmp 8b\n" \
          ".cfi_endproc\n.size " #f ", . - " #f "\n")
#endif
#endif

static inline __attribute__((always_inline)) uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

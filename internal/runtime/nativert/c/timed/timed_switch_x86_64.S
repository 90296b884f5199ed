/* __cairn_suspends and __cairn_resumes: in front of a call that continues on another stack, and behind
 * it; and __cairn_leaves and __cairn_comes, in front of setcontext, behind suspends, and behind getcontext. The first stores the clock in the slot of the stack pointer; calls are stamped 8 bytes from there.
 * It may change %rax, %r10 and %r11. The second preserves all that calls return. */

#include "registers_x86_64.h"

/* SLOT sets %r10 to the window, %r11 to the slot's place in it, and the flags by whether the clock is the
 * exact one. */
        .macro  SLOT
        movq    __cairn_arrival_base(%rip), %r10
        leal    8(%rsp), %r11d
        andl    __cairn_arrival_mask(%rip), %r11d
        cmpl    $0, __cairn_arrival_exact(%rip)
        .endm

        .text
        .globl  __cairn_suspends, __cairn_resumes
        .hidden __cairn_suspends, __cairn_resumes, __cairn_resumed, __cairn_arrival_exact, __cairn_arrival_mask, __cairn_arrival_base
        .type   __cairn_suspends, @function
__cairn_suspends:
        .cfi_startproc
        endbr64
        SLOT
        jne     1f
        movl    -64(%r10), %eax
        movl    %eax, (%r10,%r11)
        ret
1:      pushq   %rdx
        .cfi_adjust_cfa_offset 8
        rdtsc
        shlq    $32, %rdx
        orq     %rdx, %rax
        movq    %rax, (%r10,%r11)
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   __cairn_suspends, . - __cairn_suspends

        .type   __cairn_resumes, @function
__cairn_resumes:
        .cfi_startproc
        endbr64
        SLOT
        jne     1f
        movl    -64(%r10), %ecx
        cmpl    (%r10,%r11), %ecx
        jne     1f
        ret
1:      SAVE_REGISTERS
        subq    $16, %rsp
        andq    $-16, %rsp
        cld
        leaq    16(%rbp), %rdi          /* stack pointer */
        call    __cairn_resumed
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_resumes, . - __cairn_resumes

        FORWARD __cairn_leaves, __cairn_stack_left
        FORWARD __cairn_comes, __cairn_stack_goes_on

        PROPERTIES

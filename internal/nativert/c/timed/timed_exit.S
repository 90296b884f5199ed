/* __cairn_slow: an exit of an instrumented function found that the call took
 * long by the coarse clock. The function's cold stub calls it:
 *
 *   f:     ...
 *          js   stub
 *   back:  ret                      or a tail jump
 *   stub:  call __cairn_slow
 *          jmp  back
 *
 *   8(%rsp)  return address of f: the frame's stack pointer at entry
 *   0(%rsp)  return address into the stub, which names f
 *
 * Return values and, at tail jumps, arguments are live: every general register
 * is kept. The code behind it is compiled without vector registers; where it
 * calls others' code, the unwinder, it saves them itself. The flags are free.
 * %rsp may be aligned in any way. The unwinder walks through this frame, so its
 * CFI must be right at the call. */

        .text
        .globl  __cairn_slow
        .hidden __cairn_slow, __cairn_slow_exit
        .type   __cairn_slow, @function
__cairn_slow:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        andq    $-16, %rsp
        movq    8(%rbp), %rdi           /* site */
        leaq    16(%rbp), %rsi          /* stack pointer at entry */
        movq    (%rbp), %rdx            /* frame pointer of the caller, if it has one */
        call    __cairn_slow_exit
        movq    -8(%rbp), %rax
        movq    -16(%rbp), %rcx
        movq    -24(%rbp), %rdx
        movq    -32(%rbp), %rsi
        movq    -40(%rbp), %rdi
        movq    -48(%rbp), %r8
        movq    -56(%rbp), %r9
        movq    -64(%rbp), %r10
        movq    -72(%rbp), %r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   __cairn_slow, . - __cairn_slow

/* Shadow stacks and indirect branch tracking are fine with this code. */
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0
        .section .note.GNU-stack, "", @progbits

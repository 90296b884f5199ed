/* registers.h - for the routines that inserted code comes to: it has values in
 * every register. */

/* SAVE_REGISTERS begins a frame and keeps what calls may change, but for %r11:
 * most have their own use for that. The stack is not aligned yet. */
        .macro  SAVE_REGISTERS
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
        .endm

/* RETURN_REGISTERS brings them back and returns. */
        .macro  RETURN_REGISTERS
        movq    -8(%rbp), %rax
        movq    -16(%rbp), %rcx
        movq    -24(%rbp), %rdx
        movq    -32(%rbp), %rsi
        movq    -40(%rbp), %rdi
        movq    -48(%rbp), %r8
        movq    -56(%rbp), %r9
        movq    -64(%rbp), %r10
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .endm

/* Shadow stacks and indirect branch tracking are fine with this code. */
        .macro  PROPERTIES
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0
        .section .note.GNU-stack, "", @progbits
        .endm

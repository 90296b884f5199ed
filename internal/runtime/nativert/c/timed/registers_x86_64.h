/* registers_x86_64.h - for the routines that inserted code calls, when all registers are in use. */

#include "machine.h"

/* SAVE_REGISTERS creates a frame and saves the registers that calls may change, except %r11, which
 * routines use in different ways. It does not align the stack. */
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

/* RETURN_REGISTERS restores them and returns. */
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

/* FORWARD defines a routine that calls another with the stack pointer, and preserves all registers. */
        .macro  FORWARD name, to
        .globl  \name
        .hidden \name, \to
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        SAVE_REGISTERS
        subq    $16, %rsp
        andq    $-16, %rsp
        cld
        leaq    16(%rbp), %rdi          /* stack pointer */
        call    \to
        RETURN_REGISTERS
        .cfi_endproc
        .size   \name, . - \name
        .endm

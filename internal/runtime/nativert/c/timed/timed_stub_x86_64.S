/* Routines for code that was made for the whole window, in a process with a smaller one
 * (timed_masked_x86_64.c). In place of
 *
 *      movq    __cairn_base(%rip), REG
 *      movl    %esp, %r11d
 *
 * the code calls the routine of REG. %r11d becomes the stack pointer before the call, masked. The
 * flags change, which inserted code does not use there. */

#include "registers_x86_64.h"

        .hidden __cairn_base, __cairn_mask

        .macro  ROUTINE name, register
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        movq    __cairn_base(%rip), \register
        leal    8(%rsp), %r11d
        andl    __cairn_mask(%rip), %r11d
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .text
        ROUTINE __cairn_masked_rax, %rax
        ROUTINE __cairn_masked_rcx, %rcx
        ROUTINE __cairn_masked_r10, %r10

        PROPERTIES

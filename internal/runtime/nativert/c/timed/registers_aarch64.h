/* registers_aarch64.h - for the routines that inserted code calls, when all registers but x16 and
 * x17 are in use. A stub calls them. It may be at a place where x30 holds the return address of its
 * function; nothing below the stack pointer is preserved:
 *
 *   stub:  stp   x16, x30, [sp, -16]!
 *          .cfi_adjust_cfa_offset 16; .cfi_offset 30, -8 (at an entry or an exit)
 *          bl    ROUTINE
 *          ldp   x16, x30, [sp], 16
 *          .cfi_adjust_cfa_offset -16; .cfi_restore 30
 *
 * x17 is an argument or a result where a routine documents that, and free otherwise. */

#include "machine.h"

#define STUB 16   /* bytes that a stub pushes */
#define FRAME 160 /* bytes of SAVE_REGISTERS */

/* SAVE_REGISTERS creates a frame and saves the registers that calls may change. */
        .macro  SAVE_REGISTERS
        hint    34                      // bti c
        stp     x29, x30, [sp, -FRAME]!
        .cfi_def_cfa_offset FRAME
        .cfi_offset 29, -FRAME
        .cfi_offset 30, 8 - FRAME
        mov     x29, sp
        .cfi_def_cfa_register 29
        stp     x0, x1, [sp, 16]
        stp     x2, x3, [sp, 32]
        stp     x4, x5, [sp, 48]
        stp     x6, x7, [sp, 64]
        stp     x8, x9, [sp, 80]
        stp     x10, x11, [sp, 96]
        stp     x12, x13, [sp, 112]
        stp     x14, x15, [sp, 128]
        str     x18, [sp, 144]          // compilers may use it on systems that do not reserve it
        .endm

/* RETURN_REGISTERS restores them and returns. */
        .macro  RETURN_REGISTERS
        ldp     x0, x1, [sp, 16]
        ldp     x2, x3, [sp, 32]
        ldp     x4, x5, [sp, 48]
        ldp     x6, x7, [sp, 64]
        ldp     x8, x9, [sp, 80]
        ldp     x10, x11, [sp, 96]
        ldp     x12, x13, [sp, 112]
        ldp     x14, x15, [sp, 128]
        ldr     x18, [sp, 144]
        ldp     x29, x30, [sp], FRAME
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        ret
        .endm

/* THREAD_LOCAL sets a register to the address of what the thread has. */
        .hidden __cairn_local
        .macro  THREAD_LOCAL register, scratch
        adrp    \register, __cairn_local
        ldr     \register, [\register, :lo12:__cairn_local]
        mrs     \scratch, tpidr_el0
        add     \register, \register, \scratch
        .endm

/* FORWARD defines a routine that calls another with the stack pointer, and preserves all registers. */
        .macro  FORWARD name, to
        .globl  \name
        .hidden \name, \to
        .type   \name, %function
\name:
        .cfi_startproc
        hint    34                      // bti c
        SAVE_REGISTERS
        add     x0, sp, FRAME + STUB + 8
        bl      \to
        RETURN_REGISTERS
        .cfi_endproc
        .size   \name, . - \name
        .endm

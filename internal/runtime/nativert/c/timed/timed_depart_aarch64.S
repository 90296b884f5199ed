/* __cairn_departs: a thread is about to end inside its calls. A stub in front of a call of
 * pthread_exit calls it, see registers_aarch64.h. */

#include "registers_aarch64.h"

        .text
        .balign 4
        .globl  __cairn_departs
        .hidden __cairn_departs, __cairn_depart
        .type   __cairn_departs, %function
__cairn_departs:
        .cfi_startproc
        SAVE_REGISTERS
        str     x17, [sp, 152]
        mov     x0, x30                 // site
        add     x1, sp, FRAME           // stack pointer there
        ldr     x2, [sp]                // frame pointer of the caller, if it has one
        bl      __cairn_depart
        ldr     x17, [sp, 152]
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_departs, . - __cairn_departs

/* __cairn_cancels: another thread is about to be cancelled, in front of a call of pthread_cancel. */
        .globl  __cairn_cancels
        .hidden __cairn_cancels, __cairn_cancel
        .type   __cairn_cancels, %function
__cairn_cancels:
        .cfi_startproc
        SAVE_REGISTERS
        str     x17, [sp, 152]
        bl      __cairn_cancel
        ldr     x17, [sp, 152]
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_cancels, . - __cairn_cancels

        PROPERTIES

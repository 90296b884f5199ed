/* __cairn_suspends and __cairn_resumes: in front of a call that continues on another stack, and behind
 * it; see timed_switch_x86_64.S. A stub calls them, see registers_aarch64.h. The slot is 8 bytes above
 * the stack pointer, since calls are stamped at it. */

#include "registers_aarch64.h"

        .hidden __cairn_suspends, __cairn_resumes, __cairn_resumed, __cairn_arrival_exact, __cairn_arrival_mask, __cairn_arrival_base

/* SLOT sets x16 to the window, x17 to the slot's place in it, with PUSHED bytes on the stack, and
 * the flags by whether the clock is the exact one. It changes x15. */
        .macro  SLOT pushed
        adrp    x16, __cairn_arrival_mask
        ldr     w16, [x16, :lo12:__cairn_arrival_mask]
        add     x17, sp, STUB + \pushed + 8
        and     w17, w17, w16
        adrp    x16, __cairn_arrival_exact
        ldr     w15, [x16, :lo12:__cairn_arrival_exact]
        adrp    x16, __cairn_arrival_base
        ldr     x16, [x16, :lo12:__cairn_arrival_base]
        .endm

        .text
        .balign 4
        .globl  __cairn_suspends, __cairn_resumes
        .type   __cairn_suspends, %function
__cairn_suspends:
        .cfi_startproc
        hint    34                      // bti c
        stp     x14, x15, [sp, -16]!
        .cfi_adjust_cfa_offset 16
        SLOT    16
        cbnz    w15, 1f
        ldur    w14, [x16, -64]
        str     w14, [x16, x17]
        ldp     x14, x15, [sp], 16
        .cfi_adjust_cfa_offset -16
        ret
1:      .cfi_adjust_cfa_offset 16
        isb
        mrs     x14, cntvct_el0
        str     x14, [x16, x17]
        ldp     x14, x15, [sp], 16
        .cfi_adjust_cfa_offset -16
        ret
        .cfi_endproc
        .size   __cairn_suspends, . - __cairn_suspends

        .type   __cairn_resumes, %function
__cairn_resumes:
        .cfi_startproc
        hint    34                      // bti c
        stp     x14, x15, [sp, -16]!
        .cfi_adjust_cfa_offset 16
        SLOT    16
        cbnz    w15, 1f
        ldur    w14, [x16, -64]
        ldr     w15, [x16, x17]
        cmp     w14, w15
        b.ne    1f
        ldp     x14, x15, [sp], 16
        .cfi_adjust_cfa_offset -16
        ret
1:      .cfi_adjust_cfa_offset 16
        ldp     x14, x15, [sp], 16
        .cfi_adjust_cfa_offset -16
        SAVE_REGISTERS
        add     x0, sp, FRAME + STUB + 8
        bl      __cairn_resumed
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_resumes, . - __cairn_resumes

        FORWARD __cairn_leaves, __cairn_stack_left
        FORWARD __cairn_comes, __cairn_stack_goes_on

        PROPERTIES

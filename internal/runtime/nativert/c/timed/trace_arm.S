/* The events of mode trace on Armv7. An event takes much code there, so inserted code calls a routine:
 *
 *          push  {r0, lr}
 *          adr   r0, F + KIND              or movw, movt and add, where that is out of reach
 *          bl    __cairn_trace_event
 *          pop   {r0, lr}
 *
 * Beside a call that continues on another stack r0 is the kind alone, and the routine
 * __cairn_trace_stack, whose event has the stack pointer divided by 16, or __cairn_trace_left, whose
 * event has 0.
 *
 * Functions are aligned to four bytes, so the last two bits are free for the kind. What else the routines preserve is in
 * registers_arm.h. */

#define STATE __cairn_local
#include "registers_arm.h"

#define KEPT 16 /* bytes that a routine pushes */

/* EVENT defines a routine up to the place of an event: r1 is the position after it. */
        .macro  EVENT name
        BEGIN   \name
        push    {r1, r2, r3, ip}
        .cfi_def_cfa_offset KEPT
        address r2, __cairn_local
        ldr     r2, [r2]
        cbz     r2, 9f
        mrc     p15, 0, r1, c13, c0, 3
        add     r2, r1
        ldr     r1, [r2]
        adds    r1, #8
        lsls    r3, r1, #16
        bne     1f
        push    {r0, lr}
        .cfi_adjust_cfa_offset 8
        .cfi_offset lr, -KEPT - 4
        bl      full
        pop     {r0, lr}
        .cfi_adjust_cfa_offset -8
        .cfi_restore lr
1:      str     r1, [r2]
        .endm

/* STORE stores the event, whose first word is r3, and returns. */
        .macro  STORE name
        str     r3, [r1, #-8]
        str     r0, [r1, #-4]
9:      pop     {r1, r2, r3, ip}
        .cfi_def_cfa_offset 0
        bx      lr
        END     \name
        .endm

        .hidden __cairn_tracer, __cairn_trace_next

        EVENT   __cairn_trace_event
        address r3, __cairn_tracer
        ldr     r3, [r3]
        ldr     r3, [r3]                @ the clock
        STORE   __cairn_trace_event

        EVENT   __cairn_trace_stack
        add     r3, sp, #KEPT + STUB
        lsrs    r3, r3, #4
        STORE   __cairn_trace_stack

        EVENT   __cairn_trace_left
        movs    r3, #0
        STORE   __cairn_trace_left

/* full begins another chunk: r1 is the position after the full one, and is set to that after the next
 * event. It preserves r2. The stack of a leaf function may be aligned to four bytes only. */
        .balign 4
        .type   full, %function
        .thumb_func
full:
        .cfi_startproc
        mov     r3, sp
        .cfi_def_cfa 3, 0
        push    {r2, r3, r4, lr}
        .cfi_offset lr, -4
        .cfi_offset r4, -8
        .cfi_offset r3, -12
        mov     r4, sp
        .cfi_def_cfa 4, 16
        bic     ip, r4, #7
        mov     sp, ip
        sub     r0, r1, #0x10000        @ start of the full chunk; 0 if the thread has none yet
        bl      __cairn_trace_next
        mov     r1, r0
        mov     sp, r4
        pop     {r2, r3, r4, pc}
        .cfi_endproc
        .size   full, . - full

        PROPERTIES

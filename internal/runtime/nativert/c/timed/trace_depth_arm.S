/* The depth of a thread's calls on Armv7, for mode trace with --depth: see trace_depth_aarch64.S. The comparison is in the routines, as
 * all that inserted code does on this machine:
 *
 *          push  {r0, lr}
 *          mov   r0, #DISTANCE             to the stack pointer at the entry
 *          bl    __cairn_trace_deeper      at an entry; __cairn_trace_upper at an exit or an arrival
 *          cmp   r0, #0                    0: the call is too deep
 *          beq   1f
 *          adr   r0, F + KIND
 *          bl    __cairn_trace_event
 *   1:     pop   {r0, lr}
 */

#define STATE __cairn_local
#include "registers_arm.h"

/* As in trace.h. */
#define DEEPEST 8
#define COUNT 16
#define CALLS 24

/* SHALLOWER removes ended calls from the list; r2 is the thread's state, r3 the number of remaining calls, r5 the stack pointer at the
 * entry, r0 1. A call that is too deep goes to 9 with 0. */
        .macro  SHALLOWER
        SAVE    9f
        add     r5, sp, #SAVED + STUB
        add     r5, r5, r0
        mrc     p15, 0, r2, c13, c0, 3
        add     r2, r1
        movs    r0, #0
        ldr     r3, [r2, #DEEPEST]
        cmp     r5, r3
        blo     9f
        movs    r0, #1
        ldr     r3, [r2, #COUNT]
1:      cbz     r3, 2f
        add     ip, r2, r3, lsl #3
        ldr     ip, [ip, #CALLS - 8]
        cmp     ip, r5
        bhi     2f
        subs    r3, #1
        b       1b
2:
        .endm

        BEGIN   __cairn_trace_deeper
        SHALLOWER
        add     ip, r2, r3, lsl #3
        str     r5, [ip, #CALLS]
        movs    r1, #0
        str     r1, [ip, #CALLS + 4]
        adds    r3, #1
        str     r3, [r2, #COUNT]
        cmp     r3, #CAIRN_TRACE_DEPTH
        it      lo
        movlo   r5, #0
        str     r5, [r2, #DEEPEST]
9:      RETURN
        END     __cairn_trace_deeper

        BEGIN   __cairn_trace_upper
        SHALLOWER
        str     r3, [r2, #COUNT]
        movs    r1, #0
        str     r1, [r2, #DEEPEST]
9:      RETURN
        END     __cairn_trace_upper

/* __cairn_depth_leaves and __cairn_depth_returns: in front of a call that continues on another stack, and behind it, see
 * trace_depth.c. */
        .macro  STACK name, to
        .hidden \to
        BEGIN   \name
        SAVE    9f
        add     r0, sp, #SAVED + STUB   @ of 64 bits
        movs    r1, #0
        C_CALL  \to, r4
9:      RETURN
        END     \name
        .endm

        STACK   __cairn_depth_leaves, __cairn_depth_left
        STACK   __cairn_depth_returns, __cairn_depth_returned

        PROPERTIES

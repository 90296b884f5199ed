/* The depth of a thread's calls, for mode trace with --depth.
 *
 * A thread has a list of the stack pointers at the entries of its recorded open calls. When the
 * list has reached the depth, inserted code compares its stack pointer with the last one: calls
 * below it are not recorded. Calls that an exception or a longjmp left are recognized by their
 * stack pointers, which are not above that of the next call.
 *
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          ldr   x16, [x16, 8]
 *          mov   x17, sp
 *          cmp   x17, x16
 *          b.hs  near
 *   back:  ...
 *   near:  mov   x17, sp
 *          stp   x16, x30, [sp, -16]!
 *          bl    __cairn_trace_deeper      at an entry; __cairn_trace_upper at an exit
 *          ldp   x16, x30, [sp], 16
 *          the event, as trace_aarch64.S has it
 *          b     back
 *
 * __cairn_trace_deeper: a call is entered, and recorded. __cairn_trace_upper: a call that was
 * recorded ends.
 *
 * x17 is the stack pointer at the call's entry. They change x16, x17 and the flags. */

#include "registers_aarch64.h"

/* As in trace.h: offsets of the stack pointer of the last call, of the number of calls, and of the
 * list. */
#define DEEPEST 8
#define COUNT 16
#define CALLS 24

/* SHALLOWER removes ended calls from the list; x16 is the thread's state, w0 the number of
 * remaining calls, x2 the place of the next one. */
        .macro  SHALLOWER
        hint    34
        stp     x0, x1, [sp, -32]!
        .cfi_adjust_cfa_offset 32
        str     x2, [sp, 16]
        THREAD_LOCAL x16, x0
        ldr     w0, [x16, COUNT]
        add     x2, x16, CALLS
        add     x2, x2, x0, lsl 3
1:      cbz     w0, 2f
        ldr     x1, [x2, -8]
        cmp     x1, x17
        b.hi    2f
        sub     w0, w0, 1
        sub     x2, x2, 8
        b       1b
2:
        .endm

        .macro  DONE
        ldr     x2, [sp, 16]
        ldp     x0, x1, [sp], 32
        .cfi_adjust_cfa_offset -32
        ret
        .endm

        .text
        .balign 4
        .globl  __cairn_trace_deeper
        .hidden __cairn_trace_deeper
        .type   __cairn_trace_deeper, %function
__cairn_trace_deeper:
        .cfi_startproc
        SHALLOWER
        str     x17, [x2]
        add     w0, w0, 1
        str     w0, [x16, COUNT]
        cmp     w0, CAIRN_TRACE_DEPTH
        csel    x17, x17, xzr, hs
        str     x17, [x16, DEEPEST]
        DONE
        .cfi_endproc
        .size   __cairn_trace_deeper, . - __cairn_trace_deeper

        .globl  __cairn_trace_upper
        .hidden __cairn_trace_upper
        .type   __cairn_trace_upper, %function
__cairn_trace_upper:
        .cfi_startproc
        SHALLOWER
        str     w0, [x16, COUNT]
        str     xzr, [x16, DEEPEST]
        DONE
        .cfi_endproc
        .size   __cairn_trace_upper, . - __cairn_trace_upper

/* __cairn_depth_leaves and __cairn_depth_returns: in front of a call that continues on another stack, and behind it, see
 * trace_depth.c. They preserve all registers. */
        FORWARD __cairn_depth_leaves, __cairn_depth_left
        FORWARD __cairn_depth_returns, __cairn_depth_returned

        PROPERTIES

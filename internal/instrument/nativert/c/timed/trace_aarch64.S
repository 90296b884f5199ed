/* What inserted code of mode trace refers to: the thread's position, the process's state, and
 * __cairn_trace_full, which it calls if the chunk is full. x16, x17 and the flags are free at
 * entries and exits.
 *
 *          adrp  x16, :gottprel:__cairn_trace_at
 *          ldr   x16, [x16, :gottprel_lo12:__cairn_trace_at]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          ldr   x17, [x16]
 *          add   x17, x17, 8
 *          tst   x17, 0xffff
 *          b.eq  full
 *   back:  str   x17, [x16]                the event is at -8(x17)
 *          adrp  x16, :got:__cairn_tracer
 *          ldr   x16, [x16, :got_lo12:__cairn_tracer]
 *          ldr   w16, [x16]                the clock
 *          stur  w16, [x17, -8]
 *          adrp  x16, F + KIND
 *          add   x16, x16, :lo12:F + KIND
 *          stur  w16, [x17, -4]
 *          ...
 *   full:  stp   x16, x30, [sp, -16]!
 *          bl    __cairn_trace_full
 *          ldp   x16, x30, [sp], 16
 *          b     back
 *
 * It receives and returns the position in x17 and preserves all other registers; the C code that it
 * calls is compiled without vector registers. Functions are aligned to four bytes, so the last two
 * bits are free for the kind. */

#include "registers_aarch64.h"
#include "timedwire.h"

/* A process has one of each, however modules were loaded. */
        .globl  __cairn_tracer, __cairn_trace_at
        .type   __cairn_tracer, %gnu_unique_object
        .size   __cairn_tracer, 4096
        .section .bss.cairn_tracer, "aw", %nobits
        .balign 4096
__cairn_tracer:
        .zero   4096

        .type   __cairn_trace_at, %gnu_unique_object
        .size   __cairn_trace_at, 8
        .section .tdata.cairn, "awT", %progbits
        .balign 8
__cairn_trace_at:
        .quad   0xfff8

        .text
        .balign 4
        .globl  __cairn_trace_full
        .hidden __cairn_trace_full, __cairn_trace_next
        .type   __cairn_trace_full, %function
__cairn_trace_full:
        .cfi_startproc
        SAVE_REGISTERS
        sub     x0, x17, 0x10000        // start of the full chunk
        bl      __cairn_trace_next
        mov     x17, x0
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_trace_full, . - __cairn_trace_full

/* void __cairn_trace_reset(void): the thread has no chunk. */
        .globl  __cairn_trace_reset
        .hidden __cairn_trace_reset
        .type   __cairn_trace_reset, %function
__cairn_trace_reset:
        hint    34
        THREAD_LOCAL __cairn_trace_at, x0, x1
        mov     x1, 0xfff8
        str     x1, [x0]
        ret
        .size   __cairn_trace_reset, . - __cairn_trace_reset

        PROPERTIES

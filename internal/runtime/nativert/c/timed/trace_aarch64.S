/* __cairn_trace_full, which inserted code of mode trace calls if the chunk is full. x16, x17 and the
 * flags are free at entries and exits.
 *
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          ldr   x17, [x16]
 *          cbz   x17, full                on Android only
 *          add   x17, x17, 8
 *          tst   x17, 0xffff
 *          b.eq  full
 *   back:  str   x17, [x16]                the event is at -8(x17)
 *          adrp  x16, __cairn_tracer
 *          ldr   x16, [x16, :lo12:__cairn_tracer]
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

        .text
        .balign 4
        .globl  __cairn_trace_full
        .hidden __cairn_trace_full, __cairn_trace_next
        .type   __cairn_trace_full, %function
__cairn_trace_full:
        .cfi_startproc
        SAVE_REGISTERS
        sub     x0, x17, 0x10000        // start of the full chunk
#if __ANDROID__
        cmp     x17, 0
        csel    x0, xzr, x0, eq         // the thread has none yet
#endif
        bl      __cairn_trace_next
        mov     x17, x0
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_trace_full, . - __cairn_trace_full

        PROPERTIES

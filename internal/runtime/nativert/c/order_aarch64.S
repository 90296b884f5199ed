/* The first call of a function in modes with an order buffer.
 *
 * The probe and its stub are those of first_aarch64.S, with a shorter test:
 *
 *   f:     adrp  x16, rec
 *          ldrb  w17, [x16, :lo12:rec]
 *          cbz   w17, stub
 *   back:  ...
 *
 * Several threads may call this at once: the one that sets the flag takes a slot, so that each
 * function has at most one. The number of slots taken, __cairn_next, is among the records: it is
 * cleared and written with them, and survives with them when the process is killed. */

#include "machine.h"
#include "wire.h"

        .text
        .balign 4
        .globl  __cairn_first_order
        .hidden __cairn_first_order
        .type   __cairn_first_order, %function
__cairn_first_order:
        hint    34                      // bti c
        stp     x0, x1, [sp, -32]!
        str     x2, [sp, 16]
        ldr     x16, [sp, 32]           // the record
        mov     w1, 1
1:      ldaxrb  w0, [x16]
        stlxrb  w2, w1, [x16]
        cbnz    w2, 1b
        cbnz    w0, 4f
        adrp    x17, __start_cairn_raw
        add     x17, x17, :lo12:__start_cairn_raw
        sub     x16, x16, x17
        add     w16, w16, 1             // value of the slot
        adrp    x17, __cairn_ring
        ldr     w2, [x17, :lo12:__cairn_ring]
        adrp    x17, __start_cairn_order
        add     x17, x17, :lo12:__start_cairn_order
        cbnz    w2, 2f
        adrp    x2, __stop_cairn_order
        add     x2, x2, :lo12:__stop_cairn_order
        sub     x2, x2, x17
        lsr     x2, x2, 2
        cbz     w2, 4f                  // no slots; linkers should not do that
2:      str     x17, [sp, 24]
        adrp    x17, __cairn_next
        add     x17, x17, :lo12:__cairn_next
3:      ldaxr   w0, [x17]
        add     w0, w0, 1
        stlxr   w1, w0, [x17]
        cbnz    w1, 3b
        sub     w0, w0, 1
        udiv    w1, w0, w2
        msub    w0, w1, w2, w0
        ldr     x17, [sp, 24]
        str     w16, [x17, w0, uxtw 2]
4:      ldr     x2, [sp, 16]
        ldp     x0, x1, [sp], 32
        ret
        .size   __cairn_first_order, . - __cairn_first_order

#include "order_tables.h"

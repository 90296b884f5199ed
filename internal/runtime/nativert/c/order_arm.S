/* The first call of a function in modes with an order buffer.
 *
 * The probe and its stub are those of first_arm.S, with a shorter test:
 *
 *   f:     ldr   r3, literal
 *          add   r3, pc
 *          mov   ip, r3
 *          ldrb  r3, [r3]
 *          cmp   r3, #0
 *          beq   stub
 *   back:  ...
 *   stub:  push  {ip, lr} ...
 *
 * Several threads may call this at once: the one that sets the flag takes a slot, so that each
 * function has at most one. The number of slots taken, __cairn_next, is among the records: it is
 * cleared and written with them, and survives with them when the process is killed. */

#include "machine.h"
#include "wire.h"

        .macro  address reg, what
        movw    \reg, #:lower16:(\what - (.Lat\@ + 4))
        movt    \reg, #:upper16:(\what - (.Lat\@ + 4))
.Lat\@: add     \reg, pc
        .endm

        .syntax unified
        .arch   armv7-a
        .thumb
        .text
        .balign 4
        .globl  __cairn_first_order
        .hidden __cairn_first_order
        .type   __cairn_first_order, %function
        .thumb_func
__cairn_first_order:
        ldr     ip, [sp]                @ the record: a linker's veneer may have changed ip
        push    {r0, r1, r2, r3, r4}
        movs    r1, #1
1:      ldrexb  r0, [ip]
        strexb  r2, r1, [ip]
        cmp     r2, #0
        bne     1b
        cmp     r0, #0
        bne     6f
        address r0, __start_cairn_raw
        sub     ip, ip, r0
        add     ip, ip, #1              @ what goes into the slot
        address r3, __start_cairn_order
        address r0, __cairn_ring
        ldr     r2, [r0]
        cbnz    r2, 2f
        address r2, __stop_cairn_order
        subs    r2, r2, r3
        lsrs    r2, r2, #2
        beq     6f                      @ no slots: no linker should do that
2:      push    {r5}
        address r4, __cairn_next
3:      ldrex   r0, [r4]
        add     r1, r0, #1
        strex   r5, r1, [r4]
        cmp     r5, #0
        bne     3b
        pop     {r5}
        /* The slot is the number modulo the number of slots. Some processors cannot divide. A
         * requested number of slots is a power of two; otherwise there are enough slots. */
        sub     r1, r2, #1
        tst     r1, r2
        bne     5f
        and     r0, r0, r1
        b       7f
4:      sub     r0, r0, r2
5:      cmp     r0, r2
        bhs     4b
7:      str     ip, [r3, r0, lsl #2]
6:      pop     {r0, r1, r2, r3, r4}
        bx      lr
        .size   __cairn_first_order, . - __cairn_first_order

#include "order_tables.h"

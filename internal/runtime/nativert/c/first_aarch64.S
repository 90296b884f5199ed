/* The first call of a function.
 *
 * A counting probe and its stub look like this (package native writes them):
 *
 *   f:     [bti c, or paciasp]
 *          adrp  x16, rec
 *          ldr   w17, [x16, :lo12:rec]
 *          cbz   w17, stub
 *          sub   w17, w17, 1
 *          str   w17, [x16, :lo12:rec]
 *   back:  ...
 *   stub:  add   x16, x16, :lo12:rec
 *          stp   x16, x30, [sp, -16]!
 *          bl    __cairn_first_*
 *          ldp   x16, x30, [sp], 16
 *          b     back
 *
 * This routine counts the call that finds a count of zero. With --atomic the probe counts before it
 * tests, and calls another routine, which does not count.
 *
 * Stack on entry:
 *
 *   8(sp)  return address of f, in its caller; it may be signed
 *   0(sp)  the record
 *
 * x16, x17 and the flags are free, since a linker's veneer may use them at any call. All other
 * registers are saved: a caller compiled with -fipa-ra may count on registers that the ABI would
 * let us take. x18 is reserved for the platform.
 *
 * The order word is set once, by compare and exchange. If it is set already, two threads raced for
 * the first call and increments may be lost, or there were 2^32 calls: mark the count as inexact. */

#include "machine.h"
#include "wire.h"

        .text
        .balign 4
        .globl  NAME
        .hidden NAME, __cairn_order
        .type   NAME, %function
NAME:
        hint    34                      // bti c
        stp     x0, x1, [sp, -16]!
        ldr     x16, [sp, 16]
#if !ATOMIC
1:      ldaxr   w0, [x16]
        sub     w0, w0, 1
        stlxr   w1, w0, [x16]
        cbnz    w1, 1b
#endif
        add     x16, x16, CAIRN_ORDER_OFFSET
        ldr     w0, [x16]
        cbnz    w0, 4f
        adrp    x17, __cairn_order
        add     x17, x17, :lo12:__cairn_order
2:      ldaxr   w0, [x17]
        add     w0, w0, 1
        stlxr   w1, w0, [x17]
        cbnz    w1, 2b
3:      ldaxr   w1, [x16]
        cbnz    w1, 4f
        stlxr   w1, w0, [x16]
        cbnz    w1, 3b
#if FULL
        mov     x17, x30
        ldr     x30, [sp, 24]           // return address of f
        hint    7                       // xpaclri: remove the signature
        sub     x16, x16, CAIRN_ORDER_OFFSET
        sub     x0, x30, x16
        mov     x30, x17
        mov     w1, CAIRN_CALLER_OUTSIDE
        cmp     x0, w0, sxtw
        csel    w0, w0, w1, eq
        str     w0, [x16, CAIRN_CALLER_OFFSET]
#endif
        ldp     x0, x1, [sp], 16
        ret

4:      ldaxr   w0, [x16]
        orr     w0, w0, CAIRN_ORDER_INEXACT
        stlxr   w1, w0, [x16]
        cbnz    w1, 4b
        ldp     x0, x1, [sp], 16
        ret
        .size   NAME, . - NAME

#if !CAIRN_MAPPED
        .reloc  NAME, NOTHING, __cairn_counts      /* see single.c */
        .hidden __cairn_counts
#endif

        PROPERTIES

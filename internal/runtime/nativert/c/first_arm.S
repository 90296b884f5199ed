/* The first call of a function.
 *
 * A counting probe and its stub look like this (package native writes them), in the Thumb or in the
 * Arm state:
 *
 *   f:     ldr   r3, literal         or movw and movt
 *          add   r3, pc              r3: the record
 *          ldr   r2, [r3]            [--atomic: ldrex, and again until strex has it]
 *          subs  r2, r2, #1
 *          str   r2, [r3]
 *          bcc   stub
 *   back:  ...
 *   stub:  mov   ip, r3              unless the probe did
 *          push  {ip, lr}
 *          bl    __cairn_first_*
 *          pop   {ip, lr}
 *          b     back
 *
 * The probe has counted the call.
 *
 * Stack on entry:
 *
 *   4(sp)  return address of f, in its caller
 *   0(sp)  the record
 *
 * ip and the flags are free, since a linker's veneer may use them at any call, also at the one that
 * comes here: in a program with more than 16 MiB of code ip is not the record. All other registers
 * are saved: a caller compiled with -fipa-ra may count on registers that the ABI would let us take.
 *
 * The order word is set once, by compare and exchange. If it is set already, two threads raced for
 * the first call and an increment was lost, or there were 2^32 calls: mark the count as inexact. */

#include "machine.h"
#include "wire.h"

        .syntax unified
        .arch   armv7-a
        .thumb
        .text
        .balign 4
        .globl  NAME
        .hidden NAME, __cairn_order
        .type   NAME, %function
        .thumb_func
NAME:
        ldr     ip, [sp]
        push    {r0, r1, r2, r3}
        add     r3, ip, #CAIRN_ORDER_OFFSET
        ldr     r0, [r3]
        cmp     r0, #0
        bne     4f
        movw    r1, #:lower16:(__cairn_order - (1f + 4))
        movt    r1, #:upper16:(__cairn_order - (1f + 4))
1:      add     r1, pc
2:      ldrex   r0, [r1]
        adds    r0, r0, #1
        strex   r2, r0, [r1]
        cmp     r2, #0
        bne     2b
        dmb     ish
3:      ldrex   r2, [r3]
        cmp     r2, #0
        bne     4f
        strex   r2, r0, [r3]
        cmp     r2, #0
        bne     3b
#if FULL
        ldr     r0, [sp, #20]           @ return address of f
        bic     r0, r0, #1              @ the state of the caller
        sub     r0, r0, ip
        str     r0, [ip, #CAIRN_CALLER_OFFSET]
#endif
        pop     {r0, r1, r2, r3}
        bx      lr

4:      ldrex   r0, [r3]
        orr     r0, r0, #CAIRN_ORDER_INEXACT
        strex   r2, r0, [r3]
        cmp     r2, #0
        bne     4b
        pop     {r0, r1, r2, r3}
        bx      lr
        .size   NAME, . - NAME

#if !CAIRN_MAPPED
        .reloc  NAME, NOTHING, __cairn_counts      /* see single.c */
        .hidden __cairn_counts
#endif

        PROPERTIES

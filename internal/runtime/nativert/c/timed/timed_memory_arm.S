/* Functions that compilers call to copy, to clear and to divide, under names that no program uses. They
 * follow the Run-time ABI for the Arm Architecture, and change no more registers than any function may. */

#include "machine.h"

        .macro  FUNCTION name
        .balign 4
        .globl  \name
        .hidden \name
        .type   \name, %function
        .thumb_func
\name:
        .endm

        .syntax unified
        .arch   armv7-a
        .eabi_attribute 28, 3
        .thumb
        .text

        FUNCTION __cairn_memcpy         @ to, from, size
        mov     ip, r0
        b       2f
1:      ldrb    r3, [r1], #1
        strb    r3, [ip], #1
2:      subs    r2, #1
        bhs     1b
        bx      lr
        .size   __cairn_memcpy, . - __cairn_memcpy

        FUNCTION __cairn_memzero        @ at, size
        mov     r2, r1
        movs    r1, #0
        b       __cairn_memset
        .size   __cairn_memzero, . - __cairn_memzero

        FUNCTION __cairn_fill           @ at, size, byte
        mov     r3, r1
        mov     r1, r2
        mov     r2, r3
        .size   __cairn_fill, . - __cairn_fill
        FUNCTION __cairn_memset         @ at, byte, size
        mov     ip, r0
        b       2f
1:      strb    r1, [ip], #1
2:      subs    r2, #1
        bhs     1b
        bx      lr
        .size   __cairn_memset, . - __cairn_memset

        FUNCTION __cairn_divide         @ r0 / r1: the quotient in r0, the remainder in r1
        push    {r4, lr}
        mov     r2, r1
        movs    r3, #0
        movs    r1, #0
        bl      __cairn_divide_long
        mov     r1, r2
        pop     {r4, pc}
        .size   __cairn_divide, . - __cairn_divide

        FUNCTION __cairn_divide_long    @ r0, r1 / r2, r3: the quotient in r0, r1, the remainder in r2, r3
        push    {r4, r5, r6, lr}
        movs    r4, #0                  @ remainder
        movs    r5, #0
        movs    r6, #64
1:      adds    r0, r0, r0              @ the quotient comes in where the dividend leaves
        adcs    r1, r1, r1
        adcs    r4, r4, r4
        adcs    r5, r5, r5
        bcs     2f                      @ the remainder has 65 bits
        cmp     r5, r3
        it      eq
        cmpeq   r4, r2
        blo     3f
2:      subs    r4, r4, r2
        sbc     r5, r5, r3
        adds    r0, #1
3:      subs    r6, #1
        bne     1b
        mov     r2, r4
        mov     r3, r5
        pop     {r4, r5, r6, pc}
        .size   __cairn_divide_long, . - __cairn_divide_long

        FUNCTION __cairn_divide_signed  @ r0 / r1: the quotient in r0
        push    {r4, lr}
        asr     r2, r0, #31
        asr     r3, r1, #31
        eor     r0, r0, r2
        subs    r0, r0, r2
        eor     r1, r1, r3
        subs    r1, r1, r3
        eor     r4, r2, r3
        bl      __cairn_divide
        eor     r0, r0, r4
        subs    r0, r0, r4
        pop     {r4, pc}
        .size   __cairn_divide_signed, . - __cairn_divide_signed

        .macro  SIGNED low, high, sign  @ negates a number of two registers if the sign is -1
        eor     \low, \low, \sign
        eor     \high, \high, \sign
        subs    \low, \low, \sign
        sbc     \high, \high, \sign
        .endm

        FUNCTION __cairn_divide_signed_long     @ as __cairn_divide_long; the remainder has the sign of the dividend
        push    {r4, r5, r6, lr}
        asr     r4, r1, #31
        asr     r5, r3, #31
        SIGNED  r0, r1, r4
        SIGNED  r2, r3, r5
        eor     r5, r5, r4
        bl      __cairn_divide_long
        SIGNED  r0, r1, r5
        SIGNED  r2, r3, r4
        pop     {r4, r5, r6, pc}
        .size   __cairn_divide_signed_long, . - __cairn_divide_signed_long

        FUNCTION __cairn_shift_left     @ r0, r1 << r2: shifts by a register are 0 from 32 to 255
        lsl     r1, r1, r2
        rsb     r3, r2, #32
        lsr     ip, r0, r3
        orr     r1, r1, ip
        sub     r3, r2, #32
        lsl     ip, r0, r3
        orr     r1, r1, ip
        lsl     r0, r0, r2
        bx      lr
        .size   __cairn_shift_left, . - __cairn_shift_left

        FUNCTION __cairn_shift_right    @ r0, r1 >> r2
        lsr     r0, r0, r2
        rsb     r3, r2, #32
        lsl     ip, r1, r3
        orr     r0, r0, ip
        sub     r3, r2, #32
        lsr     ip, r1, r3
        orr     r0, r0, ip
        lsr     r1, r1, r2
        bx      lr
        .size   __cairn_shift_right, . - __cairn_shift_right

        PROPERTIES

/* Functions that compilers call to copy and to clear, under names that no program uses. They may
 * change only x0 to x3 of the caller-saved registers, and no vectors. */

#include "registers_aarch64.h"

        .text
        .balign 4
        .globl  __cairn_memcpy, __cairn_memset
        .hidden __cairn_memcpy, __cairn_memset
        .type   __cairn_memcpy, %function
        .type   __cairn_memset, %function
__cairn_memcpy:
        .cfi_startproc
        hint    34
        mov     x16, x0
        b       2f
1:      ldr     x3, [x1], 8
        str     x3, [x16], 8
2:      subs    x2, x2, 8
        b.hs    1b
        adds    x2, x2, 8
        b.eq    4f
3:      ldrb    w3, [x1], 1
        strb    w3, [x16], 1
        subs    x2, x2, 1
        b.ne    3b
4:      ret
        .cfi_endproc
        .size   __cairn_memcpy, . - __cairn_memcpy

__cairn_memset:
        .cfi_startproc
        hint    34
        mov     x16, x0
        cbz     x2, 2f
1:      strb    w1, [x16], 1
        subs    x2, x2, 1
        b.ne    1b
2:      ret
        .cfi_endproc
        .size   __cairn_memset, . - __cairn_memset

        PROPERTIES

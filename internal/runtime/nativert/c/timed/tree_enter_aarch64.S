/* The routines that code of mode stacks calls. Entries save x14 and x15 on the stack, as callers
 * may rely on them; x16, x17 and the flags are free.
 *
 *   entry: stp   x14, x15, [sp, -16]!            .cfi_adjust_cfa_offset 16
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          adrp  x17, miss
 *          add   x17, x17, :lo12:miss
 *          ldr   x14, [x16]                      the caller's node
 *          cbz   x14, miss                       on Android only
 *          ldr   x15, [x14, 64 + 8 * HASH]       mine?
 *          ldr   x14, [x15, 8]
 *          cmp   x14, x17
 *          b.ne  miss
 *   back:  str   x15, [x16]
 *          adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          add   w14, wsp, 16
 *          ldr   x17, [x15, 16]                  calls
 *          add   x17, x17, 1
 *          str   x17, [x15, 16]
 *          str   w14, [x15, 48]
 *          str   x15, [x16, x14]
 *          ldur  x16, [x16, -48]                 the clock
 *          ldr   x17, [x15, 24]                  time
 *          sub   x17, x17, x16
 *          str   x17, [x15, 24]
 *          ldp   x14, x15, [sp], 16              .cfi_adjust_cfa_offset -16
 *
 *   exit:  stp   x14, x15, [sp, -16]!
 *          adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          add   w14, wsp, 16
 *          ldr   x15, [x16, x14]                 my node
 *          ldur  x16, [x16, -48]
 *          ldr   x17, [x15, 24]
 *          add   x17, x17, x16
 *          str   x17, [x15, 24]
 *          ldr   x15, [x15]                      its parent
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          str   x15, [x16, x17]
 *          ldp   x14, x15, [sp], 16
 *
 *          .byte 0, 0, 0
 *          .long miss - f
 *          .byte HASH, with flags
 *   miss:  stp   x16, x30, [sp, -16]!
 *          bl    __cairn_tree_enter
 *          ldp   x16, x30, [sp], 16
 *          mov   x15, x17
 *          b     back
 *
 * __cairn_tree_enter: the slot does not hold the function's node. x17 is the address of miss, which
 * identifies f; the result is the node.
 *
 * __cairn_tree_back: an exception or a longjmp may have returned to the function that x17
 * identifies.
 *
 * __cairn_tree_back_at: the same, in the call that was entered with the stack pointer x17, which is
 * the CFA. __cairn_tree_switched: in that call, from another stack.
 *
 * __cairn_tree_leave: the process ends if x17 is 1, or runs another program.
 *
 * All are called by stubs as in registers_aarch64.h, and preserve all registers but x16, x17 and
 * the flags. */

#include "registers_aarch64.h"

/* As in tree.h. */
#define TREE_SLOT 15
#define TREE_DEEP 3

        .macro  ROUTINE name, function
        .globl  \name
        .hidden \name, \function
        .type   \name, %function
\name:
        .cfi_startproc
        SAVE_REGISTERS
        mov     x0, x17
        add     x1, sp, FRAME + STUB    // stack pointer before the stub
        bl      \function
        mov     x17, x0
        RETURN_REGISTERS
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .text
        .balign 4
        ROUTINE __cairn_tree_make, __cairn_tree_child
        ROUTINE __cairn_tree_back, __cairn_tree_find
        ROUTINE __cairn_tree_back_at, __cairn_tree_at
        ROUTINE __cairn_tree_switched, __cairn_tree_switch
        ROUTINE __cairn_tree_leave, __cairn_tree_leaving

/* Functions that share a slot replace each other there. Most of them are found in a table for all
 * threads: a node there belongs to this thread if its parent does. Below the greatest depth there
 * is one node for all. */
        .globl  __cairn_tree_enter
        .hidden __cairn_tree_enter, __cairn_tree_table, __cairn_tree_depth
        .type   __cairn_tree_enter, %function
__cairn_tree_enter:
        .cfi_startproc
        hint    34
        stp     x0, x1, [sp, -16]!
        .cfi_def_cfa_offset 16
        THREAD_LOCAL x16, x0
        ldr     x16, [x16]
#if __ANDROID__
        cbz     x16, 1f                 // the thread has none yet
#endif
        adrp    x0, __cairn_tree_depth
        ldr     w0, [x0, :lo12:__cairn_tree_depth]
        ldr     w1, [x16, 176]
        cmp     w1, w0
        b.hs    3f
        mov     w0, 0x79b1              // the index: bits 16 to 28 of the sum
        movk    w0, 0x9e37, lsl 16
        mul     w0, w0, w16
        mov     w1, 0xca77
        movk    w1, 0x85eb, lsl 16
        madd    w0, w1, w17, w0
        ubfx    w0, w0, 16, 13
        adrp    x1, __cairn_tree_table
        add     x1, x1, :lo12:__cairn_tree_table
        ldr     x0, [x1, w0, uxtw 3]
        cbz     x0, 1f
        ldr     x1, [x0]
        cmp     x1, x16
        b.ne    1f
        ldr     x1, [x0, 8]
        cmp     x1, x17
        b.ne    1f
        ldurb   w1, [x17, -1]
        and     w1, w1, TREE_SLOT
        add     x1, x16, x1, lsl 3
        str     x0, [x1, 64]
2:      mov     x17, x0
        ldp     x0, x1, [sp], 16
        .cfi_def_cfa_offset 0
        ret
        .cfi_def_cfa_offset 16
1:      ldp     x0, x1, [sp], 16
        .cfi_def_cfa_offset 0
        b       __cairn_tree_make
        .cfi_def_cfa_offset 16
3:      mov     x0, x16
        ldr     x1, [x0, 8]
        cmp     x1, TREE_DEEP
        b.eq    2b
        ldr     x0, [x16, 32]
        cbz     x0, 1b
        ldr     x1, [x0, 8]
        cmp     x1, TREE_DEEP
        b.eq    2b
        b       1b
        .cfi_endproc
        .size   __cairn_tree_enter, . - __cairn_tree_enter

        PROPERTIES

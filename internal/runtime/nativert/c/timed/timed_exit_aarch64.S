/* __cairn_slow: an exit of an instrumented function calls it if its call took long. Functions in
 * mode spike have the following code; it uses only x16, x17 and, at entries and exits, the flags.
 * There is no red zone.
 *
 * Entry, after bti c or paciasp, by the coarse clock (24 bytes):
 *
 *          adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          mov   w17, wsp
 *          add   x17, x16, x17
 *          ldur  w16, [x16, -64]           the clock
 *          str   w16, [x17]
 *
 * Exit, before ret or the jump of a tail call, after autiasp (32 bytes):
 *
 *          adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          mov   w17, wsp
 *          ldr   w17, [x16, x17]           the stamp
 *          ldur  x16, [x16, -64]           the clock, and above it the shortest call of interest
 *          sub   w17, w17, w16
 *          add   x17, x17, x16, lsr 32
 *          tbnz  w17, 31, slow             or: tbz w17, 31, 1f; b slow; 1:  (32 KiB are its reach)
 *          ret
 *
 *   slow:  stp   x16, x30, [sp, -16]!
 *          bl    __cairn_slow
 *          ldp   x16, x30, [sp], 16
 *          ret                             or the jump of the tail call
 *
 * With the exact clock the counter is compared with a sum, so that no third register is needed and
 * the flags are preserved:
 *
 *   entry: adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          mov   w17, wsp
 *          add   x17, x16, x17
 *          mrs   x16, cntvct_el0
 *          str   x16, [x17]
 *
 *   exit:  adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          mov   w17, wsp
 *          ldr   x17, [x16, x17]           the stamp
 *          ldur  x16, [x16, -40]           the shortest call of interest, in ticks
 *          add   x17, x17, x16
 *          mrs   x16, cntvct_el0
 *          sub   x17, x17, x16
 *          tbnz  x17, 63, slow
 *
 * In a tail call through x16 or x17 (br x16, as with landing pads) these are in use, so they are
 * saved on the stack, and the result is in the flags:
 *
 *          stp   x16, x17, [sp, -16]!      .cfi_adjust_cfa_offset 16
 *          as above, with add w17, wsp, 16 in place of mov w17, wsp, up to the tbnz
 *          cmp   w17, 0                    x17 with the exact clock
 *          ldp   x16, x17, [sp], 16        .cfi_adjust_cfa_offset -16
 *          b.lt  slow
 *
 * __cairn_slow preserves all registers but x16, which the stub preserves.
 *
 * The slow stub is in the function, after its code: the return address of __cairn_slow identifies
 * the function. Its row of the unwind table is that of an entry, with one more .cfi_negate_ra_state
 * if it precedes retaa. The unwinder walks through this frame, so its CFI must be right at the
 * call. Return values and, at tail jumps, arguments are live. The C code is compiled without vector
 * registers; it saves them itself where it calls foreign code, the unwinder. */

#include "registers_aarch64.h"

        .text
        .balign 4
        .globl  __cairn_slow
        .hidden __cairn_slow, __cairn_slow_exit
        .type   __cairn_slow, %function
__cairn_slow:
        .cfi_startproc
        SAVE_REGISTERS
        str     x17, [sp, 152]
        mov     x0, x30                 // site
        add     x1, sp, FRAME + STUB    // stack pointer at entry
        ldr     x2, [sp]                // frame pointer of the caller, if it has one
        bl      __cairn_slow_exit
        ldr     x17, [sp, 152]
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_slow, . - __cairn_slow

        PROPERTIES

/* What inserted code of the flight recorder refers to: the thread's position; __cairn_flight_slow,
 * which it calls if the clock has advanced since the thread's last event or its chunk is full; and
 * __cairn_flight_left, which it calls if the entry may not imply the last exit. Entries save x14
 * and x15 on the stack; x16, x17 and the flags are free.
 *
 *   begin: stp   x14, x15, [sp, -16]!            .cfi_adjust_cfa_offset 16
 *          adrp  x16, __cairn_base
 *          ldr   x16, [x16, :lo12:__cairn_base]
 *          add   w17, wsp, 16
 *          ldur  w15, [x16, -64]                 the clock
 *          str   w15, [x16, x17]                 the stamp
 *          add   w14, wsp, 16
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          ldr   w17, [x16, 8]
 *          cmp   w17, w15
 *          b.ne  slow
 *          ldr   w17, [x16, 12]
 *          sub   w17, w14, w17
 *          lsr   w17, w17, 12
 *          cbnz  w17, left
 *          sub   w17, w14, 2047
 *          str   w17, [x16, 12]
 *          ldr   x17, [x16]
 *          add   x17, x17, 8
 *          tst   x17, 0xffff
 *          b.eq  slow
 *          str   x17, [x16]                      the event is at -8(x17)
 *          adrp  x15, F
 *          add   x15, x15, :lo12:F
 *          stp   w15, w14, [x17, -8]
 *          ldp   x14, x15, [sp], 16              .cfi_adjust_cfa_offset -16
 *          ...
 *   slow:  ldp   x14, x15, [sp], 16
 *          stp   x16, x30, [sp, -16]!
 *          bl    __cairn_flight_slow             left: __cairn_flight_left
 *          ldp   x16, x30, [sp], 16
 *          b     begin
 *
 * At an exit, before the code of mode spike, and where an exception is caught:
 *
 *          adrp  x16, __cairn_local
 *          ldr   x16, [x16, :lo12:__cairn_local]
 *          mrs   x17, tpidr_el0
 *          add   x16, x16, x17
 *          mov   w17, wsp
 *          str   w17, [x16, 12]
 *
 * The routines preserve all registers but x16, x17 and the flags; the C code that they call is
 * compiled without vector registers. */

#include "registers_aarch64.h"
#include "timedwire.h"

        .text
        .balign 4
        .globl  __cairn_flight_slow
        .hidden __cairn_flight_slow, __cairn_flight_more
        .type   __cairn_flight_slow, %function
__cairn_flight_slow:
        .cfi_startproc
        SAVE_REGISTERS
        add     x0, sp, FRAME + STUB    // stack pointer at entry
        bl      __cairn_flight_more
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_flight_slow, . - __cairn_flight_slow

/* The word at 12 is the stack pointer of the last exit, odd if there was none since
 * the last entry. It becomes that of this entry, which passes the test. */
        .globl  __cairn_flight_left
        .hidden __cairn_flight_left, __cairn_flight_turn
        .type   __cairn_flight_left, %function
__cairn_flight_left:
        .cfi_startproc
        hint    34
        stp     x0, x1, [sp, -16]!
        .cfi_def_cfa_offset 16
        THREAD_LOCAL x16, x17
        ldr     w0, [x16, 12]
        tbnz    w0, 0, 1f
        ldr     x17, [x16]
        add     x17, x17, 8
        tst     x17, 0xffff
        b.eq    2f
        str     x17, [x16]
        mov     w1, LOG_FLIGHT_EXIT
        stp     w1, w0, [x17, -8]
1:      add     x0, sp, 16 + STUB
        str     w0, [x16, 12]
        ldp     x17, x1, [x16, 16]      // is it on the stack where the thread was?
        sub     x0, x0, x17
        cmp     x0, x1
        ldp     x0, x1, [sp], 16
        .cfi_def_cfa_offset 0
        b.hs    3f
        ret
        .cfi_def_cfa_offset 16
2:      ldp     x0, x1, [sp], 16
        .cfi_def_cfa_offset 0
        b       __cairn_flight_slow
3:      SAVE_REGISTERS
        add     x0, sp, FRAME + STUB
        bl      __cairn_flight_turn
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_flight_left, . - __cairn_flight_left

        PROPERTIES

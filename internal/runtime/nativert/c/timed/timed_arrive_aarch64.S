/* __cairn_arrived: an exception or a longjmp arrives in a function with probes. Inserted code calls it
 * at landing pads and after calls that return twice, with the stack pointer at the function's entry in
 * x17:
 *
 *   add   x17, sp, N
 *   bl    __cairn_arrived
 *
 * There, as after any call, only x0, x1 and the registers that calls preserve are in use, not x30. If
 * the function has been running for long, the calls that were left are looked for: their frames are
 * still below the stack pointer. So nothing is stored there before that memory is copied, which is
 * done on a stack that the process has once. */

#include "registers_aarch64.h"

/* As in timed_arrive.c. */
#define SAVED 8
#define STACK_TOP 122880

        .text
        .balign 4
        .globl  __cairn_arrived
        .hidden __cairn_arrived, __cairn_arrive, __cairn_copy_below, __cairn_arrival_area, __cairn_arrival_exact, __cairn_arrival_mask, __cairn_arrival_base
        .type   __cairn_arrived, %function
__cairn_arrived:
        .cfi_startproc
        hint    34                      // bti c
        adrp    x16, __cairn_arrival_base
        ldr     x16, [x16, :lo12:__cairn_arrival_base]
        adrp    x15, __cairn_arrival_mask
        ldr     w15, [x15, :lo12:__cairn_arrival_mask]
        and     w15, w15, w17
        adrp    x14, __cairn_arrival_exact
        ldr     w14, [x14, :lo12:__cairn_arrival_exact]
        cbnz    w14, 1f
        ldr     w14, [x16, x15]
        ldur    w13, [x16, -64]
        sub     w14, w14, w13           // as at an exit
        ldur    w13, [x16, -60]
        add     w14, w14, w13
        tbnz    w14, 31, 2f
        ret
1:      ldr     x14, [x16, x15]
        isb
        mrs     x13, cntvct_el0
        sub     x13, x13, x14
        ldur    x14, [x16, -40]
        cmp     x13, x14
        b.hi    2f
        ret

2:      adrp    x9, __cairn_arrival_area
        ldr     x9, [x9, :lo12:__cairn_arrival_area]
        cbz     x9, 4f
        mov     w10, 1
3:      ldaxr   w11, [x9]
        stxr    w12, w10, [x9]
        cbnz    w12, 3b
        cbz     w11, 5f
4:      ret                             // another thread does this now
5:      stp     x0, x1, [x9, SAVED]
        stp     x17, x30, [x9, SAVED + 16]
        mov     x10, sp
        str     x10, [x9, SAVED + 32]
        mov     x0, x10
        add     x10, x9, STACK_TOP
        mov     sp, x10
        bl      __cairn_copy_below
        mov     x3, x0                  // bytes that were copied
        adrp    x9, __cairn_arrival_area
        ldr     x9, [x9, :lo12:__cairn_arrival_area]
        ldr     x10, [x9, SAVED + 32]
        mov     sp, x10
        ldp     x0, x1, [x9, SAVED]
        ldp     x17, x30, [x9, SAVED + 16]

        SAVE_REGISTERS
        mov     x0, x30                 // site
        mov     x1, x17                 // stack pointer at entry
        add     x2, sp, FRAME           // stack pointer in the function
        ldr     x4, [sp]                // its frame pointer
        bl      __cairn_arrive
        adrp    x9, __cairn_arrival_area
        ldr     x9, [x9, :lo12:__cairn_arrival_area]
        stlr    wzr, [x9]
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_arrived, . - __cairn_arrived

        PROPERTIES

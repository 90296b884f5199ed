/* registers_arm.h - for the routines that inserted code calls on Armv7:
 *
 *          push  {r0, lr}
 *          ...                             which may set r0
 *          bl    ROUTINE
 *          pop   {r0, lr}
 *
 * They preserve all registers but r0, lr and the flags: other registers may be arguments or a result,
 * and compilers know which registers a function leaves alone (-fipa-ra). The C code that they call is
 * compiled without floating-point registers. A module that has not started, or has found no runtime in its
 * process, records nothing: its __cairn_base is 0, in mode trace its __cairn_local. */

#include "machine.h"

#ifndef STATE
#define STATE __cairn_base
#endif
#define STUB 8   /* bytes that inserted code pushes */
#define SAVED 24 /* bytes of SAVE */

        .syntax unified
        .arch   armv7-a
        .eabi_attribute 28, 3           @ compatible with both ways to pass floating-point numbers
        .thumb
        .text

        .macro  address reg, what
        movw    \reg, #:lower16:(\what - (.Lat\@ + 4))
        movt    \reg, #:upper16:(\what - (.Lat\@ + 4))
.Lat\@: add     \reg, pc
        .endm

        .macro  BEGIN name
        .balign 4
        .globl  \name
        .hidden \name
        .type   \name, %function
        .thumb_func
\name:
        .cfi_startproc
        .endm

        .macro  END name
        .cfi_endproc
        .size   \name, . - \name
        .endm

/* SAVE saves registers and sets r1 to the table, in mode trace to the distance of what a thread has; RETURN restores them and returns. */
        .hidden STATE, __cairn_local
        .macro  SAVE none
        push    {r1, r2, r3, r4, r5, ip}
        .cfi_def_cfa_offset SAVED
        .cfi_offset r4, -12
        .cfi_offset r5, -8
        address r1, STATE
        ldr     r1, [r1]
        cmp     r1, #0
        beq     \none
        .endm

        .macro  RETURN
        pop     {r1, r2, r3, r4, r5, ip}
        .cfi_remember_state
        .cfi_def_cfa_offset 0
        .cfi_restore r4
        .cfi_restore r5
        bx      lr
        .cfi_restore_state
        .endm

/* THREAD_LOCAL sets r2 to the address of what the thread has; it changes r3. */
        .macro  THREAD_LOCAL
        address r2, __cairn_local
        ldr     r2, [r2]
        mrc     p15, 0, r3, c13, c0, 3
        add     r2, r3
        .endm

/* CALL_STATE sets ip to the state of the call that had the stack pointer r5 at its entry, or goes on at none; it
 * changes r3. */
        .macro  CALL_STATE none
        lsr     ip, r5, #16
        ldr     ip, [r1, ip, lsl #2]
        cmp     ip, #0
        beq     \none
        ubfx    r3, r5, #3, #13
        add     ip, ip, r3, lsl #4
        .endm

/* C_CALL calls a function of C with the stack aligned, which not all functions have; it keeps r1 and r2, and
 * changes the register keep. */
        .macro  C_CALL function, keep
        push    {r1, r2, r3, lr}
        .cfi_adjust_cfa_offset 16
        .cfi_offset lr, -SAVED - 4
        mov     \keep, sp
        .cfi_def_cfa \keep, SAVED + 16
        bic     ip, \keep, #7
        mov     sp, ip
        bl      \function
        mov     sp, \keep
        pop     {r1, r2, r3, lr}
        .cfi_def_cfa sp, SAVED
        .cfi_restore lr
        .endm

/* FORWARD defines a routine that calls a function of C with r0, the stack pointer in the program, and the return address, which is in
 * the function. */
        .macro  FORWARD name, to
        .hidden \to
        BEGIN   \name
        SAVE    9f
        add     r1, sp, #SAVED + STUB
        mov     r2, lr
        C_CALL  \to, r4
9:      RETURN
        END     \name
        .endm

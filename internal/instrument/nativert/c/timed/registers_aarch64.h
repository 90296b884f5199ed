/* registers_aarch64.h - for the routines that inserted code comes to: it has values in
 * every register but x16 and x17. All routines are called in one way, by a stub that may be
 * where the return address of its function is in x30 and nothing below the stack pointer is
 * kept:
 *
 *   stub:  stp   x16, x30, [sp, -16]!
 *          .cfi_adjust_cfa_offset 16; .cfi_offset 30, -8 (at an entry or an exit)
 *          bl    ROUTINE
 *          ldp   x16, x30, [sp], 16
 *          .cfi_adjust_cfa_offset -16; .cfi_restore 30
 *
 * x17 is an argument or a result, where one says so, and free otherwise. */

#define STUB 16   /* bytes that a stub pushes */
#define FRAME 160 /* bytes of SAVE_REGISTERS */

/* SAVE_REGISTERS begins a frame and keeps what calls may change. */
        .macro  SAVE_REGISTERS
        hint    34                      // bti c
        stp     x29, x30, [sp, -FRAME]!
        .cfi_def_cfa_offset FRAME
        .cfi_offset 29, -FRAME
        .cfi_offset 30, 8 - FRAME
        mov     x29, sp
        .cfi_def_cfa_register 29
        stp     x0, x1, [sp, 16]
        stp     x2, x3, [sp, 32]
        stp     x4, x5, [sp, 48]
        stp     x6, x7, [sp, 64]
        stp     x8, x9, [sp, 80]
        stp     x10, x11, [sp, 96]
        stp     x12, x13, [sp, 112]
        stp     x14, x15, [sp, 128]
        str     x18, [sp, 144]          // where no system has a use for it, compilers may
        .endm

/* RETURN_REGISTERS brings them back and returns. */
        .macro  RETURN_REGISTERS
        ldp     x0, x1, [sp, 16]
        ldp     x2, x3, [sp, 32]
        ldp     x4, x5, [sp, 48]
        ldp     x6, x7, [sp, 64]
        ldp     x8, x9, [sp, 80]
        ldp     x10, x11, [sp, 96]
        ldp     x12, x13, [sp, 112]
        ldp     x14, x15, [sp, 128]
        ldr     x18, [sp, 144]
        ldp     x29, x30, [sp], FRAME
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        ret
        .endm

/* THREAD_LOCAL sets a register to the address of a thread-local variable. */
        .macro  THREAD_LOCAL name, register, scratch
        adrp    \register, :gottprel:\name
        ldr     \register, [\register, :gottprel_lo12:\name]
        mrs     \scratch, tpidr_el0
        add     \register, \register, \scratch
        .endm

/* Branch target identification and signed return addresses are fine with this code. */
        .macro  PROPERTIES
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .section .note.GNU-stack, "", %progbits
        .endm

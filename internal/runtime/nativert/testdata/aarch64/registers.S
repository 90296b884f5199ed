/* long registers_kept(long (*f)(long), long n) calls a function that adds n, with known
 * values in all registers but those that it may use, and returns 0 if they still are there. */
        .macro  each action
        .irp    r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        \action \r
        .endr
        .endm
        .macro  set_register r
        mov     x\r, 0x1000 + \r
        .endm
        .macro  check_register r
        sub     x\r, x\r, 0x1000
        sub     x\r, x\r, \r
        .endm
        .macro  gather_register r
        orr     x17, x17, x\r
        .endm
        .text
        .globl  registers_kept
        .type   registers_kept, %function
registers_kept:
        hint    34
        stp     x29, x30, [sp, -112]!
        stp     x19, x20, [sp, 16]
        stp     x21, x22, [sp, 32]
        stp     x23, x24, [sp, 48]
        stp     x25, x26, [sp, 64]
        stp     x27, x28, [sp, 80]
        stp     x18, x1, [sp, 96]
        mov     x17, x0
        each    set_register
        mov     x0, 0x1000
        blr     x17
        ldr     x17, [sp, 104]
        sub     x0, x0, x17
        mov     x17, 0
        each    check_register
        each    gather_register
        mov     x0, x17
        ldr     x18, [sp, 96]
        ldp     x27, x28, [sp, 80]
        ldp     x25, x26, [sp, 64]
        ldp     x23, x24, [sp, 48]
        ldp     x21, x22, [sp, 32]
        ldp     x19, x20, [sp, 16]
        ldp     x29, x30, [sp], 112
        ret

        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .section .note.GNU-stack, "", %progbits

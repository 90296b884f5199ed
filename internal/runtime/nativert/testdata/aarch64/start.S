/* The start of a program of which every part has landing pads for branches, as the start
 * files of many C libraries do not. With FREESTANDING there is no C library at all. */
        .text
        .globl  _start
        .type   _start, %function
_start:
        hint    34
        mov     x29, 0
        mov     x30, 0
#if FREESTANDING
        ldr     x19, [sp]               // argc
        add     x20, sp, 8
        add     x21, x20, x19, lsl 3
        add     x21, x21, 8             // the environment
        adrp    x22, __init_array_start
        add     x22, x22, :lo12:__init_array_start
        adrp    x23, __init_array_end
        add     x23, x23, :lo12:__init_array_end
        bl      each
        mov     x0, 0
        bl      function_3
        mov     x0, 1
        bl      function_1
        adrp    x22, __fini_array_start
        add     x22, x22, :lo12:__fini_array_start
        adrp    x23, __fini_array_end
        add     x23, x23, :lo12:__fini_array_end
        bl      each
        mov     x0, 0
        mov     x8, 94                  // exit_group
        svc     0
each:   mov     x24, x30
1:      cmp     x22, x23
        b.eq    2f
        ldr     x3, [x22], 8
        mov     x0, x19
        mov     x1, x20
        mov     x2, x21
        blr     x3
        b       1b
2:      ret     x24
#else
        mov     x5, x0                  // rtld_fini
        ldr     x1, [sp]
        add     x2, sp, 8
        mov     x6, sp
        adrp    x0, main
        add     x0, x0, :lo12:main
        mov     x3, 0
        mov     x4, 0
        bl      __libc_start_main
        .data
        .balign 8
        .globl  __dso_handle
        .hidden __dso_handle
__dso_handle:
        .quad   __dso_handle
#endif
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .section .note.GNU-stack, "", %progbits

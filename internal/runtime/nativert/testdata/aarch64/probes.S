/* Functions with the probes that package native writes for AArch64, and their records, in
 * the mode of the macro that is defined: COVER, COUNT, FULL, ORDER, each with BLOCKS or
 * without. function_0 to function_63 are in the order of their records. */

#if COUNT
#define SIZE 8
#define FIRST __cairn_first_count
#elif FULL
#define SIZE 16
#define FIRST __cairn_first_full
#elif ORDER
#define SIZE 4
#define FIRST __cairn_first_order
#else
#define SIZE 4
#endif
#if ATOMIC && FULL
#define FIRST_CALL __cairn_first_full_atomic
#elif ATOMIC
#define FIRST_CALL __cairn_first_count_atomic
#else
#define FIRST_CALL FIRST
#endif

        .macro  probe n
#if COUNT || FULL
#if ATOMIC
        adrp    x16, .Ld\n
        add     x16, x16, :lo12:.Ld\n
        str     x0, [sp, -16]!
1:      ldxr    w17, [x16]
        sub     w17, w17, 1
        stxr    w0, w17, [x16]
        cbnz    w0, 1b
        ldr     x0, [sp], 16
        adds    w17, w17, 1
        b.eq    .Ls\n
#else
        adrp    x16, .Ld\n
        ldr     w17, [x16, :lo12:.Ld\n]
        cbz     w17, .Ls\n
        sub     w17, w17, 1
        str     w17, [x16, :lo12:.Ld\n]
#endif
#elif ORDER
        adrp    x16, .Ld\n
        ldrb    w17, [x16, :lo12:.Ld\n]
        cbz     w17, .Ls\n
#else
        adrp    x16, .Ld\n
        mov     w17, 1
        strb    w17, [x16, :lo12:.Ld\n]
#endif
.Lr\n:
        .endm

        .macro  stub n
#ifdef FIRST
.Ls\n:
#if !ATOMIC
        add     x16, x16, :lo12:.Ld\n
#endif
        stp     x16, x30, [sp, -16]!
        bl      FIRST_CALL
        ldp     x16, x30, [sp], 16
        b       .Lr\n
#endif
        .endm

/* Each returns its argument plus its number, and has a block, whose flag is the last byte
 * of its record, that runs if the argument is not 0. Every second signs its return address. */
        .macro  function n
        .text
        .balign 4
        stub    \n
        .globl  function_\n
        .type   function_\n, %function
function_\n:
        .if     \n & 1
        hint    25                      // paciasp
        .else
        hint    34                      // bti c
        .endif
        probe   \n
#if BLOCKS
        cbz     x0, 1f
        adrp    x16, .Ld\n + SIZE - 1
        mov     w17, 1
        strb    w17, [x16, :lo12:.Ld\n + SIZE - 1]
1:
#endif
        add     x0, x0, \n
        .if     \n & 1
        hint    29                      // autiasp
        .endif
        ret
        .size   function_\n, . - function_\n

        .section .data.rel.ro, "aw", %progbits
        .quad   function_\n
        .section cairn_raw, "aw", %nobits, unique, 2
.Ld\n:  .zero   SIZE
#if ORDER && !RING
        .section cairn_order, "aw", %nobits, unique, 2
        .zero   4
#endif
        .endm

        .section .data.rel.ro, "aw", %progbits
        .balign 8
        .globl  functions
        .hidden functions
functions:
        .section cairn_raw, "aw", %nobits, unique, 2
        .balign 4
        .globl  records
        .hidden records
records:
        .altmacro
        .irp    ten, 0, 1, 2, 3, 4, 5, 6, 7
        .irp    one, 0, 1, 2, 3, 4, 5, 6, 7
        function %(\ten * 8 + \one)
        .endr
        .endr
        .noaltmacro

#if ORDER
        .section cairn_raw, "awG", %nobits, __cairn_next, comdat
        .balign 4
        .globl  __cairn_next
        .hidden __cairn_next
__cairn_next:
        .zero   4
#if RING
        .section cairn_order, "awG", %nobits, __cairn_ring, comdat
        .balign 4
        .zero   4 * RING
        .section .rodata.cairn, "aG", %progbits, __cairn_ring, comdat
        .globl  __cairn_ring
        .hidden __cairn_ring
__cairn_ring:
        .long   RING
#endif
#endif
#ifdef FIRST
        .hidden FIRST_CALL
#endif

        .section .rodata.cairn, "aG", %progbits, __cairn_needs_runtime, comdat
        .weak   __cairn_needs_runtime
        .hidden __cairn_needs_runtime
__cairn_needs_runtime:
        .long   __cairn_link_with_cairn_cc - .
        .hidden __cairn_link_with_cairn_cc

        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .section .note.GNU-stack, "", %progbits

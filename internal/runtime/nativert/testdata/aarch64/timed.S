/* Functions with the code of the timed modes that the runtime's *_aarch64.S draw, in the mode
 * of the macro that is defined: SPIKE, EXACT, TRACE, DEPTH (of trace), FLIGHT or STACKS.
 *
 *   outer(f, n) calls middle(f, n), that calls f(n); nap(n) sleeps for n milliseconds;
 *   quick(n) returns, through a tail call.  */

        .macro  base
        adrp    x16, __cairn_base
        ldr     x16, [x16, :lo12:__cairn_base]
        .endm

        .macro  thread_local
        adrp    x16, __cairn_local
        ldr     x16, [x16, :lo12:__cairn_local]
        mrs     x17, tpidr_el0
        .endm

/* call calls a routine of the runtime. */
        .macro  call routine
        stp     x16, x30, [sp, -16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset 30, -8
        bl      \routine
        ldp     x16, x30, [sp], 16
        .cfi_adjust_cfa_offset -16
        .cfi_restore 30
        .endm

        .macro  push
        stp     x14, x15, [sp, -16]!
        .cfi_adjust_cfa_offset 16
        .endm

        .macro  pop
        ldp     x14, x15, [sp], 16
        .cfi_adjust_cfa_offset -16
        .endm

#if SPIKE
        .macro  enter f
        base
        mov     w17, wsp
        add     x17, x16, x17
        ldur    w16, [x16, -64]
        str     w16, [x17]
        .endm
        .macro  leave f, k
        base
        mov     w17, wsp
        ldr     w17, [x16, x17]
        ldur    x16, [x16, -64]
        sub     w17, w17, w16
        add     x17, x17, x16, lsr 32
        tbnz    w17, 31, .Lslow_\f
.Lleft_\f:
        .endm
        .macro  stubs f
.Lslow_\f:
        call    __cairn_slow
        b       .Lleft_\f
        .endm
#elif EXACT
        .macro  enter f
        base
        mov     w17, wsp
        add     x17, x16, x17
        mrs     x16, cntvct_el0
        str     x16, [x17]
        .endm
        .macro  leave f, k
        base
        mov     w17, wsp
        ldr     x17, [x16, x17]
        ldur    x16, [x16, -40]
        add     x17, x17, x16
        mrs     x16, cntvct_el0
        sub     x17, x17, x16
        tbnz    x17, 63, .Lslow_\f
.Lleft_\f:
        .endm
        .macro  stubs f
.Lslow_\f:
        call    __cairn_slow
        b       .Lleft_\f
        .endm
#elif TRACE
        .macro  event f, kind, k
        thread_local
        add     x16, x16, x17
        ldr     x17, [x16]
        add     x17, x17, 8
        tst     x17, 0xffff
        b.eq    .Lfull\k\()_\f
.Lback\k\()_\f:
        str     x17, [x16]
        adrp    x16, __cairn_tracer
        ldr     x16, [x16, :lo12:__cairn_tracer]
        ldr     w16, [x16]
        stur    w16, [x17, -8]
        adrp    x16, \f + \kind
        add     x16, x16, :lo12:\f + \kind
        stur    w16, [x17, -4]
        .endm
        .macro  full f, k
.Lfull\k\()_\f:
        call    __cairn_trace_full
        b       .Lback\k\()_\f
        .endm
#if DEPTH
        .macro  shallow f, k
        thread_local
        add     x16, x16, x17
        ldr     x16, [x16, 8]
        mov     x17, sp
        cmp     x17, x16
        b.hs    .Lnear\k\()_\f
.Lgone\k\()_\f:
        .endm
        .macro  near f, kind, routine, k
.Lnear\k\()_\f:
        mov     x17, sp
        call    \routine
        event   \f, \kind, \k
        b       .Lgone\k\()_\f
        full    \f, \k
        .endm
        .macro  enter f
        shallow \f, 0
        .endm
        .macro  leave f, k
        shallow \f, \k
        .endm
        .macro  stubs f
        near    \f, 0, __cairn_trace_deeper, 0
        near    \f, 1, __cairn_trace_upper, 1
        .endm
#else
        .macro  enter f
        event   \f, 0, 0
        .endm
        .macro  leave f, k
        event   \f, 1, \k
        .endm
        .macro  stubs f
        full    \f, 0
        full    \f, 1
        .endm
#endif
#elif FLIGHT
        .macro  enter f
.Lbegin_\f:
        push
        base
        add     w17, wsp, 16
        ldur    w15, [x16, -64]
        str     w15, [x16, x17]
        add     w14, wsp, 16
        thread_local
        add     x16, x16, x17
        ldr     w17, [x16, 8]
        cmp     w17, w15
        b.ne    .Lmoved_\f
        ldr     w17, [x16, 12]
        sub     w17, w14, w17
        lsr     w17, w17, 12
        cbnz    w17, .Lelsewhere_\f
        sub     w17, w14, 2047
        str     w17, [x16, 12]
        ldr     x17, [x16]
        add     x17, x17, 8
        tst     x17, 0xffff
        b.eq    .Lmoved_\f
        str     x17, [x16]
        adrp    x15, \f
        add     x15, x15, :lo12:\f
        stp     w15, w14, [x17, -8]
        pop
        .endm
        .macro  leave f, k
        thread_local
        add     x16, x16, x17
        mov     w17, wsp
        str     w17, [x16, 12]
        base
        mov     w17, wsp
        ldr     w17, [x16, x17]
        ldur    x16, [x16, -64]
        sub     w17, w17, w16
        add     x17, x17, x16, lsr 32
        tbnz    w17, 31, .Lslow_\f
.Lleft_\f:
        .endm
        .macro  stubs f
.Lslow_\f:
        call    __cairn_slow
        b       .Lleft_\f
        .cfi_adjust_cfa_offset 16
.Lmoved_\f:
        pop
        call    __cairn_flight_slow
        b       .Lbegin_\f
        .cfi_adjust_cfa_offset 16
.Lelsewhere_\f:
        pop
        call    __cairn_flight_left
        b       .Lbegin_\f
        .endm
#elif STACKS
        .macro  enter f
        push
        thread_local
        add     x16, x16, x17
        ldr     x14, [x16]
        ldr     x15, [x14, 64 + 8 * \f\()_hash]
        adrp    x17, .Lmiss_\f
        add     x17, x17, :lo12:.Lmiss_\f
        ldr     x14, [x15, 8]
        cmp     x14, x17
        b.ne    .Lmiss_\f
.Lnode_\f:
        str     x15, [x16]
        base
        add     w14, wsp, 16
        ldr     x17, [x15, 16]
        add     x17, x17, 1
        str     x17, [x15, 16]
        str     w14, [x15, 48]
        str     x15, [x16, x14]
        ldur    x16, [x16, -48]
        ldr     x17, [x15, 24]
        sub     x17, x17, x16
        str     x17, [x15, 24]
        pop
        .endm
        .macro  leave f, k
        push
        base
        add     w14, wsp, 16
        ldr     x15, [x16, x14]
        ldur    x16, [x16, -48]
        ldr     x17, [x15, 24]
        add     x17, x17, x16
        str     x17, [x15, 24]
        ldr     x15, [x15]
        thread_local
        str     x15, [x16, x17]
        pop
        .endm
        .macro  stubs f
        .byte   0, 0, 0
        .long   .Lmiss_\f - \f
        .byte   \f\()_hash
        .cfi_adjust_cfa_offset 16
.Lmiss_\f:
        call    __cairn_tree_enter
        mov     x15, x17
        b       .Lnode_\f
        .endm
/* Two share a slot. */
        .set    outer_hash, 3
        .set    middle_hash, 5
        .set    nap_hash, 5
        .set    quick_hash, 7
        .set    last_hash, 7
#endif

        .macro  function f
        .text
        .balign 8
        .globl  \f
        .type   \f, %function
\f:
        .cfi_startproc
        hint    25                      // paciasp
        .cfi_negate_ra_state
        enter   \f
        stp     x29, x30, [sp, -32]!
        .cfi_def_cfa_offset 32
        .cfi_offset 29, -32
        .cfi_offset 30, -24
        mov     x29, sp
        .endm

        .macro  end f, how:vararg
        ldp     x29, x30, [sp], 32
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        hint    29                      // autiasp
        .cfi_negate_ra_state
        leave   \f, 1
        \how
        stubs   \f
        .cfi_endproc
        .size   \f, . - \f
        .endm

        function outer
        bl      middle
        end     outer, ret

        function middle
        mov     x2, x0
        mov     x0, x1
        blr     x2
        end     middle, ret

/* nap keeps the registers that it uses. Of 0x1000 it makes 30 milliseconds. */
        function nap
        str     x8, [sp, 16]
        stp     x0, x1, [sp, -32]!
        .cfi_adjust_cfa_offset 32
        mov     x1, 30
        tst     x0, 0xfff
        csel    x0, x1, x0, eq
        mov     x8, 16960
        movk    x8, 15, lsl 16          // 1000000
        mul     x0, x0, x8
        stp     xzr, x0, [sp, 16]
        add     x0, sp, 16
        mov     x1, 0
        mov     x8, 101                 // nanosleep
        svc     0
        ldp     x0, x1, [sp], 32
        .cfi_adjust_cfa_offset -32
        ldr     x8, [sp, 16]
        end     nap, ret

        function quick
        end     quick, b last

        function last
        end     last, ret

/* long vectors_kept(void (*f)(long), long n) calls f(n) with known values in all vectors, and
 * returns 0 if they still are there. */
        .globl  vectors_kept
        .type   vectors_kept, %function
vectors_kept:
        .cfi_startproc
        hint    34
        stp     x29, x30, [sp, -96]!
        .cfi_def_cfa_offset 96
        .cfi_offset 29, -96
        .cfi_offset 30, -88
        mov     x29, sp
        stp     d8, d9, [sp, 16]
        stp     d10, d11, [sp, 32]
        stp     d12, d13, [sp, 48]
        stp     d14, d15, [sp, 64]
        mov     x2, x0
        mov     x0, x1
        .irp    v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        mov     w3, 0x100 + \v
        dup     v\v\().4s, w3
        .endr
        blr     x2
        mov     x0, 0
        .irp    v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        .irp    half, 0, 1
        mov     x1, 0x100 + \v
        orr     x1, x1, x1, lsl 32
        umov    x2, v\v\().d[\half]
        eor     x1, x1, x2
        orr     x0, x0, x1
        .endr
        .endr
        ldp     d14, d15, [sp, 64]
        ldp     d12, d13, [sp, 48]
        ldp     d10, d11, [sp, 32]
        ldp     d8, d9, [sp, 16]
        ldp     x29, x30, [sp], 96
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   vectors_kept, . - vectors_kept

#if !TRACE
        .hidden __cairn_base
#endif
#if SPIKE || EXACT || FLIGHT
        .hidden __cairn_slow
#endif
#if FLIGHT
        .hidden __cairn_flight_slow, __cairn_flight_left
#endif
#if TRACE
        .hidden __cairn_trace_full
#endif
#if DEPTH
        .hidden __cairn_trace_deeper, __cairn_trace_upper
#endif
#if STACKS
        .hidden __cairn_tree_enter
#endif

        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .section .note.GNU-stack, "", %progbits

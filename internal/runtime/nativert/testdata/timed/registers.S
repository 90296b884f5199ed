/* int check(void *stamp_slot_base, unsigned stamp): calls __cairn_slow with
 * known values in all registers, as an exit does, and returns how many came back
 * as others. The stamp is put where the frame's is looked for. With FLIGHT it calls
 * __cairn_flight_slow. */
        .text
        .globl  check
        .type   check, @function
check:  .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        movq    __cairn_base(%rip), %r10
        leaq    -8(%rsp), %r11          /* the frame's stack pointer at entry */
        movl    %r11d, %r11d
        movl    %esi, (%r10,%r11)
        call    exits
        popq    %r15
        .cfi_adjust_cfa_offset -8
        popq    %r14
        .cfi_adjust_cfa_offset -8
        popq    %r13
        .cfi_adjust_cfa_offset -8
        popq    %r12
        .cfi_adjust_cfa_offset -8
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc

        .macro  set r, v
        movq    $\v, %\r
        .endm
        .macro  verify r, v
        cmpq    $\v, %\r
        je      1f
        incl    bad(%rip)
1:
        .endm
        .macro  vector n, v
        movl    $\v, %eax
        movd    %eax, %xmm\n
        pshufd  $0, %xmm\n, %xmm\n
        .endm
        .macro  verify_vector n, v
        movl    $\v, %eax
        movd    %eax, %xmm15
        pshufd  $0, %xmm15, %xmm15
        pcmpeqb %xmm\n, %xmm15
        pmovmskb %xmm15, %eax
        cmpl    $0xffff, %eax
        je      1f
        incl    bad(%rip)
1:
        .endm

exits:  .cfi_startproc
        movl    $0, bad(%rip)
        vector  0, 0x1010101
        vector  1, 0x2020202
        vector  7, 0x3030303
        cmpl    $0, has_avx(%rip)
        je      1f
        vinsertf128 $1, %xmm1, %ymm0, %ymm0
1:      fldpi
        set     rax, 0x11
        set     rbx, 0x12
        set     rcx, 0x13
        set     rdx, 0x14
        set     rsi, 0x15
        set     rdi, 0x16
        set     rbp, 0x17
        set     r8, 0x18
        set     r9, 0x19
        set     r10, 0x20
        set     r11, 0x21
        set     r12, 0x22
        set     r13, 0x23
        set     r14, 0x24
        set     r15, 0x25
#ifdef FLIGHT
        call    __cairn_flight_slow     /* as an entry does */
        set     r11, 0x21               /* which is free there */
#else
        call    __cairn_slow
#endif
        verify  rax, 0x11
        verify  rbx, 0x12
        verify  rcx, 0x13
        verify  rdx, 0x14
        verify  rsi, 0x15
        verify  rdi, 0x16
        verify  rbp, 0x17
        verify  r8, 0x18
        verify  r9, 0x19
        verify  r10, 0x20
        verify  r11, 0x21
        verify  r12, 0x22
        verify  r13, 0x23
        verify  r14, 0x24
        verify  r15, 0x25
        cmpl    $0, has_avx(%rip)
        je      1f
        vextractf128 $1, %ymm0, %xmm14
        verify_vector 14, 0x2020202
1:      verify_vector 0, 0x1010101
        verify_vector 1, 0x2020202
        verify_vector 7, 0x3030303
        fldpi
        fcomip  %st(1), %st
        je      1f
        incl    bad(%rip)
1:      fstp    %st(0)
        movl    bad(%rip), %eax
        ret
        .cfi_endproc

        .bss
        .globl  has_avx
bad:    .long   0
has_avx: .long  0
        .section .note.GNU-stack, "", @progbits

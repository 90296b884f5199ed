# check(hook) calls a hook with the registers that the program set, and keeps what they are afterwards: rax to r15 but for rsp,
# flags, the words above the stack pointer, which a caller's home space and arguments are, and those of xsave. The stack is
# aligned if regs_aligned is 1.

        .macro  ALL insn, base
        \insn   %rax, \base+0(%rip)
        \insn   %rbx, \base+8(%rip)
        \insn   %rcx, \base+16(%rip)
        \insn   %rdx, \base+24(%rip)
        \insn   %rsi, \base+32(%rip)
        \insn   %rdi, \base+40(%rip)
        \insn   %rbp, \base+48(%rip)
        \insn   %r8, \base+56(%rip)
        \insn   %r9, \base+64(%rip)
        \insn   %r10, \base+72(%rip)
        \insn   %r11, \base+80(%rip)
        \insn   %r12, \base+88(%rip)
        \insn   %r13, \base+96(%rip)
        \insn   %r14, \base+104(%rip)
        \insn   %r15, \base+112(%rip)
        .endm

        .text
        .globl  check
        .seh_proc check
check:
        pushq   %rbp
        .seh_pushreg %rbp
        pushq   %rbx
        .seh_pushreg %rbx
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        pushq   %r12
        .seh_pushreg %r12
        pushq   %r13
        .seh_pushreg %r13
        pushq   %r14
        .seh_pushreg %r14
        pushq   %r15
        .seh_pushreg %r15
        subq    $72, %rsp
        .seh_stackalloc 72
        .seh_endprologue
        movq    %rcx, hook(%rip)
        movl    $7, %eax
        xorl    %edx, %edx
        xrstor64 regs_in+256(%rip)
        cmpl    $1, regs_aligned(%rip)
        je      1f
        pushq   %rax
1:      .set    i, 0
        .rept   8
        movq    regs_in+128+i(%rip), %rax
        movq    %rax, i(%rsp)
        .set    i, i+8
        .endr
        .macro  LOAD reg, at
        movq    \at, \reg
        .endm
        ALL     LOAD, regs_in
        pushq   regs_in+120(%rip)
        popfq
        call    *hook(%rip)
        ALL     movq, regs_out
        pushfq
        popq    regs_out+120(%rip)
        cld
        .set    i, 0
        .rept   8
        movq    i(%rsp), %rax
        movq    %rax, regs_out+128+i(%rip)
        .set    i, i+8
        .endr
        movl    $7, %eax
        xorl    %edx, %edx
        xsave64 regs_out+256(%rip)
        cmpl    $1, regs_aligned(%rip)
        je      2f
        popq    %rax
2:      addq    $72, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rdi
        popq    %rsi
        popq    %rbx
        popq    %rbp
        ret
        .seh_endproc

        .bss
hook:   .quad   0

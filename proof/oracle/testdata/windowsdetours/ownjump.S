# setjmp and longjmp as a C library has them that is linked into the program: their own, without unwind information.
        .globl  own_setjmp
own_setjmp:
        movq    (%rsp), %rax
        movq    %rax, (%rcx)
        leaq    8(%rsp), %rax
        movq    %rax, 8(%rcx)
        movq    %rbx, 16(%rcx)
        movq    %rbp, 24(%rcx)
        movq    %rsi, 32(%rcx)
        movq    %rdi, 40(%rcx)
        movq    %r12, 48(%rcx)
        movq    %r13, 56(%rcx)
        movq    %r14, 64(%rcx)
        movq    %r15, 72(%rcx)
        xorl    %eax, %eax
        ret
        .globl  longjmp
longjmp:
        movq    16(%rcx), %rbx
        movq    24(%rcx), %rbp
        movq    32(%rcx), %rsi
        movq    40(%rcx), %rdi
        movq    48(%rcx), %r12
        movq    56(%rcx), %r13
        movq    64(%rcx), %r14
        movq    72(%rcx), %r15
        movq    8(%rcx), %rsp
        movl    %edx, %eax
        jmp     *(%rcx)

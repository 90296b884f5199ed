/* find_record sets %rdx to the record of the function whose stub made a call. 24(%rsp) is the
 * return address of that call; %rax and %rcx are changed. The branch to the stub has two bytes, or
 * six that start with the two bytes far. See first_x86_64.S for the layout of a probe. */
        .macro  find_record far
        movq    24(%rsp), %rax          /* the jmp */
        movsbq  1(%rax), %rcx
        leaq    2(%rax,%rcx), %rdx      /* back, if the branch is short */
        cmpb    $0xeb, (%rax)
        je      1f
        movslq  1(%rax), %rcx
        leaq    5(%rax,%rcx), %rdx
1:      subq    $5, %rax                /* the stub */
        subq    %rdx, %rax              /* displacement of the branch */
        movslq  -4(%rdx), %rcx
        cmpq    %rax, %rcx              /* does the branch have far and that displacement? */
        jne     2f
        cmpw    $\far, -6(%rdx)
        jne     2f
        subq    $4, %rdx
2:      subq    $2, %rdx                /* end of the probe's first instruction */
        movslq  -5(%rdx), %rcx
        addq    %rcx, %rdx              /* the record */
        .endm

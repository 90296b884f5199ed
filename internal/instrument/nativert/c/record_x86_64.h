/* find_record sets %rdx to the record of the function whose stub made a call.
 * 24(%rsp) is the return address of that call; %rax and %rcx are used up. The
 * branch to the stub is two bytes long, or six, and starts with the two bytes
 * in far. See first_x86_64.S for what a probe looks like. */
        .macro  find_record far
        movq    24(%rsp), %rax          /* the jmp */
        movsbq  1(%rax), %rcx
        leaq    2(%rax,%rcx), %rdx      /* back, if it is short */
        cmpb    $0xeb, (%rax)
        je      1f
        movslq  1(%rax), %rcx
        leaq    5(%rax,%rcx), %rdx
1:      subq    $5, %rax                /* the stub */
        subq    %rdx, %rax              /* displacement of the branch */
        movslq  -4(%rdx), %rcx
        cmpq    %rax, %rcx              /* far and that displacement? */
        jne     2f
        cmpw    $\far, -6(%rdx)
        jne     2f
        subq    $4, %rdx
2:      subq    $2, %rdx                /* end of the probe's first instruction */
        movslq  -5(%rdx), %rcx
        addq    %rcx, %rdx              /* the record */
        .endm

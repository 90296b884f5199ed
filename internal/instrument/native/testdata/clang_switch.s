	.file	"switch.c"
	.text
	.globl	pick                            # -- Begin function pick
	.p2align	4
	.type	pick,@function
pick:                                   # @pick
	.cfi_startproc
# %bb.0:
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movl	%edi, %eax
	cmpl	$7, %edi
	ja	.LBB0_3
# %bb.1:
	movl	%eax, %ecx
	leaq	.LJTI0_0(%rip), %rdx
	movslq	(%rdx,%rcx,4), %rcx
	addq	%rdx, %rcx
	jmpq	*%rcx
.LBB0_2:
	movl	$3, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.LBB0_7:
	.cfi_def_cfa_offset 16
	movl	$38, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.LBB0_11:
	.cfi_def_cfa_offset 16
	leaq	.L.str.2(%rip), %rdi
	popq	%rbx
	.cfi_def_cfa_offset 8
	jmp	puts@PLT                        # TAILCALL
.LBB0_3:
	.cfi_def_cfa_offset 16
	cmpl	$10, %eax
	jl	.LBB0_10
# %bb.4:
	leaq	.L.str.3(%rip), %rbx
	.p2align	4
.LBB0_5:                                # =>This Inner Loop Header: Depth=1
	movq	%rbx, %rdi
	callq	puts@PLT
	cmpl	$9, %eax
	jg	.LBB0_5
.LBB0_10:
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.LBB0_6:
	.cfi_def_cfa_offset 16
	leaq	.L.str(%rip), %rdi
	popq	%rbx
	.cfi_def_cfa_offset 8
	jmp	puts@PLT                        # TAILCALL
.LBB0_8:
	.cfi_def_cfa_offset 16
	leaq	.L.str.1(%rip), %rdi
	callq	puts@PLT
	addl	$7, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.LBB0_9:
	.cfi_def_cfa_offset 16
	movl	$5, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end0:
	.size	pick, .Lfunc_end0-pick
	.cfi_endproc
	.section	.rodata,"a",@progbits
	.p2align	2, 0x0
.LJTI0_0:
	.long	.LBB0_2-.LJTI0_0
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_7-.LJTI0_0
	.long	.LBB0_8-.LJTI0_0
	.long	.LBB0_9-.LJTI0_0
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_11-.LJTI0_0
                                        # -- End function
	.type	.L.str,@object                  # @.str
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str:
	.asciz	"one"
	.size	.L.str, 4

	.type	.L.str.1,@object                # @.str.1
.L.str.1:
	.asciz	"three"
	.size	.L.str.1, 6

	.type	.L.str.2,@object                # @.str.2
.L.str.2:
	.asciz	"seven"
	.size	.L.str.2, 6

	.type	.L.str.3,@object                # @.str.3
.L.str.3:
	.asciz	"loop"
	.size	.L.str.3, 5

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

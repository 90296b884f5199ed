# Code whose counters in mode edge have all of their forms.

	.text
	.globl	shared
	.type	shared, @function
shared:
	.cfi_startproc
	movl	$1, %r8d
	cmpl	%esi, %edi
	je	.L20
	movl	$2, %eax
	jmp	.L21			# where it leads the flags are read
.L20:
	movl	$3, %eax
.L21:
	jl	.L22
	addl	%r8d, %eax
.L22:
	movl	$4, %ecx
	addl	%ecx, %eax
	ret
	.cfi_endproc
	.size	shared, .-shared

	.globl	saves
	.type	saves, @function
saves:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	cmpl	%esi, %edi
	je	.L30
	movl	$2, (%rsp)
	jmp	.L31
.L30:
	movl	$3, (%rsp)		# no register is overwritten anywhere
.L31:
	jl	.L32
	movl	$4, 4(%rsp)
.L32:
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	saves, .-saves

	.globl	ways
	.type	ways, @function
ways:
	.cfi_startproc
.L40:
	movl	(%rdi), %eax
	addq	$4, %rdi
	cmpl	$7, %eax
	je	.L41
	cmpl	$9, %eax
	je	.L41
	cmpl	%eax, %esi
	jle	.L40
	addl	$5, %eax
.L41:
	addl	$6, %eax
	ret
	.cfi_endproc
	.size	ways, .-ways

	.globl	popped
	.type	popped, @function
popped:
	.cfi_startproc
	pushq	$1
	.cfi_def_cfa_offset 16
	testl	%edi, %edi
	je	.L50
	call	first
	popq	%rcx
	.cfi_def_cfa_offset 8
	jmp	.L51
.L50:
	.cfi_def_cfa_offset 16
	call	second
	popq	%rcx
	.cfi_def_cfa_offset 8
.L51:
	ret
	.cfi_endproc
	.size	popped, .-popped

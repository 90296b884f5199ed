	.file	"odd.c"
	.text
#APP
	.text
	.globl toplevel
	.type toplevel, @function
toplevel:
	ret
	.size toplevel, .-toplevel

#NO_APP
	.section	.text.naked,"ax",@progbits
	.p2align 4
	.globl	naked
	.type	naked, @function
naked:
1:	call	*mcount@GOTPCREL(%rip)
#APP
# 4 "odd.c" 1
	leal 2(%rdi), %eax
	ret
# 0 "" 2
#NO_APP
	ud2
	.size	naked, .-naked
	.section	.text.cairn_skip,"ax",@progbits
	.p2align 4
	.globl	skipped
	.type	skipped, @function
skipped:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	popq	%rbp
	movl	%edi, %eax
	ret
	.size	skipped, .-skipped
	.section	.text.unlikely.cold,"ax",@progbits
	.globl	cold
	.type	cold, @function
cold:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	popq	%rbp
	jmp	*hook(%rip)
	.size	cold, .-cold
	.section	.text.tls,"ax",@progbits
	.p2align 4
	.globl	tls
	.type	tls, @function
tls:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	movl	%fs:counter@tpoff, %eax
	addl	$1, %eax
	movl	%eax, %fs:counter@tpoff
	popq	%rbp
	ret
	.size	tls, .-tls
	.section	.text.inlined,"ax",@progbits
	.p2align 4
	.globl	inlined
	.type	inlined, @function
inlined:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	xorl	%eax, %eax
#APP
# 10 "odd.c" 1
	cmpl $3, %edi
	jl 1f
	movl $7, %eax
1:
# 0 "" 2
#NO_APP
	popq	%rbp
	ret
	.size	inlined, .-inlined
	.section	.text.asmgoto,"ax",@progbits
	.p2align 4
	.globl	asmgoto
	.type	asmgoto, @function
asmgoto:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
#APP
# 14 "odd.c" 1
	testl %edi, %edi
	js .L9
# 0 "" 2
#NO_APP
	xorl	%eax, %eax
	popq	%rbp
	ret
	.p2align 4,,10
	.p2align 3
.L9:
.L8:
	movl	$1, %eax
	popq	%rbp
	ret
	.size	asmgoto, .-asmgoto
	.section	.text.computed,"ax",@progbits
	.p2align 4
	.globl	computed
	.type	computed, @function
computed:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	leaq	ops.0(%rip), %rcx
	xorl	%edx, %edx
	movsbq	(%rdi), %rax
	movq	(%rcx,%rax,8), %rax
	addq	$2, %rdi
	jmp	*%rax
	.p2align 4,,10
	.p2align 3
.L15:
	movl	%edx, %eax
	popq	%rbp
	ret
	.p2align 4,,10
	.p2align 3
.L13:
	movsbq	-1(%rdi), %rax
	subl	$1, %edx
	addq	$1, %rdi
	movq	(%rcx,%rax,8), %rax
	jmp	*%rax
	.p2align 4,,10
	.p2align 3
.L12:
	movsbq	-1(%rdi), %rax
	addl	$1, %edx
	addq	$1, %rdi
	movq	(%rcx,%rax,8), %rax
	jmp	*%rax
	.size	computed, .-computed
	.section	.text.tail,"ax",@progbits
	.p2align 4
	.globl	tail
	.type	tail, @function
tail:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	testl	%edi, %edi
	je	.L21
	subl	$1, %edi
#APP
# 14 "odd.c" 1
	testl %edi, %edi
	js .L23
# 0 "" 2
#NO_APP
	xorl	%eax, %eax
	popq	%rbp
	ret
	.p2align 4,,10
	.p2align 3
.L21:
#APP
# 10 "odd.c" 1
	cmpl $3, %edi
	jl 1f
	movl $7, %edi
1:
# 0 "" 2
#NO_APP
	popq	%rbp
	movl	%edi, %eax
	ret
	.p2align 4,,10
	.p2align 3
.L23:
.L22:
	movl	$1, %eax
	popq	%rbp
	ret
	.size	tail, .-tail
	.section	.text.unlikely.unreachable,"ax",@progbits
	.globl	unreachable
	.type	unreachable, @function
unreachable:
	pushq	%rbp
	movq	%rsp, %rbp
1:	call	*mcount@GOTPCREL(%rip)
	.size	unreachable, .-unreachable
	.section	.data.rel.ro.local,"aw"
	.align 16
	.type	ops.0, @object
	.size	ops.0, 24
ops.0:
	.quad	.L15
	.quad	.L12
	.quad	.L13
	.globl	counter
	.section	.tbss,"awT",@nobits
	.align 4
	.type	counter, @object
	.size	counter, 4
counter:
	.zero	4
	.section	.note.GNU-stack,"",@progbits

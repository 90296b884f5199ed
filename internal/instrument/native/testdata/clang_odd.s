	.section	.note.gnu.property,"a",@note
	.p2align	3, 0x0
	.long	4
	.long	16
	.long	5
	.asciz	"GNU"
	.long	3221225474
	.long	4
	.long	3
	.p2align	3, 0x0
	.text
	.file	"odd.c"
                                        # Start of file scope inline assembly
.text
	.globl toplevel
	.type toplevel, @function
toplevel:
	ret
	.size toplevel, .-toplevel

                                        # End of file scope inline assembly
	.section	.text.naked,"ax",@progbits
	.globl	naked                           # -- Begin function naked
	.p2align	4
	.type	naked,@function
naked:                                  # @naked
	.cfi_startproc
# %bb.0:
	endbr64
	#APP
	leal 2(%rdi), %eax
	ret
	#NO_APP
.Lfunc_end0:
	.size	naked, .Lfunc_end0-naked
	.cfi_endproc
                                        # -- End function
	.section	.text.cairn_skip,"ax",@progbits
	.globl	skipped                         # -- Begin function skipped
	.p2align	4
	.type	skipped,@function
skipped:                                # @skipped
	.cfi_startproc
# %bb.0:
	endbr64
	movl	%edi, %eax
	retq
.Lfunc_end1:
	.size	skipped, .Lfunc_end1-skipped
	.cfi_endproc
                                        # -- End function
	.section	.text.unlikely.cold,"ax",@progbits
	.globl	cold                            # -- Begin function cold
	.type	cold,@function
cold:                                   # @cold
	.cfi_startproc
# %bb.0:
	endbr64
	movq	hook@GOTPCREL(%rip), %rax
	jmpq	*(%rax)                         # TAILCALL
.Lfunc_end2:
	.size	cold, .Lfunc_end2-cold
	.cfi_endproc
                                        # -- End function
	.section	.text.tls,"ax",@progbits
	.globl	tls                             # -- Begin function tls
	.p2align	4
	.type	tls,@function
tls:                                    # @tls
	.cfi_startproc
# %bb.0:
	endbr64
	pushq	%rax
	.cfi_def_cfa_offset 16
	data16
	leaq	counter@TLSGD(%rip), %rdi
	data16
	data16
	rex64
	callq	__tls_get_addr@PLT
	movl	(%rax), %ecx
	incl	%ecx
	movl	%ecx, (%rax)
	movl	%ecx, %eax
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end3:
	.size	tls, .Lfunc_end3-tls
	.cfi_endproc
                                        # -- End function
	.section	.text.inlined,"ax",@progbits
	.globl	inlined                         # -- Begin function inlined
	.p2align	4
	.type	inlined,@function
inlined:                                # @inlined
	.cfi_startproc
# %bb.0:
	endbr64
	xorl	%eax, %eax
	#APP
	cmpl $3, %edi
	jl 1f
	movl $7, %eax
1:
	#NO_APP
	retq
.Lfunc_end4:
	.size	inlined, .Lfunc_end4-inlined
	.cfi_endproc
                                        # -- End function
	.section	.text.asmgoto,"ax",@progbits
	.globl	asmgoto                         # -- Begin function asmgoto
	.p2align	4
	.type	asmgoto,@function
asmgoto:                                # @asmgoto
	.cfi_startproc
# %bb.0:
	endbr64
	xorl	%eax, %eax
	#APP
	testl %edi, %edi
	js .LBB5_1
	#NO_APP
# %bb.2:
	retq
.LBB5_1:                                # Inline asm indirect target
                                        # Label of block must be emitted
	movl	$1, %eax
	retq
.Lfunc_end5:
	.size	asmgoto, .Lfunc_end5-asmgoto
	.cfi_endproc
                                        # -- End function
	.section	.text.computed,"ax",@progbits
	.globl	computed                        # -- Begin function computed
	.p2align	4
	.type	computed,@function
computed:                               # @computed
	.cfi_startproc
# %bb.0:
	endbr64
	xorl	%eax, %eax
	movsbq	(%rdi), %rdx
	leaq	computed.ops(%rip), %rcx
	incq	%rdi
	jmpq	*(%rcx,%rdx,8)
	.p2align	4
.Ltmp0:                                 # Block address taken
.LBB6_1:                                # =>This Inner Loop Header: Depth=1
	endbr64
	addl	$1, %eax
	movsbq	(%rdi), %rdx
	incq	%rdi
	jmpq	*(%rcx,%rdx,8)
.Ltmp1:                                 # Block address taken
.LBB6_2:                                # =>This Inner Loop Header: Depth=1
	endbr64
	addl	$-1, %eax
	movsbq	(%rdi), %rdx
	incq	%rdi
	jmpq	*(%rcx,%rdx,8)
.Ltmp2:                                 # Block address taken
.LBB6_3:
	endbr64
	retq
.Lfunc_end6:
	.size	computed, .Lfunc_end6-computed
	.cfi_endproc
                                        # -- End function
	.section	.text.tail,"ax",@progbits
	.globl	tail                            # -- Begin function tail
	.p2align	4
	.type	tail,@function
tail:                                   # @tail
	.cfi_startproc
# %bb.0:
	endbr64
	testl	%edi, %edi
	je	.LBB7_3
# %bb.1:
	decl	%edi
	xorl	%eax, %eax
	#APP
	testl %edi, %edi
	js .LBB7_2
	#NO_APP
# %bb.4:
	retq
.LBB7_3:
	xorl	%ecx, %ecx
	xorl	%eax, %eax
	#APP
	cmpl $3, %ecx
	jl 1f
	movl $7, %eax
1:
	#NO_APP
	retq
.LBB7_2:                                # Inline asm indirect target
                                        # Label of block must be emitted
	movl	$1, %eax
	retq
.Lfunc_end7:
	.size	tail, .Lfunc_end7-tail
	.cfi_endproc
                                        # -- End function
	.section	.text.unreachable,"ax",@progbits
	.globl	unreachable                     # -- Begin function unreachable
	.p2align	4
	.type	unreachable,@function
unreachable:                            # @unreachable
	.cfi_startproc
# %bb.0:
	endbr64
.Lfunc_end8:
	.size	unreachable, .Lfunc_end8-unreachable
	.cfi_endproc
                                        # -- End function
	.type	counter,@object                 # @counter
	.section	.tbss,"awT",@nobits
	.globl	counter
	.p2align	2, 0x0
counter:
	.long	0                               # 0x0
	.size	counter, 4

	.type	computed.ops,@object            # @computed.ops
	.section	.data.rel.ro,"aw",@progbits
	.p2align	4, 0x0
computed.ops:
	.quad	.Ltmp2
	.quad	.Ltmp0
	.quad	.Ltmp1
	.size	computed.ops, 24

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

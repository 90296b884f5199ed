/* lbr_dispatch: branches to computed addresses, in rax; slots of the state hold the program's rax
 * and the first word of the event. It preserves all registers and flags, and does not use the
 * stack.
 *
 * Each module has its own routine, which looks up the target in the module's tables. Other targets
 * are looked up by their page: it may belong to another module, or to code without a copy, which
 * runs unchanged. */

#define SAVE 0
#define SAVE_RCX 8
#define FLAGS 16
#define TARGET 24
#define GO 32
#define FROM 40
#define POSITION 48
#define MODULE 56

/* struct module */
#define MODULE_SHIFT 8
#define LO 0
#define SIZE 8
#define ENTRY 16
#define CODE 24

#define MAX_MODULES 64
#define LEAVES 4096
#define FROM_OUTSIDE 6

	.text
	.globl	lbr_dispatch, lbr_dispatch_end
	.hidden	lbr_dispatch, lbr_dispatch_end, lbr_modules, lbr_regions, lbr_leaves

	.balign	256
	.type	lbr_dispatch, @function
lbr_dispatch:
	.set	n, 0
	.rept	MAX_MODULES
	.set	own, n << MODULE_SHIFT
	.org	lbr_dispatch + n * 256		/* DISPATCH_SIZE */
	movq	%rcx, %gs:SAVE_RCX
	movq	%rax, %gs:TARGET
	lahf
	seto	%al
	movq	%rax, %gs:FLAGS
	movq	%gs:TARGET, %rcx
	subq	lbr_modules+own+LO(%rip), %rcx
	cmpq	lbr_modules+own+SIZE(%rip), %rcx
	jae	2f
	movq	lbr_modules+own+ENTRY(%rip), %rax
	movl	(%rax,%rcx,4), %eax
	testl	%eax, %eax
	jz	2f
	addq	lbr_modules+own+CODE(%rip), %rax
	movq	%rax, %gs:GO
	movq	%gs:POSITION, %rax
	movl	%ecx, 4(%rax)			/* faults where the buffer ends */
	movl	$n << 16, 12(%rax)
	movl	%gs:FROM, %ecx
	movl	%ecx, (%rax)
	movl	%esp, 8(%rax)
	leaq	16(%rax), %rax
	movq	%rax, %gs:POSITION
	movq	%gs:FLAGS, %rax
	addb	$0x7f, %al			/* the overflow flag is 1 if al is */
	sahf
	movq	%gs:SAVE_RCX, %rcx
	movq	%gs:SAVE, %rax
	jmp	*%gs:GO
2:	movl	$n << 16, %gs:MODULE
	jmp	elsewhere
	.set	n, n + 1
	.endr

	.org	lbr_dispatch + MAX_MODULES * 256
/* elsewhere finds the module of the target's page. */
elsewhere:
	movq	%gs:TARGET, %rcx
	shrq	$30, %rcx			/* REGION_SHIFT */
	cmpq	$1 << 17, %rcx			/* REGIONS */
	jae	2f
	leaq	lbr_regions(%rip), %rax
	movq	(%rax,%rcx,8), %rax
	testq	%rax, %rax
	jz	2f
	movq	%gs:TARGET, %rcx
	shrq	$12, %rcx
	andl	$(1 << 18) - 1, %ecx
	movzbl	(%rax,%rcx), %ecx		/* one more than the module's number */
	testl	%ecx, %ecx
	jz	2f
	shll	$MODULE_SHIFT, %ecx
	leaq	lbr_modules-(1 << MODULE_SHIFT)(%rip), %rax
	addq	%rcx, %rax
	movq	%rax, %gs:GO
	movq	%gs:TARGET, %rcx
	subq	LO(%rax), %rcx
	movq	ENTRY(%rax), %rax
	movl	(%rax,%rcx,4), %eax
	testl	%eax, %eax
	movq	%gs:GO, %rcx
	jz	2f
	addq	CODE(%rcx), %rax
	jmp	3f
2:	movq	%gs:TARGET, %rcx		/* no copy: the original, whatever it is */
	shrq	$1, %rcx			/* functions begin at multiples of 16 */
	andl	$(LEAVES - 1) * 8, %ecx
	leaq	lbr_leaves(%rip), %rax
	addq	%rax, %rcx
4:	movq	(%rcx), %rax
	testq	%rax, %rax
	jz	5f
	addq	$8, %rcx
	cmpq	%rax, %gs:TARGET
	jne	4b
	leaq	leaf(%rip), %rax
	jmp	3f
5:	movq	%gs:TARGET, %rax
3:	movq	%rax, %gs:GO
	movl	%gs:MODULE, %eax		/* where the branch is relative to */
	shrl	$16 - MODULE_SHIFT, %eax
	leaq	lbr_modules(%rip), %rcx
	movq	LO(%rcx,%rax), %rax
	movq	%gs:TARGET, %rcx
	subq	%rax, %rcx
	movq	%gs:POSITION, %rax
	movl	%ecx, 4(%rax)			/* faults where the buffer ends */
	shrq	$32, %rcx
	movzwl	%cx, %ecx
	orl	%gs:MODULE, %ecx
	movl	%ecx, 12(%rax)
	movl	%gs:FROM, %ecx
	movl	%ecx, (%rax)
	movl	%esp, 8(%rax)
	leaq	16(%rax), %rax
	movq	%rax, %gs:POSITION
	movq	%gs:FLAGS, %rax
	addb	$0x7f, %al
	sahf
	movq	%gs:SAVE_RCX, %rcx
	movq	%gs:SAVE, %rax
	jmp	*%gs:GO

/* leaf calls a function of lbr_leaves.c, and makes it return to the copy of its return address
 * without a fault. Its arguments need not move, as none is on the stack. Code that walks the stack
 * sees an additional caller. */
	.cfi_startproc
leaf:	leaq	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	call	*%gs:TARGET
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rdi				/* registers that calls change, and flags, are free */
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movq	%rdi, %rcx
	shrq	$30, %rcx			/* as elsewhere */
	cmpq	$1 << 17, %rcx
	jae	2f
	leaq	lbr_regions(%rip), %rsi
	movq	(%rsi,%rcx,8), %rsi
	testq	%rsi, %rsi
	jz	2f
	movq	%rdi, %rcx
	shrq	$12, %rcx
	andl	$(1 << 18) - 1, %ecx
	movzbl	(%rsi,%rcx), %ecx
	testl	%ecx, %ecx
	jz	2f
	decl	%ecx
	movl	%ecx, %esi
	shll	$16, %esi
	movl	%esi, %gs:MODULE
	movl	$FROM_OUTSIDE << 28, %gs:FROM
	shll	$MODULE_SHIFT, %ecx
	leaq	lbr_modules(%rip), %r8
	addq	%rcx, %r8
	movq	%rdi, %rcx
	subq	LO(%r8), %rcx
	movq	ENTRY(%r8), %r9
	movl	(%r9,%rcx,4), %r9d
	testl	%r9d, %r9d
	jz	2f
	addq	CODE(%r8), %r9
	movq	%rax, %r10
	movq	%gs:POSITION, %rax
	movl	%ecx, 4(%rax)			/* faults where the buffer ends */
	movl	%esi, 12(%rax)
	movl	$FROM_OUTSIDE << 28, (%rax)
	movl	%esp, 8(%rax)
	leaq	16(%rax), %rax
	movq	%rax, %gs:POSITION
	movq	%r10, %rax
	jmp	*%r9
2:	jmp	*%rdi
	.cfi_endproc
lbr_dispatch_end:
	.size	lbr_dispatch, . - lbr_dispatch

/* lbr_switch(frame, number, info, context): abandons the contents of the stack. */
	.globl	lbr_switch
	.hidden	lbr_switch
	.type	lbr_switch, @function
lbr_switch:
	movq	%rdi, %rsp
	movl	%esi, %edi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	jmp	lbr_run
	.size	lbr_switch, . - lbr_switch

/* lbr_system_call precedes each system call of a copy, whose address is in r11. Like a system call
 * it preserves the flags and may change rcx and r11. */
	.globl	lbr_system_call
	.hidden	lbr_system_call
	.type	lbr_system_call, @function
lbr_system_call:
	.irp	n, 13, 14, 101, 130, 131, 270, 271, 281, 441
	leal	-\n(%rax), %ecx
	jrcxz	2f
	.endr
	jmp	*%r11
2:	leaq	-128(%rsp), %rsp
	pushfq
	pushq	%r11
	pushq	%rbx
	pushq	%r9
	pushq	%r8
	pushq	%r10
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	movq	%rsp, %rbx
	movq	%rax, %rdi
	movq	%rsp, %rsi
	sub	$48, %rsp			/* a copy, which lbr_call changes */
	.irp	at, 0, 8, 16, 24, 32, 40
	movq	\at(%rsi), %rax
	movq	%rax, \at(%rsp)
	.endr
	movq	%rsp, %rsi
	andq	$-16, %rsp
	cld
	call	lbr_call
	movq	%rbx, %rsp
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%r10
	popq	%r8
	popq	%r9
	popq	%rbx
	popq	%r11
	popfq
	leaq	128(%rsp), %rsp
	leaq	2(%r11), %r11			/* after it */
	jmp	*%r11
	.size	lbr_system_call, . - lbr_system_call

/* syscall() of the C library. */
	.globl	syscall
	.type	syscall, @function
	.cfi_startproc
syscall:
	.irp	n, 13, 14, 101, 130, 131, 270, 271, 281, 441
	cmpl	$\n, %edi
	je	2f
	.endr
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
1:	cmpq	$-4095, %rax
	jae	3f
	ret
2:	subq	$56, %rsp
	.cfi_adjust_cfa_offset 56
	movq	%rsi, (%rsp)
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	movq	%r8, 24(%rsp)
	movq	%r9, 32(%rsp)
	movq	64(%rsp), %rax
	movq	%rax, 40(%rsp)
	movq	%rsp, %rsi
	call	lbr_call
	addq	$56, %rsp
	.cfi_adjust_cfa_offset -56
	jmp	1b
3:	movq	%rax, %rdi
	jmp	lbr_call_failed
	.cfi_endproc
	.size	syscall, . - syscall
	.section .note.GNU-stack,"",@progbits

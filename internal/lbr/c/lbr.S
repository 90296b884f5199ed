/* lbr_dispatch: branches to computed addresses, in rax; the program's rax is in
 * its slot of the state, and what the event begins with is in another. All
 * registers and flags are kept, and nothing is put on the stack.
 *
 * Each module has a routine of its own, which knows the module's tables and looks
 * for the target there. Targets elsewhere are looked up by their page: it may be one
 * of another module, or of code that has no copy, which runs as it is. */

#define SAVE 0
#define SAVE_RCX 8
#define FLAGS 16
#define TARGET 24
#define GO 32
#define FROM 40
#define POSITION 48
#define MODULE 56

/* struct module */
#define MODULE_SHIFT 7
#define LO 0
#define SIZE 8
#define ENTRY 16
#define CODE 24

#define MAX_MODULES 64

	.text
	.globl	lbr_dispatch, lbr_dispatch_end
	.hidden	lbr_dispatch, lbr_dispatch_end, lbr_modules, lbr_regions

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
2:	movq	%gs:TARGET, %rax		/* no copy: the original, whatever it is */
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
lbr_dispatch_end:
	.size	lbr_dispatch, . - lbr_dispatch
	.section .note.GNU-stack,"",@progbits

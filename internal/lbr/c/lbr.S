/* lbr_dispatch: a branch to a computed address, in rax; the program's rax is in
 * its slot of the state, and what its event begins with is in another. All
 * registers and flags are kept, and nothing is put on the stack. */

#define SAVE 0
#define SAVE_RCX 8
#define FLAGS 16
#define TARGET 24
#define GO 32
#define FROM 40
#define POSITION 48

	.text
	.globl	lbr_dispatch, lbr_dispatch_end
	.hidden	lbr_dispatch, lbr_dispatch_end, lbr_lo, lbr_size, lbr_entry, lbr_code
	.type	lbr_dispatch, @function
lbr_dispatch:
	movq	%rcx, %gs:SAVE_RCX
	movq	%rax, %gs:TARGET
	lahf
	seto	%al
	movq	%rax, %gs:FLAGS
	movq	%gs:TARGET, %rcx
	subq	lbr_lo(%rip), %rcx
	cmpq	lbr_size(%rip), %rcx
	jae	2f
	movq	lbr_entry(%rip), %rax
	movl	(%rax,%rcx,4), %eax
	testl	%eax, %eax
	jz	2f
	addq	lbr_code(%rip), %rax
	movq	%rax, %gs:GO
1:	movq	%gs:POSITION, %rax
	movl	%ecx, 4(%rax)			/* faults where the buffer ends */
	shrq	$32, %rcx
	movl	%ecx, 12(%rax)
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
2:	movq	%gs:TARGET, %rax		/* no copy: the original, whatever it is */
	movq	%rax, %gs:GO
	jmp	1b
lbr_dispatch_end:
	.size	lbr_dispatch, . - lbr_dispatch
	.section .note.GNU-stack,"",@progbits

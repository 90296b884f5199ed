	.syntax	unified
	.eabi_attribute	67, "2.09"	@ Tag_conformance
	.eabi_attribute	6, 10	@ Tag_CPU_arch
	.eabi_attribute	7, 65	@ Tag_CPU_arch_profile
	.eabi_attribute	8, 1	@ Tag_ARM_ISA_use
	.eabi_attribute	9, 2	@ Tag_THUMB_ISA_use
	.fpu	vfpv3-d16
	.eabi_attribute	34, 1	@ Tag_CPU_unaligned_access
	.eabi_attribute	15, 1	@ Tag_ABI_PCS_RW_data
	.eabi_attribute	16, 1	@ Tag_ABI_PCS_RO_data
	.eabi_attribute	17, 2	@ Tag_ABI_PCS_GOT_use
	.eabi_attribute	20, 1	@ Tag_ABI_FP_denormal
	.eabi_attribute	21, 0	@ Tag_ABI_FP_exceptions
	.eabi_attribute	23, 3	@ Tag_ABI_FP_number_model
	.eabi_attribute	24, 1	@ Tag_ABI_align_needed
	.eabi_attribute	25, 1	@ Tag_ABI_align_preserved
	.eabi_attribute	28, 1	@ Tag_ABI_VFP_args
	.eabi_attribute	38, 1	@ Tag_ABI_FP_16bit_format
	.eabi_attribute	18, 4	@ Tag_ABI_PCS_wchar_t
	.eabi_attribute	26, 2	@ Tag_ABI_enum_size
	.eabi_attribute	14, 0	@ Tag_ABI_PCS_R9_use
	.file	"switch.c"
	.text
	.globl	pick                            @ -- Begin function pick
	.p2align	2
	.type	pick,%function
	.code	32
pick:                                   @ @pick
	.fnstart
@ %bb.0:
	.save	{r4, lr}
	push	{r4, lr}
	mov	r1, r0
	cmp	r0, #7
	bhi	.LBB0_6
@ %bb.1:
	adr	r2, .LJTI0_0
	mov	r0, #3
	ldr	r3, [r2, r1, lsl #2]
	add	pc, r2, r3
@ %bb.2:
	.p2align	2
.LJTI0_0:
	.long	.LBB0_9-.LJTI0_0
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
	.long	.LBB0_10-.LJTI0_0
	.long	.LBB0_11-.LJTI0_0
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_5-.LJTI0_0
.LBB0_3:
	ldr	r0, .LCPI0_1
.LPC0_1:
	add	r0, pc, r0
	pop	{r4, lr}
	b	puts
.LBB0_4:
	mov	r0, #38
	pop	{r4, pc}
.LBB0_5:
	ldr	r0, .LCPI0_3
.LPC0_3:
	add	r0, pc, r0
	pop	{r4, lr}
	b	puts
.LBB0_6:
	cmp	r1, #10
	mov	r0, r1
	poplt	{r4, pc}
.LBB0_7:
	ldr	r4, .LCPI0_0
.LPC0_0:
	add	r4, pc, r4
.LBB0_8:                                @ =>This Inner Loop Header: Depth=1
	mov	r0, r4
	bl	puts
	cmp	r0, #9
	bgt	.LBB0_8
.LBB0_9:
	pop	{r4, pc}
.LBB0_10:
	ldr	r0, .LCPI0_2
.LPC0_2:
	add	r0, pc, r0
	bl	puts
	add	r0, r0, #7
	pop	{r4, pc}
.LBB0_11:
	mov	r0, #5
	pop	{r4, pc}
	.p2align	2
@ %bb.12:
.LCPI0_0:
	.long	.L.str.3-(.LPC0_0+8)
.LCPI0_1:
	.long	.L.str-(.LPC0_1+8)
.LCPI0_2:
	.long	.L.str.1-(.LPC0_2+8)
.LCPI0_3:
	.long	.L.str.2-(.LPC0_3+8)
.Lfunc_end0:
	.size	pick, .Lfunc_end0-pick
	.cantunwind
	.fnend
                                        @ -- End function
	.type	.L.str,%object                  @ @.str
	.section	.rodata.str1.1,"aMS",%progbits,1
.L.str:
	.asciz	"one"
	.size	.L.str, 4

	.type	.L.str.1,%object                @ @.str.1
.L.str.1:
	.asciz	"three"
	.size	.L.str.1, 6

	.type	.L.str.2,%object                @ @.str.2
.L.str.2:
	.asciz	"seven"
	.size	.L.str.2, 6

	.type	.L.str.3,%object                @ @.str.3
.L.str.3:
	.asciz	"loop"
	.size	.L.str.3, 5

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",%progbits
	.eabi_attribute	30, 1	@ Tag_ABI_optimization_goals

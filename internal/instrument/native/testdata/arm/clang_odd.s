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
	.file	"odd.c"
	.section	.text.pick,"ax",%progbits
	.globl	pick                            @ -- Begin function pick
	.p2align	2
	.type	pick,%function
	.code	32
pick:                                   @ @pick
	.fnstart
@ %bb.0:
	mov	r12, r0
	cmp	r0, #9
	bhi	.LBB0_12
@ %bb.1:
	adr	r3, .LJTI0_0
	mov	r0, #4
	ldr	r2, [r3, r12, lsl #2]
	add	pc, r3, r2
@ %bb.2:
	.p2align	2
.LJTI0_0:
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_5-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
	.long	.LBB0_9-.LJTI0_0
	.long	.LBB0_10-.LJTI0_0
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_7-.LJTI0_0
	.long	.LBB0_8-.LJTI0_0
	.long	.LBB0_12-.LJTI0_0
	.long	.LBB0_11-.LJTI0_0
.LBB0_3:
	add	r0, r1, #1
.LBB0_4:
	bx	lr
.LBB0_5:
	add	r0, r1, r1, lsl #1
	bx	lr
.LBB0_6:
	movw	r0, #21846
	movt	r0, #21845
	smmul	r0, r1, r0
	add	r0, r0, r0, lsr #31
	bx	lr
.LBB0_7:
	movw	r0, #9363
	movt	r0, #37449
	smmla	r0, r1, r0, r1
	asr	r2, r0, #2
	add	r0, r2, r0, lsr #31
	rsb	r0, r0, r0, lsl #3
	sub	r0, r1, r0
	bx	lr
.LBB0_8:
	eor	r0, r1, #99
	bx	lr
.LBB0_9:
	sub	r0, r1, #7
	bx	lr
.LBB0_10:
	movw	r0, #41705
	movt	r0, #11915
	smmul	r0, r1, r0
	asr	r1, r0, #1
	add	r0, r1, r0, lsr #31
	bx	lr
.LBB0_11:
	mul	r0, r1, r1
	bx	lr
.LBB0_12:
	mov	r0, #0
	cmp	r1, #0
	bxne	lr
.LBB0_13:
	ldr	r0, .LCPI0_0
.LPC0_0:
	ldr	r0, [pc, r0]
	ldr	r1, [r0]
	mov	r0, r12
	bx	r1
	.p2align	2
@ %bb.14:
.LCPI0_0:
.Ltmp0:
	.long	hook(GOT_PREL)-(.LPC0_0+8-.Ltmp0)
.Lfunc_end0:
	.size	pick, .Lfunc_end0-pick
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.threaded,"ax",%progbits
	.globl	threaded                        @ -- Begin function threaded
	.p2align	2
	.type	threaded,%function
	.code	32
threaded:                               @ @threaded
	.fnstart
@ %bb.0:
	ldr	r2, .LCPI1_0
	mov	r1, r0
	ldrb	r3, [r1], #1
	mov	r0, #0
.LPC1_0:
	add	r2, pc, r2
	ldr	r3, [r2, r3, lsl #2]
	bx	r3
.Ltmp1:                                 @ Block address taken
.LBB1_1:                                @ =>This Inner Loop Header: Depth=1
	ldrb	r3, [r1], #1
	add	r0, r0, #1
	ldr	r3, [r2, r3, lsl #2]
	bx	r3
.Ltmp2:                                 @ Block address taken
.LBB1_2:                                @ =>This Inner Loop Header: Depth=1
	ldrb	r3, [r1], #1
	add	r0, r0, r0, lsl #1
	ldr	r3, [r2, r3, lsl #2]
	bx	r3
.Ltmp3:                                 @ Block address taken
.LBB1_3:
	bx	lr
	.p2align	2
@ %bb.4:
.LCPI1_0:
	.long	threaded.to-(.LPC1_0+8)
.Lfunc_end1:
	.size	threaded, .Lfunc_end1-threaded
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.jumps,"ax",%progbits
	.globl	jumps                           @ -- Begin function jumps
	.p2align	2
	.type	jumps,%function
	.code	32
jumps:                                  @ @jumps
	.fnstart
@ %bb.0:
	@APP
	cmp r0, #3
	blt .LBB2_2
	.code	32
	@NO_APP
@ %bb.1:
	bx	lr
.LBB2_2:                                @ Inline asm indirect target
                                        @ Label of block must be emitted
	.save	{r4, lr}
	push	{r4, lr}
	ldr	r1, .LCPI2_0
	mov	r4, r0
.LPC2_0:
	add	r1, pc, r1
	mov	r0, r1
	bl	__tls_get_addr
	ldr	r2, [r0]
	mov	r1, r0
	add	r0, r2, r4
	str	r0, [r1]
	pop	{r4, lr}
	bx	lr
	.p2align	2
@ %bb.3:
.LCPI2_0:
.Ltmp4:
	.long	counter(TLSGD)-(.LPC2_0+8-.Ltmp4)
.Lfunc_end2:
	.size	jumps, .Lfunc_end2-jumps
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.call,"ax",%progbits
	.globl	call                            @ -- Begin function call
	.p2align	2
	.type	call,%function
	.code	32
call:                                   @ @call
	.fnstart
@ %bb.0:
	mov	r3, r1
	tst	r0, #4
	moveq	r0, r3
	bxeq	lr
.LBB3_1:
	.save	{r7, lr}
	push	{r7, lr}
	mov	r7, r0
	mov	r0, r3
	mov	r1, r2
	@APP
	svc 0
	.code	32
	@NO_APP
	pop	{r7, pc}
.Lfunc_end3:
	.size	call, .Lfunc_end3-call
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.scale,"ax",%progbits
	.globl	scale                           @ -- Begin function scale
	.p2align	3
	.type	scale,%function
	.code	32
scale:                                  @ @scale
	.fnstart
@ %bb.0:
	vldr	d1, .LCPI4_0
	cmp	r0, #3
	vldr	d2, .LCPI4_1
	vmul.f64	d1, d0, d1
	vadd.f64	d2, d1, d2
	vneg.f64	d0, d0
	vmovgt.f64	d1, d2
	tst	r0, #1
	vmoveq.f64	d1, d0
	vmov.f64	d0, d1
	bx	lr
	.p2align	3
@ %bb.1:
.LCPI4_0:
	.long	1413754129                      @ double 3.14159265358979
	.long	1074340347
.LCPI4_1:
	.long	2333366132                      @ double 2.71828182845905
	.long	1074118410
.Lfunc_end4:
	.size	scale, .Lfunc_end4-scale
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.pointer,"ax",%progbits
	.globl	pointer                         @ -- Begin function pointer
	.p2align	2
	.type	pointer,%function
	.code	32
pointer:                                @ @pointer
	.fnstart
@ %bb.0:
	ldr	r1, .LCPI5_0
	add	r0, r0, #1
.LPC5_0:
	ldr	r1, [pc, r1]
	ldr	r1, [r1]
	bx	r1
	.p2align	2
@ %bb.1:
.LCPI5_0:
.Ltmp5:
	.long	hook(GOT_PREL)-(.LPC5_0+8-.Ltmp5)
.Lfunc_end5:
	.size	pointer, .Lfunc_end5-pointer
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.maybe,"ax",%progbits
	.globl	maybe                           @ -- Begin function maybe
	.p2align	2
	.type	maybe,%function
	.code	32
maybe:                                  @ @maybe
	.fnstart
@ %bb.0:
	tst	r0, #8
	moveq	r0, #3
	bxeq	lr
.LBB6_1:
	ldr	r1, .LCPI6_0
	add	r0, r0, #1
.LPC6_0:
	ldr	r1, [pc, r1]
	ldr	r1, [r1]
	bx	r1
	.p2align	2
@ %bb.2:
.LCPI6_0:
.Ltmp6:
	.long	hook(GOT_PREL)-(.LPC6_0+8-.Ltmp6)
.Lfunc_end6:
	.size	maybe, .Lfunc_end6-maybe
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text.four,"ax",%progbits
	.globl	four                            @ -- Begin function four
	.p2align	2
	.type	four,%function
	.code	32
four:                                   @ @four
	.fnstart
@ %bb.0:
	mul	r0, r1, r0
	mla	r0, r3, r2, r0
	bx	lr
.Lfunc_end7:
	.size	four, .Lfunc_end7-four
	.cantunwind
	.fnend
                                        @ -- End function
	.type	threaded.to,%object             @ @threaded.to
	.section	.data.rel.ro,"aw",%progbits
	.p2align	2, 0x0
threaded.to:
	.long	.Ltmp1
	.long	.Ltmp2
	.long	.Ltmp3
	.size	threaded.to, 12

	.type	counter,%object                 @ @counter
	.section	.tbss,"awT",%nobits
	.globl	counter
	.p2align	2, 0x0
counter:
	.long	0                               @ 0x0
	.size	counter, 4

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",%progbits
	.eabi_attribute	30, 1	@ Tag_ABI_optimization_goals

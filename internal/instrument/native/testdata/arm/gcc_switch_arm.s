	.arch armv7-a
	.fpu vfpv3-d16
	.eabi_attribute 28, 1
	.eabi_attribute 20, 1
	.eabi_attribute 21, 1
	.eabi_attribute 23, 3
	.eabi_attribute 24, 1
	.eabi_attribute 25, 1
	.eabi_attribute 26, 2
	.eabi_attribute 30, 2
	.eabi_attribute 34, 1
	.eabi_attribute 18, 4
	.file	"switch.c"
	.text
	.section	.rodata.str1.4,"aMS",%progbits,1
	.align	2
.LC0:
	.ascii	"one\000"
	.align	2
.LC1:
	.ascii	"three\000"
	.align	2
.LC2:
	.ascii	"seven\000"
	.align	2
.LC3:
	.ascii	"loop\000"
	.text
	.align	2
	.global	pick
	.syntax unified
	.arm
	.type	pick, %function
pick:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	cmp	r0, #7
	addls	pc, pc, r0, asl #2
	b	.L2
.L4:
	b	.L9
	b	.L8
	b	.L11
	b	.L6
	b	.L5
	b	.L2
	b	.L2
	b	.L3
	.p2align 1
.L3:
	ldr	r0, .L18
	pop	{r4, lr}
.LPIC2:
	add	r0, pc, r0
	b	puts(PLT)
.L2:
	cmp	r0, #9
	pople	{r4, pc}
	ldr	r4, .L18+4
.LPIC3:
	add	r4, pc, r4
.L10:
	mov	r0, r4
	bl	puts(PLT)
	cmp	r0, #9
	bgt	.L10
	pop	{r4, pc}
.L9:
	mov	r0, #3
	pop	{r4, pc}
.L8:
	ldr	r0, .L18+8
	pop	{r4, lr}
.LPIC0:
	add	r0, pc, r0
	b	puts(PLT)
.L11:
	mov	r0, #38
	pop	{r4, pc}
.L6:
	ldr	r0, .L18+12
.LPIC1:
	add	r0, pc, r0
	bl	puts(PLT)
	add	r0, r0, #7
	pop	{r4, pc}
.L5:
	mov	r0, #5
	pop	{r4, pc}
.L19:
	.align	2
.L18:
	.word	.LC2-(.LPIC2+8)
	.word	.LC3-(.LPIC3+8)
	.word	.LC0-(.LPIC0+8)
	.word	.LC1-(.LPIC1+8)
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",%progbits

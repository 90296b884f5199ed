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
	.align	1
	.p2align 2,,3
	.global	pick
	.syntax unified
	.thumb
	.thumb_func
	.type	pick, %function
pick:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	cmp	r0, #7
	bhi	.L2
	tbb	[pc, r0]
.L4:
	.byte	(.L9-.L4)/2
	.byte	(.L8-.L4)/2
	.byte	(.L11-.L4)/2
	.byte	(.L6-.L4)/2
	.byte	(.L5-.L4)/2
	.byte	(.L2-.L4)/2
	.byte	(.L2-.L4)/2
	.byte	(.L3-.L4)/2
	.p2align 1
.L3:
	ldr	r0, .L17
	pop	{r4, lr}
.LPIC2:
	add	r0, pc
	b	puts(PLT)
.L2:
	cmp	r0, #9
	ble	.L1
	ldr	r4, .L17+4
.LPIC3:
	add	r4, pc
.L10:
	mov	r0, r4
	bl	puts(PLT)
	cmp	r0, #9
	bgt	.L10
.L1:
	pop	{r4, pc}
.L9:
	movs	r0, #3
	pop	{r4, pc}
.L11:
	movs	r0, #38
	pop	{r4, pc}
.L8:
	ldr	r0, .L17+8
	pop	{r4, lr}
.LPIC0:
	add	r0, pc
	b	puts(PLT)
.L6:
	ldr	r0, .L17+12
.LPIC1:
	add	r0, pc
	bl	puts(PLT)
	adds	r0, r0, #7
	pop	{r4, pc}
.L5:
	movs	r0, #5
	pop	{r4, pc}
.L18:
	.align	2
.L17:
	.word	.LC2-(.LPIC2+4)
	.word	.LC3-(.LPIC3+4)
	.word	.LC0-(.LPIC0+4)
	.word	.LC1-(.LPIC1+4)
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",%progbits

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
	.file	"odd.c"
	.text
	.section	.text.inner.0,"ax",%progbits
	.align	2
	.syntax unified
	.arm
	.type	inner.0, %function
inner.0:
	@ Nested: function declared inside another function.
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, [ip]
	mul	r0, r3, r0
	bx	lr
	.size	inner.0, .-inner.0
	.section	.text.pick,"ax",%progbits
	.align	2
	.global	pick
	.syntax unified
	.arm
	.type	pick, %function
pick:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, .L17
.LPIC0:
	add	r3, pc, r3
	cmp	r0, #9
	addls	pc, pc, r0, asl #2
	b	.L4
.L6:
	b	.L14
	b	.L13
	b	.L15
	b	.L11
	b	.L10
	b	.L9
	b	.L8
	b	.L7
	b	.L4
	b	.L5
	.p2align 1
.L15:
	mov	r0, #4
	bx	lr
.L11:
	sub	r0, r1, #7
	bx	lr
.L10:
	movw	r3, #41705
	movt	r3, 11915
	asr	r0, r1, #31
	smull	r1, r3, r3, r1
	rsb	r0, r0, r3, asr #1
	bx	lr
.L9:
	movw	r0, #21846
	movt	r0, 21845
	smull	r3, r0, r0, r1
	sub	r0, r0, r1, asr #31
	bx	lr
.L8:
	movw	r3, #9363
	movt	r3, 37449
	asr	r0, r1, #31
	smull	r2, r3, r3, r1
	add	r3, r3, r1
	rsb	r0, r0, r3, asr #2
	rsb	r0, r0, r0, lsl #3
	sub	r0, r1, r0
	bx	lr
.L7:
	eor	r0, r1, #99
	bx	lr
.L5:
	mul	r0, r1, r1
	bx	lr
.L14:
	add	r0, r1, #1
	bx	lr
.L13:
	add	r0, r1, r1, lsl #1
	bx	lr
.L4:
	cmp	r1, #0
	bne	.L16
	ldr	r2, .L17+4
	ldr	r3, [r3, r2]
	ldr	r3, [r3]
	bx	r3
.L16:
	mov	r0, #0
	bx	lr
.L18:
	.align	2
.L17:
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC0+8)
	.word	hook(GOT)
	.size	pick, .-pick
	.section	.text.threaded,"ax",%progbits
	.align	2
	.global	threaded
	.syntax unified
	.arm
	.type	threaded, %function
threaded:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	mov	r3, r0
	str	lr, [sp, #-4]!
	ldr	r2, .L30
	ldr	lr, .L30+4
	mov	r0, #0
	ldrb	r1, [r3], #2	@ zero_extendqisi2
.LPIC1:
	add	r2, pc, r2
	ldr	ip, .L30+8
.LPIC3:
	add	lr, pc, lr
.LPIC2:
	add	ip, pc, ip
	ldr	r2, [r2, r1, lsl #2]
	mov	pc, r2	@ indirect register jump
.L24:
	ldr	pc, [sp], #4
.L22:
	ldrb	r2, [r3, #-1]	@ zero_extendqisi2
	add	r0, r0, r0, lsl #1
	add	r3, r3, #1
	ldr	r2, [lr, r2, lsl #2]
	mov	pc, r2	@ indirect register jump
.L21:
	ldrb	r2, [r3, #-1]	@ zero_extendqisi2
	add	r0, r0, #1
	add	r3, r3, #1
	ldr	r2, [ip, r2, lsl #2]
	mov	pc, r2	@ indirect register jump
.L31:
	.align	2
.L30:
	.word	.LANCHOR0-(.LPIC1+8)
	.word	.LANCHOR0-(.LPIC3+8)
	.word	.LANCHOR0-(.LPIC2+8)
	.size	threaded, .-threaded
	.section	.text.jumps,"ax",%progbits
	.align	2
	.global	jumps
	.syntax unified
	.arm
	.type	jumps, %function
jumps:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	.syntax divided
@ 37 "arm/odd.c" 1
	cmp r0, #3
	blt .L33
@ 0 "" 2
	.arm
	.syntax unified
	bx	lr
.L33:
	ldr	r2, .L35
	mrc	p15, 0, r3, c13, c0, 3	@ load_tp_hard
	ldr	r1, [r2, r3]
	add	r0, r0, r1
	str	r0, [r2, r3]
	bx	lr
.L36:
	.align	2
.L35:
	.word	.LANCHOR1(tpoff)
	.size	jumps, .-jumps
	.section	.text.call,"ax",%progbits
	.align	2
	.global	call
	.syntax unified
	.arm
	.type	call, %function
call:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	str	r7, [sp, #-4]!
	mov	r7, r0
	tst	r7, #4
	mov	r0, r1
	beq	.L38
	mov	r1, r2
	.syntax divided
@ 46 "arm/odd.c" 1
	svc 0
@ 0 "" 2
	.arm
	.syntax unified
.L38:
	ldr	r7, [sp], #4
	bx	lr
	.size	call, .-call
	.section	.text.scale,"ax",%progbits
	.align	2
	.global	scale
	.syntax unified
	.arm
	.type	scale, %function
scale:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	vldr.64	d7, .L46
	cmp	r0, #3
	vmov.f64	d6, d0
	vmul.f64	d0, d0, d7
	vldrgt.64	d7, .L46+8
	vaddgt.f64	d0, d0, d7
	tst	r0, #1
	vnegeq.f64	d0, d6
	bx	lr
.L47:
	.align	3
.L46:
	.word	1413754129
	.word	1074340347
	.word	-1961601164
	.word	1074118410
	.size	scale, .-scale
	.section	.text.pointer,"ax",%progbits
	.align	2
	.global	pointer
	.syntax unified
	.arm
	.type	pointer, %function
pointer:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, .L49
	add	r0, r0, #1
	ldr	r2, .L49+4
.LPIC4:
	add	r3, pc, r3
	ldr	r3, [r3, r2]
	ldr	r3, [r3]
	bx	r3
.L50:
	.align	2
.L49:
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC4+8)
	.word	hook(GOT)
	.size	pointer, .-pointer
	.section	.text.maybe,"ax",%progbits
	.align	2
	.global	maybe
	.syntax unified
	.arm
	.type	maybe, %function
maybe:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, .L54
	tst	r0, #8
.LPIC5:
	add	r3, pc, r3
	bne	.L53
	mov	r0, #3
	bx	lr
.L53:
	ldr	r2, .L54+4
	add	r0, r0, #1
	ldr	r3, [r3, r2]
	ldr	r3, [r3]
	bx	r3
.L55:
	.align	2
.L54:
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC5+8)
	.word	hook(GOT)
	.size	maybe, .-maybe
	.section	.text.four,"ax",%progbits
	.align	2
	.global	four
	.syntax unified
	.arm
	.type	four, %function
four:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	mul	r2, r3, r2
	mla	r0, r1, r0, r2
	bx	lr
	.size	four, .-four
	.section	.rodata
	.align	2
.LTRAMP0:
	.syntax unified
	.arm
	ldr	ip, [pc, #0]
	ldr	pc, [pc, #0]
	.word	0
	.word	0
	.global	__clear_cache
	.section	.text.nested,"ax",%progbits
	.align	2
	.global	nested
	.syntax unified
	.arm
	.type	nested, %function
nested:
	@ args = 0, pretend = 0, frame = 32
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	ldr	r3, .L59
	sub	sp, sp, #32
	ldr	ip, .L59+4
.LPIC6:
	add	r3, pc, r3
	add	r4, sp, #12
	add	r2, sp, #40
.LPIC7:
	add	ip, pc, ip
	str	r2, [sp, #28]
	str	r0, [sp, #8]
	ldm	r3, {r0, r1, r2, r3}
	stm	r4, {r0, r1, r2, r3}
	add	r3, sp, #8
	mov	r0, r4
	add	r1, sp, #28
	str	r3, [r4, #8]
	str	ip, [r4, #12]
	bl	__clear_cache(PLT)
	str	r4, [sp, #4]
	ldr	r3, [sp, #4]
	mov	r0, #3
	blx	r3
	add	sp, sp, #32
	@ sp needed
	pop	{r4, pc}
.L60:
	.align	2
.L59:
	.word	.LTRAMP0-(.LPIC6+8)
	.word	inner.0-(.LPIC7+8)
	.size	nested, .-nested
	.global	counter
	.section	.data.rel.ro.local,"aw"
	.align	2
	.set	.LANCHOR0,. + 0
	.type	to.1, %object
	.size	to.1, 12
to.1:
	.word	.L21
	.word	.L22
	.word	.L24
	.section	.tbss,"awT",%nobits
	.align	2
	.set	.LANCHOR1,. + 0
	.type	counter, %object
	.size	counter, 4
counter:
	.space	4
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"x",%progbits

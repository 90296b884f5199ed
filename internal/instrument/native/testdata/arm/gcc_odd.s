	.arch armv7-a
	.fpu vfpv3-d16
	.eabi_attribute 28, 1
	.eabi_attribute 20, 1
	.eabi_attribute 21, 1
	.eabi_attribute 23, 3
	.eabi_attribute 24, 1
	.eabi_attribute 25, 1
	.eabi_attribute 26, 2
	.eabi_attribute 30, 4
	.eabi_attribute 34, 1
	.eabi_attribute 18, 4
	.file	"odd.c"
	.text
	.align	1
	.syntax unified
	.thumb
	.thumb_func
	.type	inner.0, %function
inner.0:
	@ Nested: function declared inside another function.
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, [ip]
	muls	r0, r3, r0
	bx	lr
	.size	inner.0, .-inner.0
	.global	__aeabi_idivmod
	.align	1
	.global	pick
	.syntax unified
	.thumb
	.thumb_func
	.type	pick, %function
pick:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	ldr	r2, .L16+8
	mov	r3, r1
	push	{r4, lr}
.LPIC0:
	add	r2, pc
	cmp	r0, #9
	bhi	.L3
	tbb	[pc, r0]
.L5:
	.byte	(.L13-.L5)/2
	.byte	(.L12-.L5)/2
	.byte	(.L14-.L5)/2
	.byte	(.L10-.L5)/2
	.byte	(.L9-.L5)/2
	.byte	(.L8-.L5)/2
	.byte	(.L7-.L5)/2
	.byte	(.L6-.L5)/2
	.byte	(.L3-.L5)/2
	.byte	(.L4-.L5)/2
	.p2align 1
.L13:
	adds	r0, r3, #1
.L2:
	pop	{r4, pc}
.L12:
	add	r0, r3, r3, lsl #1
	b	.L2
.L10:
	subs	r0, r3, #7
	b	.L2
.L9:
	ldr	r2, .L16
	smull	r2, r1, r3, r2
	asrs	r3, r3, #31
	rsb	r0, r3, r1, asr #1
	b	.L2
.L8:
	ldr	r2, .L16+4
	smull	r2, r1, r3, r2
	sub	r0, r1, r3, asr #31
	b	.L2
.L7:
	movs	r1, #7
	mov	r0, r3
	bl	__aeabi_idivmod(PLT)
	mov	r0, r1
	b	.L2
.L6:
	eor	r0, r3, #99
	b	.L2
.L4:
	mul	r0, r3, r3
	b	.L2
.L3:
	cbnz	r3, .L15
	ldr	r3, .L16+12
	pop	{r4, lr}
	ldr	r3, [r2, r3]
	ldr	r3, [r3]
	bx	r3
.L14:
	movs	r0, #4
	b	.L2
.L15:
	movs	r0, #0
	b	.L2
.L17:
	.align	2
.L16:
	.word	780903145
	.word	1431655766
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC0+4)
	.word	hook(GOT)
	.size	pick, .-pick
	.align	1
	.global	threaded
	.syntax unified
	.thumb
	.thumb_func
	.type	threaded, %function
threaded:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	mov	r3, r0
	push	{r4, lr}
	ldr	r2, .L24
	ldr	r4, .L24+4
	movs	r0, #0
	ldrb	r1, [r3], #2	@ zero_extendqisi2
.LPIC1:
	add	r2, pc
.LPIC2:
	add	r4, pc
	ldr	r2, [r2, r1, lsl #2]
	ldr	r1, .L24+8
.LPIC3:
	add	r1, pc
.L19:
	orr	r2, r2, #1
	bx	r2
.L20:
	ldrb	r2, [r3, #-1]	@ zero_extendqisi2
	adds	r0, r0, #1
	ldr	r2, [r4, r2, lsl #2]
.L22:
	adds	r3, r3, #1
	b	.L19
.L21:
	ldrb	r2, [r3, #-1]	@ zero_extendqisi2
	add	r0, r0, r0, lsl #1
	ldr	r2, [r1, r2, lsl #2]
	b	.L22
.L23:
	pop	{r4, pc}
.L25:
	.align	2
.L24:
	.word	.LANCHOR0-(.LPIC1+4)
	.word	.LANCHOR0-(.LPIC2+4)
	.word	.LANCHOR0-(.LPIC3+4)
	.size	threaded, .-threaded
	.global	__tls_get_addr
	.align	1
	.global	jumps
	.syntax unified
	.thumb
	.thumb_func
	.type	jumps, %function
jumps:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	mov	r4, r0
	.syntax unified
@ 37 "arm/odd.c" 1
	cmp r0, #3
	blt .L27
@ 0 "" 2
	.thumb
	.syntax unified
	b	.L28
.L27:
	ldr	r0, .L29
.LPIC4:
	add	r0, pc
	bl	__tls_get_addr(PLT)
	ldr	r3, [r0]
	add	r4, r4, r3
	str	r4, [r0]
.L28:
	mov	r0, r4
	pop	{r4, pc}
.L30:
	.align	2
.L29:
	.word	counter(tlsgd) + (. - .LPIC4 - 4)
	.size	jumps, .-jumps
	.align	1
	.global	call
	.syntax unified
	.thumb
	.thumb_func
	.type	call, %function
call:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r7, lr}
	mov	r7, r0
	mov	r0, r1
	lsls	r3, r7, #29
	mov	r1, r2
	bpl	.L32
	.syntax unified
@ 46 "arm/odd.c" 1
	svc 0
@ 0 "" 2
	.thumb
	.syntax unified
.L32:
	pop	{r7, pc}
	.size	call, .-call
	.align	1
	.global	scale
	.syntax unified
	.thumb
	.thumb_func
	.type	scale, %function
scale:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	vmov.f64	d6, d0
	vldr.64	d0, .L39
	cmp	r0, #3
	vmul.f64	d0, d6, d0
	ble	.L37
	vldr.64	d7, .L39+8
	vadd.f64	d0, d0, d7
.L37:
	lsls	r3, r0, #31
	it	pl
	vnegpl.f64	d0, d6
	bx	lr
.L40:
	.align	3
.L39:
	.word	1413754129
	.word	1074340347
	.word	-1961601164
	.word	1074118410
	.size	scale, .-scale
	.align	1
	.global	pointer
	.syntax unified
	.thumb
	.thumb_func
	.type	pointer, %function
pointer:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, .L42
	adds	r0, r0, #1
	ldr	r2, .L42+4
.LPIC6:
	add	r3, pc
	ldr	r3, [r3, r2]
	ldr	r3, [r3]
	bx	r3
.L43:
	.align	2
.L42:
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC6+4)
	.word	hook(GOT)
	.size	pointer, .-pointer
	.align	1
	.global	maybe
	.syntax unified
	.thumb
	.thumb_func
	.type	maybe, %function
maybe:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	lsls	r3, r0, #28
	bpl	.L45
	b	pointer(PLT)
.L45:
	movs	r0, #3
	bx	lr
	.size	maybe, .-maybe
	.align	1
	.global	four
	.syntax unified
	.thumb
	.thumb_func
	.type	four, %function
four:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	muls	r2, r3, r2
	mla	r0, r1, r0, r2
	bx	lr
	.size	four, .-four
	.section	.rodata
	.align	2
.LTRAMP0:
	.syntax unified
	.thumb
	ldr.w	ip, [pc, #4]
	ldr.w	pc, [pc, #4]
	.word	0
	.word	0
	.global	__clear_cache
	.text
	.align	1
	.global	nested
	.syntax unified
	.thumb
	.thumb_func
	.type	nested, %function
nested:
	@ args = 0, pretend = 0, frame = 32
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	sub	sp, sp, #32
	add	r3, sp, #40
	add	r4, sp, #12
	str	r3, [sp, #28]
	ldr	r3, .L48
	str	r0, [sp, #8]
.LPIC7:
	add	r3, pc
	ldm	r3, {r0, r1, r2, r3}
	stm	r4, {r0, r1, r2, r3}
	add	r3, sp, #8
	str	r3, [r4, #8]
	add	r1, sp, #28
	ldr	r3, .L48+4
	mov	r0, r4
.LPIC8:
	add	r3, pc
	str	r3, [r4, #12]
	bl	__clear_cache(PLT)
	orr	r4, r4, #1
	str	r4, [sp, #4]
	movs	r0, #3
	ldr	r3, [sp, #4]
	blx	r3
	add	sp, sp, #32
	@ sp needed
	pop	{r4, pc}
.L49:
	.align	2
.L48:
	.word	.LTRAMP0-(.LPIC7+4)
	.word	inner.0-(.LPIC8+4)
	.size	nested, .-nested
	.global	counter
	.section	.data.rel.ro.local,"aw"
	.align	2
	.set	.LANCHOR0,. + 0
	.type	to.1, %object
	.size	to.1, 12
to.1:
	.word	.L20
	.word	.L21
	.word	.L23
	.section	.tbss,"awT",%nobits
	.align	2
	.type	counter, %object
	.size	counter, 4
counter:
	.space	4
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"x",%progbits

	.arch armv8-a
	.file	"switch.c"
	.text
	.section	.rodata
	.align	3
.LC0:
	.string	"one"
	.align	3
.LC1:
	.string	"three"
	.align	3
.LC2:
	.string	"seven"
	.align	3
.LC3:
	.string	"loop"
	.text
	.align	2
	.global	pick
	.type	pick, %function
pick:
.LFB0:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	str	w0, [sp, 28]
	ldr	w0, [sp, 28]
	cmp	w0, 7
	beq	.L2
	ldr	w0, [sp, 28]
	cmp	w0, 7
	bgt	.L10
	ldr	w0, [sp, 28]
	cmp	w0, 4
	beq	.L4
	ldr	w0, [sp, 28]
	cmp	w0, 4
	bgt	.L10
	ldr	w0, [sp, 28]
	cmp	w0, 3
	beq	.L5
	ldr	w0, [sp, 28]
	cmp	w0, 3
	bgt	.L10
	ldr	w0, [sp, 28]
	cmp	w0, 2
	beq	.L6
	ldr	w0, [sp, 28]
	cmp	w0, 2
	bgt	.L10
	ldr	w0, [sp, 28]
	cmp	w0, 0
	beq	.L7
	ldr	w0, [sp, 28]
	cmp	w0, 1
	beq	.L8
	b	.L3
.L7:
	mov	w0, 3
	b	.L9
.L8:
	adrp	x0, .LC0
	add	x0, x0, :lo12:.LC0
	bl	puts
	b	.L9
.L6:
	ldr	w1, [sp, 28]
	mov	w0, 19
	mul	w0, w1, w0
	b	.L9
.L5:
	adrp	x0, .LC1
	add	x0, x0, :lo12:.LC1
	bl	puts
	add	w0, w0, 7
	b	.L9
.L4:
	mov	w0, 5
	b	.L9
.L2:
	adrp	x0, .LC2
	add	x0, x0, :lo12:.LC2
	bl	puts
	b	.L9
.L3:
	b	.L10
.L11:
	adrp	x0, .LC3
	add	x0, x0, :lo12:.LC3
	bl	puts
	str	w0, [sp, 28]
.L10:
	ldr	w0, [sp, 28]
	cmp	w0, 9
	bgt	.L11
	ldr	w0, [sp, 28]
.L9:
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

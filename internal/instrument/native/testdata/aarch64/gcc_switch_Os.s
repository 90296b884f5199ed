	.arch armv8-a
	.file	"switch.c"
	.text
	.section	.rodata.str1.1,"aMS",@progbits,1
.LC0:
	.string	"one"
.LC1:
	.string	"three"
.LC2:
	.string	"seven"
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
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	cmp	w0, 3
	beq	.L2
	bgt	.L3
	cmp	w0, 1
	beq	.L4
	cmp	w0, 2
	beq	.L10
	cbz	w0, .L11
.L6:
	adrp	x19, .LC3
	add	x19, x19, :lo12:.LC3
.L8:
	cmp	w0, 9
	ble	.L1
	mov	x0, x19
	bl	puts
	b	.L8
.L3:
	cmp	w0, 4
	beq	.L12
	cmp	w0, 7
	bne	.L6
	adrp	x0, .LC2
	add	x0, x0, :lo12:.LC2
	b	.L14
.L4:
	adrp	x0, .LC0
	add	x0, x0, :lo12:.LC0
.L14:
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	puts
.L2:
	.cfi_restore_state
	adrp	x0, .LC1
	add	x0, x0, :lo12:.LC1
	bl	puts
	add	w0, w0, 7
.L1:
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	ret
.L10:
	.cfi_restore_state
	mov	w0, 38
	b	.L1
.L11:
	mov	w0, 3
	b	.L1
.L12:
	mov	w0, 5
	b	.L1
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

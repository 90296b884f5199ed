	.arch armv8-a
	.file	"switch.c"
	.text
	.section	.rodata.str1.8,"aMS",@progbits,1
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
	.p2align 4,,11
	.global	pick
	.type	pick, %function
pick:
.LFB0:
	.cfi_startproc
	hint	25 // paciasp
	.cfi_window_save
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	cmp	w0, 3
	beq	.L2
	mov	w1, w0
	bgt	.L3
	cmp	w0, 1
	beq	.L4
	mov	w0, 38
	cmp	w1, 2
	beq	.L1
	cmp	w1, 0
	mov	w0, 3
	csel	w0, w1, w0, ne
.L1:
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	ret
	.p2align 2,,3
.L3:
	.cfi_restore_state
	cmp	w0, 4
	beq	.L10
	cmp	w0, 7
	bne	.L17
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	adrp	x0, .LC2
	add	x0, x0, :lo12:.LC2
	b	puts
	.p2align 2,,3
.L10:
	.cfi_restore_state
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	mov	w0, 5
	ret
	.p2align 2,,3
.L4:
	.cfi_restore_state
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	adrp	x0, .LC0
	add	x0, x0, :lo12:.LC0
	b	puts
	.p2align 2,,3
.L2:
	.cfi_restore_state
	adrp	x0, .LC1
	add	x0, x0, :lo12:.LC1
	bl	puts
	add	w0, w0, 7
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	ret
.L17:
	.cfi_restore_state
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	adrp	x19, .LC3
	add	x19, x19, :lo12:.LC3
	cmp	w0, 9
	ble	.L18
	.p2align 3,,7
.L7:
	mov	x0, x19
	bl	puts
	cmp	w0, 9
	bgt	.L7
	ldr	x19, [sp, 16]
	.cfi_remember_state
	.cfi_restore 19
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	ret
.L18:
	.cfi_restore_state
	ldr	x19, [sp, 16]
	.cfi_restore 19
	b	.L1
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
	.section	.note.gnu.property,"a"
	.align	3
	.word	4
	.word	16
	.word	5
	.string	"GNU"
	.word	3221225472
	.word	4
	.word	3
	.align	3

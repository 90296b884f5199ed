	.arch armv8-a
	.file	"table.c"
	.text
	.align	2
	.p2align 4,,11
	.global	table
	.type	table, %function
table:
.LFB0:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	mov	w19, w1
	cmp	w0, 21
	bhi	.L2
	adrp	x1, .L4
	add	x1, x1, :lo12:.L4
	ldrh	w1, [x1,w0,uxtw #1]
	adr	x0, .Lrtx4
	add	x1, x0, w1, sxth #2
	br	x1
.Lrtx4:
	.section	.rodata
	.align	0
	.align	2
.L4:
	.2byte	(.L25 - .Lrtx4) / 4
	.2byte	(.L24 - .Lrtx4) / 4
	.2byte	(.L23 - .Lrtx4) / 4
	.2byte	(.L22 - .Lrtx4) / 4
	.2byte	(.L54 - .Lrtx4) / 4
	.2byte	(.L20 - .Lrtx4) / 4
	.2byte	(.L19 - .Lrtx4) / 4
	.2byte	(.L18 - .Lrtx4) / 4
	.2byte	(.L17 - .Lrtx4) / 4
	.2byte	(.L16 - .Lrtx4) / 4
	.2byte	(.L15 - .Lrtx4) / 4
	.2byte	(.L14 - .Lrtx4) / 4
	.2byte	(.L13 - .Lrtx4) / 4
	.2byte	(.L12 - .Lrtx4) / 4
	.2byte	(.L11 - .Lrtx4) / 4
	.2byte	(.L10 - .Lrtx4) / 4
	.2byte	(.L9 - .Lrtx4) / 4
	.2byte	(.L8 - .Lrtx4) / 4
	.2byte	(.L7 - .Lrtx4) / 4
	.2byte	(.L6 - .Lrtx4) / 4
	.2byte	(.L5 - .Lrtx4) / 4
	.2byte	(.L3 - .Lrtx4) / 4
	.text
	.p2align 2,,3
.L6:
	add	w0, w19, 19
	bl	g
	add	w19, w19, w0
	.p2align 3,,7
.L2:
	tbnz	x19, 2, .L56
.L28:
	cbz	w19, .L29
.L57:
	mov	w0, 9
	bl	f
	sub	w0, w19, w0
.L1:
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	ret
	.p2align 2,,3
.L54:
	.cfi_restore_state
	tbz	x19, 6, .L2
	mov	w0, w19
	bl	g
	mov	w19, w0
	b	.L54
	.p2align 2,,3
.L29:
	ldr	x19, [sp, 16]
	mov	w0, 2
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L56:
	.cfi_restore_state
	mov	w0, w19
	bl	f
	mov	w1, w0
	add	w0, w19, 1
	mov	w19, w1
	bl	g
	add	w19, w19, w0
	cbz	w19, .L29
	b	.L57
	.p2align 2,,3
.L20:
	mov	w0, w19
	bl	g
	bl	g
	sub	w0, w0, #5
	b	.L1
	.p2align 2,,3
.L3:
	mov	w0, w19
	bl	f
	mov	w1, 21
	mul	w0, w0, w1
	b	.L1
	.p2align 2,,3
.L22:
	tbz	x19, 3, .L2
	mov	w0, w19
	bl	f
	mov	w1, w0
	mov	w0, w19
	mov	w19, w1
	bl	g
	sub	w19, w19, w0
	tbz	x19, 2, .L28
	b	.L56
	.p2align 2,,3
.L23:
	eor	w0, w19, 3
	bl	f
	mul	w0, w0, w19
	b	.L1
	.p2align 2,,3
.L24:
	mov	w0, w19
	bl	g
	add	w19, w19, w0
	tbz	x19, 2, .L28
	b	.L56
	.p2align 2,,3
.L25:
	mov	w0, w19
	bl	f
	add	w0, w0, 1
	b	.L1
	.p2align 2,,3
.L5:
	tbz	x19, 4, .L2
	sub	w0, w19, #20
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L7:
	.cfi_restore_state
	mov	w0, w19
	bl	f
	add	w0, w0, w0, lsl 3
	lsl	w0, w0, 1
	b	.L1
	.p2align 2,,3
.L8:
	tbz	x19, 4, .L2
	sub	w0, w19, #17
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L9:
	.cfi_restore_state
	add	w0, w19, 16
	bl	g
	add	w19, w19, w0
	tbz	x19, 2, .L28
	b	.L56
	.p2align 2,,3
.L10:
	mov	w0, w19
	bl	f
	lsl	w19, w0, 4
	sub	w0, w19, w0
	b	.L1
	.p2align 2,,3
.L11:
	tbz	x19, 4, .L2
	sub	w0, w19, #14
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L12:
	.cfi_restore_state
	add	w0, w19, 13
	bl	g
	add	w19, w19, w0
	tbz	x19, 2, .L28
	b	.L56
	.p2align 2,,3
.L13:
	mov	w0, w19
	bl	f
	add	w0, w0, w0, lsl 1
	lsl	w0, w0, 2
	b	.L1
	.p2align 2,,3
.L14:
	tbz	x19, 4, .L2
	sub	w0, w19, #11
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L15:
	.cfi_restore_state
	add	w0, w19, 10
	bl	g
	add	w19, w19, w0
	tbz	x19, 2, .L28
	b	.L56
	.p2align 2,,3
.L16:
	mov	w0, w19
	bl	f
	add	w0, w0, w0, lsl 3
	b	.L1
	.p2align 2,,3
.L17:
	tbz	x19, 4, .L2
	sub	w0, w19, #8
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	g
	.p2align 2,,3
.L18:
	.cfi_restore_state
	mov	w0, w19
	bl	f
	ldr	x19, [sp, 16]
	add	w0, w0, 2
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	b	f
	.p2align 2,,3
.L19:
	.cfi_restore_state
	mov	w0, w19
	bl	f
	mov	w1, 21846
	movk	w1, 0x5555, lsl 16
	smull	x1, w0, w1
	lsr	x1, x1, 32
	sub	w19, w1, w0, asr 31
	tbz	x19, 2, .L28
	b	.L56
	.cfi_endproc
.LFE0:
	.size	table, .-table
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

	.file	"table.c"
	.text
	.globl	table                           // -- Begin function table
	.p2align	2
	.type	table,@function
table:                                  // @table
	.cfi_startproc
// %bb.0:
	stp	x29, x30, [sp, #-32]!           // 16-byte Folded Spill
	.cfi_def_cfa_offset 32
	stp	x20, x19, [sp, #16]             // 16-byte Folded Spill
	mov	x29, sp
	.cfi_def_cfa w29, 32
	.cfi_offset w19, -8
	.cfi_offset w20, -16
	.cfi_offset w30, -24
	.cfi_offset w29, -32
	.cfi_remember_state
	mov	w8, w0
	cmp	w0, #21
	mov	w0, w1
	b.hi	.LBB0_32
// %bb.1:
	mov	w8, w8
	adrp	x9, .LJTI0_0
	add	x9, x9, :lo12:.LJTI0_0
	adr	x10, .LBB0_2
	ldrb	w11, [x9, x8]
	add	x10, x10, x11, lsl #2
	br	x10
.LBB0_2:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	add	w0, w0, #1
	b	.LBB0_36
.LBB0_3:
	mov	x19, x0
	add	w0, w19, #16
	b	.LBB0_31
.LBB0_4:
	tbz	w0, #4, .LBB0_32
// %bb.5:
	sub	w0, w0, #14
	.cfi_def_cfa wsp, 32
	b	.LBB0_38
.LBB0_6:
	.cfi_restore_state
	.cfi_remember_state
	tbz	w0, #4, .LBB0_32
// %bb.7:
	sub	w0, w0, #11
	.cfi_def_cfa wsp, 32
	b	.LBB0_38
.LBB0_8:
	.cfi_restore_state
	.cfi_remember_state
	tbz	w0, #6, .LBB0_32
.LBB0_9:                                // =>This Inner Loop Header: Depth=1
                                        // kill: def $w0 killed $w0 killed $x0
	bl	g
                                        // kill: def $w0 killed $w0 def $x0
	tbnz	w0, #6, .LBB0_9
	b	.LBB0_32
.LBB0_10:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	add	w8, w0, w0, lsl #1
	lsl	w0, w8, #2
	b	.LBB0_36
.LBB0_11:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	add	w0, w0, w0, lsl #3
	b	.LBB0_36
.LBB0_12:
	mov	x19, x0
	eor	w0, w19, #0x3
	bl	f
	mul	w0, w0, w19
	b	.LBB0_36
.LBB0_13:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	lsl	w8, w0, #4
	sub	w0, w8, w0
	b	.LBB0_36
.LBB0_14:
	tbz	w0, #3, .LBB0_32
// %bb.15:
	mov	x19, x0
	bl	f
	mov	w20, w0
	mov	w0, w19
	bl	g
	sub	w0, w20, w0
	b	.LBB0_32
.LBB0_16:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	add	w0, w0, #2
	.cfi_def_cfa wsp, 32
	ldp	x20, x19, [sp, #16]             // 16-byte Folded Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w30
	.cfi_restore w29
	b	f
.LBB0_17:
	.cfi_restore_state
	.cfi_remember_state
	mov	x19, x0
	b	.LBB0_31
.LBB0_18:
	tbz	w0, #4, .LBB0_32
// %bb.19:
	sub	w0, w0, #17
	.cfi_def_cfa wsp, 32
	b	.LBB0_38
.LBB0_20:
	.cfi_restore_state
	.cfi_remember_state
	tbz	w0, #4, .LBB0_32
// %bb.21:
	sub	w0, w0, #20
	.cfi_def_cfa wsp, 32
	b	.LBB0_38
.LBB0_22:
	.cfi_restore_state
	.cfi_remember_state
                                        // kill: def $w0 killed $w0 killed $x0
	bl	g
	bl	g
	sub	w0, w0, #5
	b	.LBB0_36
.LBB0_23:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	mov	w8, #21                         // =0x15
	mul	w0, w0, w8
	b	.LBB0_36
.LBB0_24:
	mov	x19, x0
	add	w0, w19, #13
	b	.LBB0_31
.LBB0_25:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	mov	w8, #21846                      // =0x5556
	movk	w8, #21845, lsl #16
	smull	x8, w0, w8
	lsr	x9, x8, #32
	add	x0, x9, x8, lsr #63
	b	.LBB0_32
.LBB0_26:
                                        // kill: def $w0 killed $w0 killed $x0
	bl	f
	add	w8, w0, w0, lsl #3
	lsl	w0, w8, #1
	b	.LBB0_36
.LBB0_27:
	mov	x19, x0
	add	w0, w19, #10
	b	.LBB0_31
.LBB0_28:
	tbz	w0, #4, .LBB0_32
// %bb.29:
	sub	w0, w0, #8
	.cfi_def_cfa wsp, 32
	b	.LBB0_38
.LBB0_30:
	.cfi_restore_state
	.cfi_remember_state
	mov	x19, x0
	add	w0, w19, #19
.LBB0_31:
	bl	g
	mov	w8, w0
	mov	x0, x19
	add	w0, w8, w0
.LBB0_32:
	tbz	w0, #2, .LBB0_34
// %bb.33:
	mov	x19, x0
	bl	f
	mov	w20, w0
	add	w0, w19, #1
	bl	g
	add	w0, w0, w20
.LBB0_34:
	cbz	w0, .LBB0_37
// %bb.35:
	mov	x19, x0
	mov	w0, #9                          // =0x9
	bl	f
	sub	w0, w19, w0
.LBB0_36:
	.cfi_def_cfa wsp, 32
	ldp	x20, x19, [sp, #16]             // 16-byte Folded Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w30
	.cfi_restore w29
	ret
.LBB0_37:
	.cfi_restore_state
	mov	w0, #2                          // =0x2
	.cfi_def_cfa wsp, 32
.LBB0_38:
	ldp	x20, x19, [sp, #16]             // 16-byte Folded Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w30
	.cfi_restore w29
	b	g
.Lfunc_end0:
	.size	table, .Lfunc_end0-table
	.cfi_endproc
	.section	.rodata,"a",@progbits
.LJTI0_0:
	.byte	(.LBB0_2-.LBB0_2)>>2
	.byte	(.LBB0_17-.LBB0_2)>>2
	.byte	(.LBB0_12-.LBB0_2)>>2
	.byte	(.LBB0_14-.LBB0_2)>>2
	.byte	(.LBB0_8-.LBB0_2)>>2
	.byte	(.LBB0_22-.LBB0_2)>>2
	.byte	(.LBB0_25-.LBB0_2)>>2
	.byte	(.LBB0_16-.LBB0_2)>>2
	.byte	(.LBB0_28-.LBB0_2)>>2
	.byte	(.LBB0_11-.LBB0_2)>>2
	.byte	(.LBB0_27-.LBB0_2)>>2
	.byte	(.LBB0_6-.LBB0_2)>>2
	.byte	(.LBB0_10-.LBB0_2)>>2
	.byte	(.LBB0_24-.LBB0_2)>>2
	.byte	(.LBB0_4-.LBB0_2)>>2
	.byte	(.LBB0_13-.LBB0_2)>>2
	.byte	(.LBB0_3-.LBB0_2)>>2
	.byte	(.LBB0_18-.LBB0_2)>>2
	.byte	(.LBB0_26-.LBB0_2)>>2
	.byte	(.LBB0_30-.LBB0_2)>>2
	.byte	(.LBB0_20-.LBB0_2)>>2
	.byte	(.LBB0_23-.LBB0_2)>>2
                                        // -- End function
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

	.file	"switch.c"
	.text
	.globl	pick                            // -- Begin function pick
	.p2align	2
	.type	pick,@function
pick:                                   // @pick
	.cfi_startproc
// %bb.0:
	stp	x29, x30, [sp, #-32]!           // 16-byte Folded Spill
	.cfi_def_cfa_offset 32
	str	x19, [sp, #16]                  // 8-byte Spill
	mov	x29, sp
	.cfi_def_cfa w29, 32
	.cfi_offset w19, -16
	.cfi_offset w30, -24
	.cfi_offset w29, -32
	.cfi_remember_state
	cmp	w0, #2
	b.gt	.LBB0_5
// %bb.1:
	cbz	w0, .LBB0_9
// %bb.2:
	cmp	w0, #1
	b.eq	.LBB0_14
// %bb.3:
	cmp	w0, #2
	b.ne	.LBB0_11
// %bb.4:
	mov	w0, #38                         // =0x26
	b	.LBB0_17
.LBB0_5:
	cmp	w0, #3
	b.eq	.LBB0_10
// %bb.6:
	cmp	w0, #4
	b.eq	.LBB0_16
// %bb.7:
	cmp	w0, #7
	b.ne	.LBB0_11
// %bb.8:
	adrp	x0, .L.str.2
	add	x0, x0, :lo12:.L.str.2
	.cfi_def_cfa wsp, 32
	b	.LBB0_15
.LBB0_9:
	.cfi_restore_state
	.cfi_remember_state
	mov	w0, #3                          // =0x3
	b	.LBB0_17
.LBB0_10:
	adrp	x0, .L.str.1
	add	x0, x0, :lo12:.L.str.1
	bl	puts
	add	w0, w0, #7
	b	.LBB0_17
.LBB0_11:
	cmp	w0, #10
	b.lt	.LBB0_17
// %bb.12:
	adrp	x19, .L.str.3
	add	x19, x19, :lo12:.L.str.3
.LBB0_13:                               // =>This Inner Loop Header: Depth=1
	mov	x0, x19
	bl	puts
	cmp	w0, #9
	b.gt	.LBB0_13
	b	.LBB0_17
.LBB0_14:
	adrp	x0, .L.str
	add	x0, x0, :lo12:.L.str
	.cfi_def_cfa wsp, 32
.LBB0_15:
	ldr	x19, [sp, #16]                  // 8-byte Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w30
	.cfi_restore w29
	b	puts
.LBB0_16:
	.cfi_restore_state
	mov	w0, #5                          // =0x5
.LBB0_17:
	.cfi_def_cfa wsp, 32
	ldr	x19, [sp, #16]                  // 8-byte Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w30
	.cfi_restore w29
	ret
.Lfunc_end0:
	.size	pick, .Lfunc_end0-pick
	.cfi_endproc
                                        // -- End function
	.type	.L.str,@object                  // @.str
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str:
	.asciz	"one"
	.size	.L.str, 4

	.type	.L.str.1,@object                // @.str.1
.L.str.1:
	.asciz	"three"
	.size	.L.str.1, 6

	.type	.L.str.2,@object                // @.str.2
.L.str.2:
	.asciz	"seven"
	.size	.L.str.2, 6

	.type	.L.str.3,@object                // @.str.3
.L.str.3:
	.asciz	"loop"
	.size	.L.str.3, 5

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

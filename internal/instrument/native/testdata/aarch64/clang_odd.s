	.file	"odd.c"
	.text
	.globl	pick                            // -- Begin function pick
	.p2align	2
	.type	pick,@function
pick:                                   // @pick
	.cfi_startproc
// %bb.0:
	cmp	w0, #3
                                        // kill: def $w1 killed $w1 def $x1
	b.le	.LBB0_6
// %bb.1:
	cmp	w0, #5
	b.le	.LBB0_13
// %bb.2:
	cmp	w0, #6
	b.eq	.LBB0_18
// %bb.3:
	cmp	w0, #7
	b.eq	.LBB0_20
// %bb.4:
	cmp	w0, #9
	b.ne	.LBB0_21
// %bb.5:
	mul	w0, w1, w1
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_6:
	cmp	w0, #1
	b.gt	.LBB0_10
// %bb.7:
	cbz	w0, .LBB0_16
// %bb.8:
	cmp	w0, #1
	b.ne	.LBB0_21
// %bb.9:
	add	w0, w1, w1, lsl #1
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_10:
	cmp	w0, #2
	b.eq	.LBB0_17
// %bb.11:
	cmp	w0, #3
	b.ne	.LBB0_21
// %bb.12:
	sub	w0, w1, #7
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_13:
	cmp	w0, #4
	b.eq	.LBB0_19
// %bb.14:
	cmp	w0, #5
	b.ne	.LBB0_21
// %bb.15:
	mov	w8, #21846                      // =0x5556
	movk	w8, #21845, lsl #16
	smull	x8, w1, w8
	lsr	x9, x8, #32
	add	x0, x9, x8, lsr #63
                                        // kill: def $w0 killed $w0 killed $x0 def $x0
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_16:
	add	w0, w1, #1
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_17:
	mov	w0, #4                          // =0x4
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_18:
	mov	w8, #9363                       // =0x2493
	movk	w8, #37449, lsl #16
	smull	x8, w1, w8
	add	x8, x1, x8, lsr #32
	asr	w9, w8, #2
	add	w8, w9, w8, lsr #31
	sub	w8, w8, w8, lsl #3
	add	w0, w1, w8
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_19:
	mov	w8, #41705                      // =0xa2e9
	movk	w8, #11915, lsl #16
	smull	x8, w1, w8
	asr	x9, x8, #33
	add	x0, x9, x8, lsr #63
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_20:
	mov	w8, #99                         // =0x63
	eor	w0, w1, w8
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.LBB0_21:
	mov	w0, wzr
                                        // kill: def $w0 killed $w0 killed $x0
	ret
.Lfunc_end0:
	.size	pick, .Lfunc_end0-pick
	.cfi_endproc
                                        // -- End function
	.globl	threaded                        // -- Begin function threaded
	.p2align	2
	.type	threaded,@function
threaded:                               // @threaded
	.cfi_startproc
// %bb.0:
	ldrb	w8, [x0], #1
	adrp	x9, threaded.to
	add	x9, x9, :lo12:threaded.to
	ldr	x10, [x9, x8, lsl #3]
	mov	w8, wzr
	br	x10
.Ltmp0:                                 // Block address taken
.LBB1_1:                                // =>This Inner Loop Header: Depth=1
	ldrb	w10, [x0], #1
	add	w8, w8, #1
	ldr	x10, [x9, x10, lsl #3]
	br	x10
.Ltmp1:                                 // Block address taken
.LBB1_2:                                // =>This Inner Loop Header: Depth=1
	ldrb	w10, [x0], #1
	add	w8, w8, w8, lsl #1
	ldr	x10, [x9, x10, lsl #3]
	br	x10
.Ltmp2:                                 // Block address taken
.LBB1_3:
	mov	w0, w8
	ret
.Lfunc_end1:
	.size	threaded, .Lfunc_end1-threaded
	.cfi_endproc
                                        // -- End function
	.globl	jumps                           // -- Begin function jumps
	.p2align	2
	.type	jumps,@function
jumps:                                  // @jumps
	.cfi_startproc
// %bb.0:
	//APP
	cmp	w0, #3
	b.lt	.LBB2_2
	//NO_APP
// %bb.1:
	ret
.LBB2_2:                                // Inline asm indirect target
                                        // Label of block must be emitted
	mrs	x8, TPIDR_EL0
	add	x8, x8, :tprel_hi12:counter
	add	x8, x8, :tprel_lo12_nc:counter
	ldr	w9, [x8]
	add	w0, w9, w0
	str	w0, [x8]
	ret
.Lfunc_end2:
	.size	jumps, .Lfunc_end2-jumps
	.cfi_endproc
                                        // -- End function
	.globl	pointer                         // -- Begin function pointer
	.p2align	2
	.type	pointer,@function
pointer:                                // @pointer
	.cfi_startproc
// %bb.0:
	adrp	x8, :got:hook
	add	w0, w0, #1
	ldr	x8, [x8, :got_lo12:hook]
	ldr	x1, [x8]
	br	x1
.Lfunc_end3:
	.size	pointer, .Lfunc_end3-pointer
	.cfi_endproc
                                        // -- End function
	.globl	maybe                           // -- Begin function maybe
	.p2align	2
	.type	maybe,@function
maybe:                                  // @maybe
	.cfi_startproc
// %bb.0:
	tbnz	w0, #3, .LBB4_2
// %bb.1:
	mov	w0, #3                          // =0x3
	ret
.LBB4_2:
	adrp	x8, :got:hook
	add	w0, w0, #1
	ldr	x8, [x8, :got_lo12:hook]
	ldr	x1, [x8]
	br	x1
.Lfunc_end4:
	.size	maybe, .Lfunc_end4-maybe
	.cfi_endproc
                                        // -- End function
	.globl	holds                           // -- Begin function holds
	.p2align	2
	.type	holds,@function
holds:                                  // @holds
	.cfi_startproc
// %bb.0:
                                        // kill: def $w0 killed $w0 def $x0
	add	w8, w0, #1
	sxtw	x16, w0
	cmp	w0, #8
	sxtw	x17, w8
	//APP
	//NO_APP
	b.lt	.LBB5_2
// %bb.1:
	//APP
	nop
	//NO_APP
.LBB5_2:
	//APP
	//NO_APP
	add	w0, w16, w17
	ret
.Lfunc_end5:
	.size	holds, .Lfunc_end5-holds
	.cfi_endproc
                                        // -- End function
	.type	threaded.to,@object             // @threaded.to
	.section	.data.rel.ro,"aw",@progbits
	.p2align	3, 0x0
threaded.to:
	.xword	.Ltmp0
	.xword	.Ltmp1
	.xword	.Ltmp2
	.size	threaded.to, 24

	.type	counter,@object                 // @counter
	.section	.tbss,"awT",@nobits
	.globl	counter
	.p2align	2, 0x0
counter:
	.word	0                               // 0x0
	.size	counter, 4

	.type	table,@object                   // @table
	.bss
	.globl	table
	.p2align	3, 0x0
table:
	.xword	0
	.size	table, 8

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

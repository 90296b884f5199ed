	.arch armv8-a
	.file	"odd.c"
	.text
	.align	2
	.p2align 4,,11
	.global	pick
	.type	pick, %function
pick:
.LFB0:
	.cfi_startproc
	mov	w2, w0	// 2	[c=4 l=4]  *movsi_aarch64/0
	cmp	w0, 4	// 10	[c=4 l=4]  cmpsi/1
	beq	.L2		// 11	[c=4 l=4]  condjump
	ble	.L19		// 16	[c=4 l=4]  condjump
	cmp	w0, 7	// 34	[c=4 l=4]  cmpsi/1
	beq	.L8		// 35	[c=4 l=4]  condjump
	ble	.L20		// 40	[c=4 l=4]  condjump
	mul	w1, w1, w1	// 142	[c=12 l=4]  mulsi3
	cmp	w0, 9	// 143	[c=4 l=4]  cmpsi/1
	csel	w0, w1, wzr, eq	// 144	[c=4 l=4]  *cmovsi_insn/0
.L1:
	ret		// 194	[c=0 l=4]  *do_return
	.p2align 2,,3
.L20:
	cmp	w0, 5	// 42	[c=4 l=4]  cmpsi/1
	beq	.L21		// 43	[c=4 l=4]  condjump
	mov	w0, 9363	// 185	[c=4 l=4]  *movsi_aarch64/3
	movk	w0, 0x9249, lsl 16	// 186	[c=4 l=4]  insv_immsi
	smull	x0, w1, w0	// 95	[c=12 l=4]  mulsidi3
	lsr	x0, x0, 32	// 96	[c=4 l=4]  *aarch64_lshr_sisd_or_int_di3/0
	add	w0, w1, w0	// 98	[c=4 l=4]  *addsi3_aarch64/1
	asr	w0, w0, 2	// 99	[c=4 l=4]  *aarch64_ashr_sisd_or_int_si3/0
	sub	w0, w0, w1, asr 31	// 101	[c=8 l=4]  *sub_asr_si
	lsl	w2, w0, 3	// 103	[c=4 l=4]  *aarch64_ashl_sisd_or_int_si3/0
	sub	w0, w2, w0	// 105	[c=4 l=4]  subsi3
	sub	w0, w1, w0	// 106	[c=4 l=4]  subsi3
	ret		// 206	[c=0 l=4]  *do_return
	.p2align 2,,3
.L19:
	mov	w0, 4	// 5	[c=4 l=4]  *movsi_aarch64/3
	cmp	w2, 2	// 18	[c=4 l=4]  cmpsi/1
	beq	.L1		// 19	[c=4 l=4]  condjump
	sub	w0, w1, #7	// 70	[c=4 l=4]  *addsi3_aarch64/3
	cmp	w2, 3	// 21	[c=4 l=4]  cmpsi/1
	beq	.L1		// 22	[c=4 l=4]  condjump
	add	w0, w1, 1	// 56	[c=4 l=4]  *addsi3_aarch64/0
	cbz	w2, .L1	// 25	[c=4 l=4]  *cbeqsi1
	mov	w0, 0	// 6	[c=4 l=4]  *movsi_aarch64/3
	cmp	w2, 1	// 27	[c=4 l=4]  cmpsi/1
	bne	.L1		// 28	[c=4 l=4]  condjump
	add	w0, w1, w1, lsl 1	// 64	[c=8 l=4]  *add_lsl_si
	ret		// 214	[c=0 l=4]  *do_return
	.p2align 2,,3
.L2:
	mov	w0, 41705	// 189	[c=4 l=4]  *movsi_aarch64/3
	movk	w0, 0x2e8b, lsl 16	// 190	[c=4 l=4]  insv_immsi
	smull	x0, w1, w0	// 76	[c=12 l=4]  mulsidi3
	asr	x0, x0, 33	// 78	[c=4 l=4]  *aarch64_ashr_sisd_or_int_di3/0
	sub	w0, w0, w1, asr 31	// 80	[c=8 l=4]  *sub_asr_si
	ret		// 222	[c=0 l=4]  *do_return
	.p2align 2,,3
.L8:
	mov	w0, 99	// 111	[c=4 l=4]  *movsi_aarch64/3
	eor	w0, w1, w0	// 112	[c=4 l=4]  xorsi3/0
	ret		// 230	[c=0 l=4]  *do_return
	.p2align 2,,3
.L21:
	mov	w0, 21846	// 187	[c=4 l=4]  *movsi_aarch64/3
	movk	w0, 0x5555, lsl 16	// 188	[c=4 l=4]  insv_immsi
	smull	x0, w1, w0	// 86	[c=12 l=4]  mulsidi3
	lsr	x0, x0, 32	// 87	[c=4 l=4]  *aarch64_lshr_sisd_or_int_di3/0
	sub	w0, w0, w1, asr 31	// 89	[c=8 l=4]  *sub_asr_si
	ret		// 238	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.align	2
	.p2align 4,,11
	.global	threaded
	.type	threaded, %function
threaded:
.LFB1:
	.cfi_startproc
	mov	x1, x0	// 57	[c=4 l=4]  *movdi_aarch64/0
	adrp	x3, .LANCHOR0	// 7	[c=4 l=4]  *movdi_aarch64/13
	add	x3, x3, :lo12:.LANCHOR0	// 8	[c=4 l=4]  add_losym_di
	mov	w0, 0	// 4	[c=4 l=4]  *movsi_aarch64/3
	ldrb	w2, [x1], 2	// 10	[c=16 l=4]  *zero_extendqidi2_aarch64/1
	ldr	x2, [x3, x2, lsl 3]	// 11	[c=16 l=4]  *movdi_aarch64/7
	br	x2		// 92	[c=4 l=4]  indirect_jump
	.p2align 2,,3
.L27:
	ret		// 68	[c=0 l=4]  *do_return
	.p2align 2,,3
.L25:
	ldrb	w2, [x1, -1]	// 39	[c=16 l=4]  *zero_extendqidi2_aarch64/1
	add	w0, w0, w0, lsl 1	// 34	[c=8 l=4]  *add_lsl_si
	add	x1, x1, 1	// 86	[c=4 l=4]  *adddi3_aarch64/0
	ldr	x2, [x3, x2, lsl 3]	// 40	[c=16 l=4]  *movdi_aarch64/7
	br	x2		// 87	[c=4 l=4]  indirect_jump
	.p2align 2,,3
.L24:
	ldrb	w2, [x1, -1]	// 21	[c=16 l=4]  *zero_extendqidi2_aarch64/1
	add	w0, w0, 1	// 17	[c=4 l=4]  *addsi3_aarch64/0
	add	x1, x1, 1	// 78	[c=4 l=4]  *adddi3_aarch64/0
	ldr	x2, [x3, x2, lsl 3]	// 22	[c=16 l=4]  *movdi_aarch64/7
	br	x2		// 79	[c=4 l=4]  indirect_jump
	.cfi_endproc
.LFE1:
	.size	threaded, .-threaded
	.align	2
	.p2align 4,,11
	.global	jumps
	.type	jumps, %function
jumps:
.LFB2:
	.cfi_startproc
#APP
// 38 "odd.c" 1
	cmp w0, 3
	b.lt .L33
// 0 "" 2
#NO_APP
	ret		// 37	[c=0 l=4]  *do_return
	.p2align 2,,3
.L33:
	mrs	x1, tpidr_el0	// 11	[c=4 l=4]  aarch64_load_tp_hard
	add	x1, x1, #:tprel_hi12:.LANCHOR1, lsl #12	// 12	[c=4 l=8]  tlsle24_di
	add	x1, x1, #:tprel_lo12_nc:.LANCHOR1
	ldr	w2, [x1]	// 13	[c=16 l=4]  *zero_extendsidi2_aarch64/1
	add	w0, w0, w2	// 14	[c=4 l=4]  *addsi3_aarch64/1
	str	w0, [x1]	// 17	[c=4 l=4]  *movsi_aarch64/8
	ret		// 44	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE2:
	.size	jumps, .-jumps
	.align	2
	.p2align 4,,11
	.global	pointer
	.type	pointer, %function
pointer:
.LFB3:
	.cfi_startproc
	adrp	x1, :got:hook	// 7	[c=24 l=8]  *movdi_aarch64/11
	ldr	x1, [x1, :got_lo12:hook]
	add	w0, w0, 1	// 9	[c=4 l=4]  *addsi3_aarch64/0
	ldr	x1, [x1]	// 8	[c=16 l=4]  *movdi_aarch64/7
	mov	x16, x1	// 20	[c=4 l=4]  *movdi_aarch64/0
	br	x16		// 10	[c=4 l=4]  *sibcall_value_insn/0
	.cfi_endproc
.LFE3:
	.size	pointer, .-pointer
	.align	2
	.p2align 4,,11
	.global	maybe
	.type	maybe, %function
maybe:
.LFB4:
	.cfi_startproc
	tbnz	x0, 3, .L38	// 9	[c=4 l=4]  *tbnedi1
	mov	w0, 3	// 23	[c=4 l=4]  *movsi_aarch64/3
	ret		// 34	[c=0 l=4]  *do_return
	.p2align 2,,3
.L38:
	adrp	x1, :got:hook	// 12	[c=24 l=8]  *movdi_aarch64/11
	ldr	x1, [x1, :got_lo12:hook]
	add	w0, w0, 1	// 14	[c=4 l=4]  *addsi3_aarch64/0
	ldr	x1, [x1]	// 13	[c=16 l=4]  *movdi_aarch64/7
	mov	x16, x1	// 30	[c=4 l=4]  *movdi_aarch64/0
	br	x16		// 15	[c=4 l=4]  *sibcall_value_insn/0
	.cfi_endproc
.LFE4:
	.size	maybe, .-maybe
	.align	2
	.p2align 4,,11
	.global	holds
	.type	holds, %function
holds:
.LFB5:
	.cfi_startproc
	add	w17, w0, 1	// 7	[c=4 l=4]  *addsi3_aarch64/0
	sxtw	x16, w0	// 6	[c=4 l=4]  *extendsidi2_aarch64/0
	sxtw	x17, w17	// 8	[c=4 l=4]  *extendsidi2_aarch64/0
	cmp	w0, 7	// 12	[c=4 l=4]  cmpsi/1
	ble	.L40		// 13	[c=4 l=4]  condjump
#APP
// 55 "odd.c" 1
	nop
// 0 "" 2
#NO_APP
.L40:
	add	w0, w16, w17	// 27	[c=4 l=4]  *addsi3_aarch64/1
	ret		// 38	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE5:
	.size	holds, .-holds
	.global	table
	.global	counter
	.bss
	.align	3
	.type	table, %object
	.size	table, 8
table:
	.zero	8
	.section	.data.rel.ro.local,"aw"
	.align	4
	.set	.LANCHOR0,. + 0
	.type	to.0, %object
	.size	to.0, 24
to.0:
	.xword	.L24
	.xword	.L25
	.xword	.L27
	.section	.tbss,"awT",@nobits
	.align	2
	.set	.LANCHOR1,. + 0
	.type	counter, %object
	.size	counter, 4
counter:
	.zero	4
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

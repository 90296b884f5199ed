	.arch armv8-a
	.file	"odd.c"
	.text
	.align	2
	.global	pick
	.type	pick, %function
pick:
.LFB0:
	.cfi_startproc
	hint	34 // bti c	// 159	[c=0 l=4]  bti_c
	cmp	w0, 9	// 9	[c=4 l=4]  cmpsi/1
	bhi	.L13		// 10	[c=4 l=4]  condjump
	adrp	x2, .L4	// 11	[c=4 l=4]  *movdi_aarch64/13
	add	x2, x2, :lo12:.L4	// 12	[c=4 l=4]  add_losym_di
	ldrb	w2, [x2,w0,uxtw]	// 13	[c=4 l=16]  *casesi_dispatch
	adr	x0, .Lrtx4
	add	x2, x0, w2, sxtb #2
	br	x2	
.Lrtx4:
	.section	.rodata
	.align	0
	.align	2
.L4:
	.byte	(.L12 - .Lrtx4) / 4
	.byte	(.L11 - .Lrtx4) / 4
	.byte	(.L10 - .Lrtx4) / 4
	.byte	(.L9 - .Lrtx4) / 4
	.byte	(.L8 - .Lrtx4) / 4
	.byte	(.L7 - .Lrtx4) / 4
	.byte	(.L6 - .Lrtx4) / 4
	.byte	(.L5 - .Lrtx4) / 4
	.byte	(.L13 - .Lrtx4) / 4
	.byte	(.L3 - .Lrtx4) / 4
	.text
.L10:
	hint	36 // bti j	// 156	[c=0 l=4]  bti_j
	mov	w0, 4	// 5	[c=4 l=4]  *movsi_aarch64/3
.L1:
	ret		// 122	[c=0 l=4]  *do_return
.L12:
	hint	36 // bti j	// 158	[c=0 l=4]  bti_j
	add	w0, w1, 1	// 23	[c=4 l=4]  *addsi3_aarch64/0
	b	.L1		// 130	[c=4 l=4]  jump
.L11:
	hint	36 // bti j	// 157	[c=0 l=4]  bti_j
	add	w0, w1, w1, lsl 1	// 30	[c=4 l=4]  *add_lsl_si
	b	.L1		// 132	[c=4 l=4]  jump
.L9:
	hint	36 // bti j	// 155	[c=0 l=4]  bti_j
	sub	w0, w1, #7	// 36	[c=4 l=4]  *addsi3_aarch64/3
	b	.L1		// 134	[c=4 l=4]  jump
.L8:
	hint	36 // bti j	// 154	[c=0 l=4]  bti_j
	mov	w0, 11	// 41	[c=4 l=4]  *movsi_aarch64/3
.L15:
	sdiv	w0, w1, w0	// 48	[c=4 l=4]  divsi3
	b	.L1		// 136	[c=4 l=4]  jump
.L7:
	hint	36 // bti j	// 153	[c=0 l=4]  bti_j
	mov	w0, 3	// 47	[c=4 l=4]  *movsi_aarch64/3
	b	.L15		// 138	[c=4 l=4]  jump
.L6:
	hint	36 // bti j	// 152	[c=0 l=4]  bti_j
	mov	w0, 7	// 55	[c=4 l=4]  *movsi_aarch64/3
	sdiv	w2, w1, w0	// 56	[c=4 l=4]  divsi3
	msub	w0, w2, w0, w1	// 59	[c=4 l=4]  *msubsi
	b	.L1		// 140	[c=4 l=4]  jump
.L5:
	hint	36 // bti j	// 151	[c=0 l=4]  bti_j
	mov	w0, 99	// 64	[c=4 l=4]  *movsi_aarch64/3
	eor	w0, w1, w0	// 65	[c=4 l=4]  xorsi3/0
	b	.L1		// 142	[c=4 l=4]  jump
.L3:
	hint	36 // bti j	// 149	[c=0 l=4]  bti_j
	mul	w0, w1, w1	// 70	[c=4 l=4]  mulsi3
	b	.L1		// 144	[c=4 l=4]  jump
.L13:
	hint	36 // bti j	// 150	[c=0 l=4]  bti_j
	mov	w0, 0	// 6	[c=4 l=4]  *movsi_aarch64/3
	b	.L1		// 146	[c=4 l=4]  jump
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.align	2
	.global	threaded
	.type	threaded, %function
threaded:
.LFB1:
	.cfi_startproc
	hint	34 // bti c	// 82	[c=0 l=4]  bti_c
	mov	x1, x0	// 56	[c=4 l=4]  *movdi_aarch64/0
	adrp	x2, .LANCHOR0	// 7	[c=4 l=4]  *movdi_aarch64/13
	add	x2, x2, :lo12:.LANCHOR0	// 8	[c=4 l=4]  add_losym_di
	ldrb	w0, [x1], 2	// 10	[c=4 l=4]  *zero_extendqidi2_aarch64/1
	ldr	x3, [x2, x0, lsl 3]	// 11	[c=4 l=4]  *movdi_aarch64/7
	mov	w0, 0	// 4	[c=4 l=4]  *movsi_aarch64/3
.L17:
	br	x3		// 27	[c=4 l=4]  indirect_jump
.L18:
	hint	36 // bti j	// 79	[c=0 l=4]  bti_j
	add	w0, w0, 1	// 17	[c=4 l=4]  *addsi3_aarch64/0
.L22:
	ldrb	w3, [x1, -1]	// 21	[c=4 l=4]  *zero_extendqidi2_aarch64/1
	add	x1, x1, 1	// 24	[c=4 l=4]  *adddi3_aarch64/0
	ldr	x3, [x2, x3, lsl 3]	// 22	[c=4 l=4]  *movdi_aarch64/7
	b	.L17		// 74	[c=4 l=4]  jump
.L19:
	hint	36 // bti j	// 80	[c=0 l=4]  bti_j
	add	w0, w0, w0, lsl 1	// 33	[c=4 l=4]  *add_lsl_si
	b	.L22		// 76	[c=4 l=4]  jump
.L21:
	hint	36 // bti j	// 81	[c=0 l=4]  bti_j
	ret		// 66	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE1:
	.size	threaded, .-threaded
	.align	2
	.global	jumps
	.type	jumps, %function
jumps:
.LFB2:
	.cfi_startproc
	hint	34 // bti c	// 43	[c=0 l=4]  bti_c
#APP
// 38 "odd.c" 1
	cmp w0, 3
	b.lt .L24
// 0 "" 2
#NO_APP
	b	.L25		// 40	[c=4 l=4]  jump
.L24:
	mrs	x1, tpidr_el0	// 11	[c=4 l=4]  aarch64_load_tp_hard
	add	x1, x1, #:tprel_hi12:.LANCHOR1, lsl #12	// 12	[c=4 l=8]  tlsle24_di
	add	x1, x1, #:tprel_lo12_nc:.LANCHOR1
	ldr	w2, [x1]	// 13	[c=4 l=4]  *zero_extendsidi2_aarch64/1
	add	w0, w0, w2	// 14	[c=4 l=4]  *addsi3_aarch64/1
	str	w0, [x1]	// 17	[c=4 l=4]  *movsi_aarch64/8
.L25:
	ret		// 36	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE2:
	.size	jumps, .-jumps
	.align	2
	.global	pointer
	.type	pointer, %function
pointer:
.LFB3:
	.cfi_startproc
	hint	34 // bti c	// 28	[c=0 l=4]  bti_c
	adrp	x1, :got:hook	// 7	[c=12 l=8]  *movdi_aarch64/11
	ldr	x1, [x1, :got_lo12:hook]
	add	w0, w0, 1	// 9	[c=4 l=4]  *addsi3_aarch64/0
	ldr	x1, [x1]	// 8	[c=4 l=4]  *movdi_aarch64/7
	mov	x16, x1	// 19	[c=4 l=4]  *movdi_aarch64/0
	br	x16		// 10	[c=4 l=4]  *sibcall_value_insn/0
	.cfi_endproc
.LFE3:
	.size	pointer, .-pointer
	.align	2
	.global	maybe
	.type	maybe, %function
maybe:
.LFB4:
	.cfi_startproc
	hint	34 // bti c	// 34	[c=0 l=4]  bti_c
	tbz	x0, 3, .L28	// 9	[c=4 l=4]  *tbeqdi1
	b	pointer		// 12	[c=4 l=4]  *sibcall_value_insn/1
.L28:
	mov	w0, 3	// 20	[c=4 l=4]  *movsi_aarch64/3
	ret		// 28	[c=0 l=4]  *do_return
	.cfi_endproc
.LFE4:
	.size	maybe, .-maybe
	.align	2
	.global	holds
	.type	holds, %function
holds:
.LFB5:
	.cfi_startproc
	hint	34 // bti c	// 41	[c=0 l=4]  bti_c
	add	w17, w0, 1	// 7	[c=4 l=4]  *addsi3_aarch64/0
	sxtw	x16, w0	// 6	[c=4 l=4]  *extendsidi2_aarch64/0
	sxtw	x17, w17	// 8	[c=4 l=4]  *extendsidi2_aarch64/0
	cmp	w0, 7	// 12	[c=4 l=4]  cmpsi/1
	ble	.L30		// 13	[c=4 l=4]  condjump
#APP
// 55 "odd.c" 1
	nop
// 0 "" 2
#NO_APP
.L30:
	add	w0, w16, w17	// 27	[c=4 l=4]  *addsi3_aarch64/1
	ret		// 37	[c=0 l=4]  *do_return
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
	.align	3
	.set	.LANCHOR0,. + 0
	.type	to.0, %object
	.size	to.0, 24
to.0:
	.xword	.L18
	.xword	.L19
	.xword	.L21
	.section	.tbss,"awT",@nobits
	.align	2
	.set	.LANCHOR1,. + 0
	.type	counter, %object
	.size	counter, 4
counter:
	.zero	4
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

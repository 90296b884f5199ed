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
	stp	x29, x30, [sp, -32]!	// 157	[c=0 l=4]  storewb_pairdi_di
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp	// 158	[c=4 l=4]  *movdi_aarch64/2
	cmp	w0, 3	// 11	[c=4 l=4]  cmpsi/1
	beq	.L2		// 12	[c=4 l=4]  condjump
	mov	w1, w0	// 151	[c=4 l=4]  *movsi_aarch64/0
	bgt	.L3		// 17	[c=4 l=4]  condjump
	cmp	w0, 1	// 19	[c=4 l=4]  cmpsi/1
	beq	.L4		// 20	[c=4 l=4]  condjump
	mov	w0, 38	// 7	[c=4 l=4]  *movsi_aarch64/3
	cmp	w1, 2	// 22	[c=4 l=4]  cmpsi/1
	beq	.L1		// 23	[c=4 l=4]  condjump
	cmp	w1, 0	// 119	[c=4 l=4]  cmpsi/1
	mov	w0, 3	// 118	[c=4 l=4]  *movsi_aarch64/3
	csel	w0, w1, w0, ne	// 120	[c=4 l=4]  *cmovsi_insn/0
.L1:
	ldp	x29, x30, [sp], 32	// 162	[c=0 l=4]  loadwb_pairdi_di
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret		// 164	[c=0 l=4]  *do_return
	.p2align 2,,3
.L3:
	.cfi_restore_state
	cmp	w0, 4	// 32	[c=4 l=4]  cmpsi/1
	beq	.L10		// 33	[c=4 l=4]  condjump
	cmp	w0, 7	// 35	[c=4 l=4]  cmpsi/1
	bne	.L17		// 36	[c=4 l=4]  condjump
	ldp	x29, x30, [sp], 32	// 166	[c=0 l=4]  loadwb_pairdi_di
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	adrp	x0, .LC2	// 65	[c=4 l=4]  *movdi_aarch64/13
	add	x0, x0, :lo12:.LC2	// 67	[c=4 l=4]  add_losym_di
	b	puts		// 68	[c=4 l=4]  *sibcall_value_insn/1
	.p2align 2,,3
.L10:
	.cfi_restore_state
	mov	w0, 5	// 6	[c=4 l=4]  *movsi_aarch64/3
	ldp	x29, x30, [sp], 32	// 180	[c=0 l=4]  loadwb_pairdi_di
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret		// 182	[c=0 l=4]  *do_return
	.p2align 2,,3
.L4:
	.cfi_restore_state
	ldp	x29, x30, [sp], 32	// 169	[c=0 l=4]  loadwb_pairdi_di
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	adrp	x0, .LC0	// 47	[c=4 l=4]  *movdi_aarch64/13
	add	x0, x0, :lo12:.LC0	// 49	[c=4 l=4]  add_losym_di
	b	puts		// 50	[c=4 l=4]  *sibcall_value_insn/1
	.p2align 2,,3
.L2:
	.cfi_restore_state
	adrp	x0, .LC1	// 55	[c=4 l=4]  *movdi_aarch64/13
	add	x0, x0, :lo12:.LC1	// 57	[c=4 l=4]  add_losym_di
	bl	puts		// 58	[c=4 l=4]  *call_value_insn/1
	add	w0, w0, 7	// 60	[c=4 l=4]  *addsi3_aarch64/0
	ldp	x29, x30, [sp], 32	// 189	[c=0 l=4]  loadwb_pairdi_di
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret		// 191	[c=0 l=4]  *do_return
.L17:
	.cfi_restore_state
	str	x19, [sp, 16]	// 154	[c=4 l=4]  *movdi_aarch64/9
	.cfi_offset 19, -16
	adrp	x19, .LC3	// 115	[c=4 l=4]  *movdi_aarch64/13
	add	x19, x19, :lo12:.LC3	// 74	[c=4 l=4]  add_losym_di
	cmp	w0, 9	// 40	[c=4 l=4]  cmpsi/1
	ble	.L18		// 41	[c=4 l=4]  condjump
	.p2align 3,,7
.L7:
	mov	x0, x19	// 75	[c=4 l=4]  *movdi_aarch64/0
	bl	puts		// 76	[c=4 l=4]  *call_value_insn/1
	cmp	w0, 9	// 80	[c=4 l=4]  cmpsi/1
	bgt	.L7		// 81	[c=4 l=4]  condjump
	ldr	x19, [sp, 16]	// 156	[c=16 l=4]  *movdi_aarch64/7
	.cfi_remember_state
	.cfi_restore 19
	ldp	x29, x30, [sp], 32	// 198	[c=0 l=4]  loadwb_pairdi_di
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret		// 200	[c=0 l=4]  *do_return
.L18:
	.cfi_restore_state
	ldr	x19, [sp, 16]	// 155	[c=16 l=4]  *movdi_aarch64/7
	.cfi_restore 19
	b	.L1		// 206	[c=4 l=4]  jump
	.cfi_endproc
.LFE0:
	.size	pick, .-pick
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

	.arch armv8-a
	.file	"odd.c"
	.text
.Ltext0:
	.file 0 "/tmp/wt/split/internal/instrument/native/testdata" "aarch64/odd.c"
	.align	2
	.p2align 4,,11
	.global	inlined
	.type	inlined, %function
inlined:
.LVL0:
.LFB0:
	.file 1 "aarch64/odd.c"
	.loc 1 6 1 view -0
	.cfi_startproc
	.loc 1 7 2 view .LVU1
	.loc 1 8 2 view .LVU2
	mov	w1, 0
#APP
// 8 "aarch64/odd.c" 1
	cmp w0, #3
	b.lt 1f
	mov w1, #7
1:
// 0 "" 2
.LVL1:
	.loc 1 9 2 view .LVU3
	.loc 1 9 22 is_stmt 0 view .LVU4
#NO_APP
	cbz	w1, .L2
	.loc 1 9 15 discriminator 1 view .LVU5
	mov	w0, w1
.LVL2:
	.loc 1 9 15 discriminator 1 view .LVU6
	b	f
.LVL3:
	.p2align 2,,3
.L2:
	.loc 1 9 24 discriminator 2 view .LVU7
	b	g
.LVL4:
	.loc 1 9 24 discriminator 2 view .LVU8
	.cfi_endproc
.LFE0:
	.size	inlined, .-inlined
	.align	2
	.p2align 4,,11
	.global	gone
	.type	gone, %function
gone:
.LVL5:
.LFB1:
	.loc 1 13 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 14 2 view .LVU10
	.loc 1 13 1 is_stmt 0 view .LVU11
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	.cfi_offset 19, -16
	.cfi_offset 20, -8
	.loc 1 13 1 view .LVU12
	mov	w20, w0
	.loc 1 14 2 view .LVU13
#APP
// 14 "aarch64/odd.c" 1
	tbnz w0, #31, .L5
// 0 "" 2
	.loc 1 15 2 is_stmt 1 view .LVU14
	.loc 1 15 9 is_stmt 0 view .LVU15
#NO_APP
	bl	f
.LVL6:
	.loc 1 15 9 view .LVU16
	mov	w19, w0
	.loc 1 15 16 view .LVU17
	add	w0, w20, 1
	bl	g
.LVL7:
	.loc 1 15 14 view .LVU18
	add	w0, w19, w0
	.loc 1 18 1 view .LVU19
	ldp	x19, x20, [sp, 16]
.LVL8:
	.loc 1 18 1 view .LVU20
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	ret
.LVL9:
	.p2align 2,,3
.L5:
	.cfi_restore_state
	.loc 1 17 2 is_stmt 1 view .LVU21
	.loc 1 17 9 is_stmt 0 view .LVU22
	bl	g
.LVL10:
	.loc 1 17 9 view .LVU23
	mov	w19, w0
	.loc 1 17 16 view .LVU24
	mov	w0, 2
	bl	f
.LVL11:
	.loc 1 17 14 view .LVU25
	sub	w0, w19, w0
	.loc 1 18 1 view .LVU26
	ldp	x19, x20, [sp, 16]
.LVL12:
	.loc 1 18 1 view .LVU27
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
.LFE1:
	.size	gone, .-gone
	.align	2
	.p2align 4,,11
	.global	computed
	.type	computed, %function
computed:
.LVL13:
.LFB2:
	.loc 1 21 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 22 2 view .LVU29
	.loc 1 23 2 view .LVU30
	.loc 1 24 2 view .LVU31
	.loc 1 21 1 is_stmt 0 view .LVU32
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	.cfi_offset 19, -32
	.cfi_offset 20, -24
	.loc 1 24 11 view .LVU33
	mov	x19, x0
	.loc 1 23 6 view .LVU34
	mov	w20, 0
	.loc 1 21 1 view .LVU35
	str	x21, [sp, 32]
	.cfi_offset 21, -16
	.loc 1 24 10 view .LVU36
	adrp	x21, .LANCHOR0
	add	x21, x21, :lo12:.LANCHOR0
	ldrb	w0, [x19], 2
.LVL14:
	.loc 1 24 10 view .LVU37
	ldr	x0, [x21, x0, lsl 3]
.LVL15:
	.loc 1 24 10 view .LVU38
	br	x0
.LVL16:
	.p2align 2,,3
.L13:
	.loc 1 32 2 is_stmt 1 view .LVU39
	.loc 1 33 1 is_stmt 0 view .LVU40
	ldr	x21, [sp, 32]
	mov	w0, w20
	ldp	x19, x20, [sp, 16]
.LVL17:
	.loc 1 33 1 view .LVU41
	ldp	x29, x30, [sp], 48
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 21
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	ret
.LVL18:
	.p2align 2,,3
.L11:
	.cfi_restore_state
	.loc 1 29 2 is_stmt 1 view .LVU42
	.loc 1 29 7 is_stmt 0 view .LVU43
	mov	w0, w20
	bl	g
.LVL19:
	.loc 1 30 10 view .LVU44
	ldrb	w1, [x19, -1]
	.loc 1 29 12 view .LVU45
	add	w0, w0, w0, lsl 1
	.loc 1 29 4 view .LVU46
	sub	w20, w20, w0
.LVL20:
	.loc 1 30 2 is_stmt 1 view .LVU47
	.loc 1 30 2 is_stmt 0 view .LVU48
	add	x19, x19, 1
.LVL21:
	.loc 1 30 10 view .LVU49
	ldr	x0, [x21, x1, lsl 3]
	br	x0
.LVL22:
	.p2align 2,,3
.L10:
	.loc 1 26 2 is_stmt 1 view .LVU50
	.loc 1 26 7 is_stmt 0 view .LVU51
	mov	w0, w20
	bl	f
.LVL23:
	.loc 1 27 10 view .LVU52
	ldrb	w1, [x19, -1]
	.loc 1 26 4 view .LVU53
	add	w20, w20, w0
.LVL24:
	.loc 1 27 2 is_stmt 1 view .LVU54
	.loc 1 27 2 is_stmt 0 view .LVU55
	add	x19, x19, 1
.LVL25:
	.loc 1 27 10 view .LVU56
	ldr	x0, [x21, x1, lsl 3]
	br	x0
	.cfi_endproc
.LFE2:
	.size	computed, .-computed
	.align	2
	.p2align 4,,11
	.global	thread
	.type	thread, %function
thread:
.LVL26:
.LFB3:
	.loc 1 36 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 37 2 view .LVU58
	.loc 1 36 1 is_stmt 0 view .LVU59
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	.cfi_offset 19, -16
	.cfi_offset 20, -8
	.loc 1 36 1 view .LVU60
	mov	w20, w0
	.loc 1 37 5 view .LVU61
	tbnz	x20, 5, .L20
	.loc 1 39 25 view .LVU62
	mrs	x1, tpidr_el0
	adrp	x0, :tlsdesc:local
	ldr	x2, [x0, #:tlsdesc_lo12:local]
	add	x0, x0, :tlsdesc_lo12:local
	.tlsdesccall	local
	blr	x2
.LVL27:
	.loc 1 39 25 view .LVU63
	ldr	w1, [x1, x0]
	.loc 1 39 2 is_stmt 1 view .LVU64
	.loc 1 39 23 is_stmt 0 view .LVU65
	cmp	w20, 3
	ble	.L24
.L19:
	.loc 1 40 1 view .LVU66
	ldp	x19, x20, [sp, 16]
.LVL28:
	.loc 1 40 1 view .LVU67
	mov	w0, w1
	ldp	x29, x30, [sp], 32
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	ret
.LVL29:
	.p2align 2,,3
.L20:
	.cfi_restore_state
	.loc 1 38 3 is_stmt 1 view .LVU68
	.loc 1 38 12 is_stmt 0 view .LVU69
	bl	f
.LVL30:
	.loc 1 38 12 view .LVU70
	mov	w19, w0
	.loc 1 38 19 view .LVU71
	mov	w0, w20
	bl	g
.LVL31:
	.loc 1 38 9 view .LVU72
	mrs	x2, tpidr_el0
	.loc 1 38 19 view .LVU73
	mov	w1, w0
	.loc 1 38 9 view .LVU74
	adrp	x0, :tlsdesc:local
	ldr	x3, [x0, #:tlsdesc_lo12:local]
	add	x0, x0, :tlsdesc_lo12:local
	.tlsdesccall	local
	blr	x3
	.loc 1 38 17 view .LVU75
	add	w1, w19, w1
	.loc 1 38 9 view .LVU76
	ldr	w3, [x2, x0]
	add	w1, w1, w3
	str	w1, [x2, x0]
	.loc 1 39 2 is_stmt 1 view .LVU77
	.loc 1 39 23 is_stmt 0 view .LVU78
	cmp	w20, 3
	bgt	.L19
.L24:
	.loc 1 39 25 discriminator 1 view .LVU79
	mov	w0, w1
	bl	f
.LVL32:
	mov	w19, w0
	.loc 1 39 36 discriminator 1 view .LVU80
	mov	w0, 3
	bl	g
.LVL33:
	.loc 1 39 23 discriminator 1 view .LVU81
	sub	w1, w19, w0
	.loc 1 40 1 discriminator 1 view .LVU82
	ldp	x19, x20, [sp, 16]
.LVL34:
	.loc 1 40 1 discriminator 1 view .LVU83
	mov	w0, w1
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
.LFE3:
	.size	thread, .-thread
	.align	2
	.p2align 4,,11
	.global	busy
	.type	busy, %function
busy:
.LVL35:
.LFB4:
	.loc 1 44 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 45 2 view .LVU85
	.loc 1 45 63 is_stmt 0 view .LVU86
	add	x17, x0, 1
	.loc 1 46 2 is_stmt 1 view .LVU87
	.loc 1 45 16 is_stmt 0 view .LVU88
	add	x16, x0, x0, lsl 1
	.loc 1 46 2 view .LVU89
	.loc 1 47 2 is_stmt 1 view .LVU90
	.loc 1 47 5 is_stmt 0 view .LVU91
	tbz	x0, 2, .L26
	.loc 1 48 3 is_stmt 1 view .LVU92
	.loc 1 51 2 view .LVU93
	.loc 1 48 5 is_stmt 0 view .LVU94
	eor	x16, x16, x17, lsl 3
	.loc 1 48 23 view .LVU95
	add	x17, x17, x16, lsl 3
	.loc 1 48 18 view .LVU96
	sub	x17, x17, x16
	.loc 1 51 2 view .LVU97
	.loc 1 52 2 is_stmt 1 view .LVU98
	.loc 1 53 1 is_stmt 0 view .LVU99
	sub	x0, x16, x17
.LVL36:
	.loc 1 53 1 view .LVU100
	ret
.LVL37:
	.p2align 2,,3
.L26:
	.loc 1 50 3 is_stmt 1 view .LVU101
	.loc 1 50 9 is_stmt 0 view .LVU102
	add	x17, x17, x17, lsl 2
	.loc 1 50 13 view .LVU103
	sub	x17, x17, x16
	.loc 1 50 20 view .LVU104
	sub	x16, x16, x17, asr 2
	.loc 1 51 2 is_stmt 1 view .LVU105
	.loc 1 52 2 view .LVU106
	.loc 1 53 1 is_stmt 0 view .LVU107
	sub	x0, x16, x17
.LVL38:
	.loc 1 53 1 view .LVU108
	ret
	.cfi_endproc
.LFE4:
	.size	busy, .-busy
	.section	.data.rel.ro.local,"aw"
	.align	4
	.set	.LANCHOR0,. + 0
	.type	to.0, %object
	.size	to.0, 24
to.0:
	.xword	.L10
	.xword	.L11
	.xword	.L13
	.text
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.4byte	0x2fc
	.2byte	0x5
	.byte	0x1
	.byte	0x8
	.4byte	.Ldebug_abbrev0
	.uleb128 0xf
	.4byte	.LASF11
	.byte	0x1d
	.4byte	.LASF0
	.4byte	.LASF1
	.8byte	.Ltext0
	.8byte	.Letext0-.Ltext0
	.4byte	.Ldebug_line0
	.uleb128 0x10
	.4byte	.LASF7
	.byte	0x1
	.byte	0x2
	.byte	0x15
	.4byte	0x3a
	.uleb128 0x11
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0xb
	.string	"g"
	.byte	0xd
	.4byte	0x3a
	.4byte	0x53
	.uleb128 0xc
	.4byte	0x3a
	.byte	0
	.uleb128 0xb
	.string	"f"
	.byte	0x5
	.4byte	0x3a
	.4byte	0x65
	.uleb128 0xc
	.4byte	0x3a
	.byte	0
	.uleb128 0x2
	.4byte	.LASF3
	.byte	0x2b
	.byte	0x6
	.4byte	0xae
	.8byte	.LFB4
	.8byte	.LFE4-.LFB4
	.uleb128 0x1
	.byte	0x9c
	.4byte	0xae
	.uleb128 0x3
	.string	"n"
	.byte	0x2b
	.byte	0x10
	.4byte	0xae
	.4byte	.LLST6
	.4byte	.LVUS6
	.uleb128 0x6
	.string	"a"
	.byte	0x2d
	.byte	0x10
	.4byte	0xae
	.uleb128 0x1
	.byte	0x60
	.uleb128 0x6
	.string	"b"
	.byte	0x2d
	.byte	0x2a
	.4byte	0xae
	.uleb128 0x1
	.byte	0x61
	.byte	0
	.uleb128 0x7
	.byte	0x8
	.byte	0x5
	.4byte	.LASF2
	.uleb128 0x2
	.4byte	.LASF4
	.byte	0x23
	.byte	0x5
	.4byte	0x3a
	.8byte	.LFB3
	.8byte	.LFE3-.LFB3
	.uleb128 0x1
	.byte	0x9c
	.4byte	0x12d
	.uleb128 0x3
	.string	"n"
	.byte	0x23
	.byte	0x10
	.4byte	0x3a
	.4byte	.LLST5
	.4byte	.LVUS5
	.uleb128 0x8
	.8byte	.LVL30
	.4byte	0x53
	.uleb128 0x4
	.8byte	.LVL31
	.4byte	0x41
	.4byte	0x10c
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x2
	.byte	0x84
	.sleb128 0
	.byte	0
	.uleb128 0x8
	.8byte	.LVL32
	.4byte	0x53
	.uleb128 0x9
	.8byte	.LVL33
	.4byte	0x41
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x1
	.byte	0x33
	.byte	0
	.byte	0
	.uleb128 0x2
	.4byte	.LASF5
	.byte	0x14
	.byte	0x5
	.4byte	0x3a
	.8byte	.LFB2
	.8byte	.LFE2-.LFB2
	.uleb128 0x1
	.byte	0x9c
	.4byte	0x1dd
	.uleb128 0x12
	.4byte	.LASF6
	.byte	0x1
	.byte	0x14
	.byte	0x23
	.4byte	0x1dd
	.4byte	.LLST3
	.4byte	.LVUS3
	.uleb128 0x6
	.string	"to"
	.byte	0x16
	.byte	0x15
	.4byte	0x1ff
	.uleb128 0x9
	.byte	0x3
	.8byte	to.0
	.uleb128 0x5
	.string	"add"
	.byte	0x19
	.8byte	.L10
	.uleb128 0x5
	.string	"sub"
	.byte	0x1c
	.8byte	.L11
	.uleb128 0x5
	.string	"end"
	.byte	0x1f
	.8byte	.L13
	.uleb128 0xd
	.string	"n"
	.byte	0x17
	.4byte	0x3a
	.4byte	.LLST4
	.4byte	.LVUS4
	.uleb128 0x4
	.8byte	.LVL19
	.4byte	0x41
	.4byte	0x1c8
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x2
	.byte	0x84
	.sleb128 0
	.byte	0
	.uleb128 0x9
	.8byte	.LVL23
	.4byte	0x53
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x2
	.byte	0x84
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x13
	.byte	0x8
	.4byte	0x1ea
	.uleb128 0x7
	.byte	0x1
	.byte	0x8
	.4byte	.LASF8
	.uleb128 0xa
	.4byte	0x1e3
	.uleb128 0x14
	.4byte	0x20d
	.4byte	0x1ff
	.uleb128 0x15
	.4byte	0x204
	.byte	0x2
	.byte	0
	.uleb128 0xa
	.4byte	0x1ef
	.uleb128 0x7
	.byte	0x8
	.byte	0x7
	.4byte	.LASF9
	.uleb128 0x16
	.byte	0x8
	.uleb128 0xa
	.4byte	0x20b
	.uleb128 0x2
	.4byte	.LASF10
	.byte	0xc
	.byte	0x5
	.4byte	0x3a
	.8byte	.LFB1
	.8byte	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.4byte	0x2a3
	.uleb128 0x3
	.string	"n"
	.byte	0xc
	.byte	0xe
	.4byte	0x3a
	.4byte	.LLST2
	.4byte	.LVUS2
	.uleb128 0x5
	.string	"yes"
	.byte	0x10
	.8byte	.L5
	.uleb128 0x4
	.8byte	.LVL6
	.4byte	0x53
	.4byte	0x26a
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x2
	.byte	0x84
	.sleb128 0
	.byte	0
	.uleb128 0x4
	.8byte	.LVL7
	.4byte	0x41
	.4byte	0x282
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x2
	.byte	0x84
	.sleb128 1
	.byte	0
	.uleb128 0x8
	.8byte	.LVL10
	.4byte	0x41
	.uleb128 0x9
	.8byte	.LVL11
	.4byte	0x53
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x50
	.uleb128 0x1
	.byte	0x32
	.byte	0
	.byte	0
	.uleb128 0x17
	.4byte	.LASF12
	.byte	0x1
	.byte	0x5
	.byte	0x5
	.4byte	0x3a
	.8byte	.LFB0
	.8byte	.LFE0-.LFB0
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x3
	.string	"n"
	.byte	0x5
	.byte	0x11
	.4byte	0x3a
	.4byte	.LLST0
	.4byte	.LVUS0
	.uleb128 0xd
	.string	"out"
	.byte	0x7
	.4byte	0x3a
	.4byte	.LLST1
	.4byte	.LVUS1
	.uleb128 0xe
	.8byte	.LVL3
	.4byte	0x53
	.uleb128 0xe
	.8byte	.LVL4
	.4byte	0x41
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x49
	.byte	0
	.uleb128 0x2
	.uleb128 0x18
	.uleb128 0x7e
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0xa
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x11
	.uleb128 0x1
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0x48
	.byte	0
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0x26
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0x21
	.sleb128 3
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x3c
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0x5
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0x21
	.sleb128 6
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xe
	.uleb128 0x48
	.byte	0
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x82
	.uleb128 0x19
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xf
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x1f
	.uleb128 0x1b
	.uleb128 0x1f
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x10
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3c
	.uleb128 0x19
	.byte	0
	.byte	0
	.uleb128 0x11
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.byte	0
	.byte	0
	.uleb128 0x12
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x13
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x14
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x15
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x16
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x17
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_loclists,"",@progbits
	.4byte	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.2byte	0x5
	.byte	0x8
	.byte	0
	.4byte	0
.Ldebug_loc0:
.LVUS6:
	.uleb128 0
	.uleb128 .LVU100
	.uleb128 .LVU100
	.uleb128 .LVU101
	.uleb128 .LVU101
	.uleb128 .LVU108
	.uleb128 .LVU108
	.uleb128 0
.LLST6:
	.byte	0x4
	.uleb128 .LVL35-.Ltext0
	.uleb128 .LVL36-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL36-.Ltext0
	.uleb128 .LVL37-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL37-.Ltext0
	.uleb128 .LVL38-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL38-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0
.LVUS5:
	.uleb128 0
	.uleb128 .LVU63
	.uleb128 .LVU63
	.uleb128 .LVU67
	.uleb128 .LVU67
	.uleb128 .LVU68
	.uleb128 .LVU68
	.uleb128 .LVU70
	.uleb128 .LVU70
	.uleb128 .LVU83
	.uleb128 .LVU83
	.uleb128 0
.LLST5:
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL27-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL27-.Ltext0
	.uleb128 .LVL28-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0x4
	.uleb128 .LVL28-.Ltext0
	.uleb128 .LVL29-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL29-.Ltext0
	.uleb128 .LVL30-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL30-1-.Ltext0
	.uleb128 .LVL34-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0x4
	.uleb128 .LVL34-.Ltext0
	.uleb128 .LFE3-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0
.LVUS3:
	.uleb128 0
	.uleb128 .LVU32
	.uleb128 .LVU32
	.uleb128 .LVU37
	.uleb128 .LVU37
	.uleb128 .LVU39
	.uleb128 .LVU48
	.uleb128 .LVU49
	.uleb128 .LVU49
	.uleb128 .LVU50
	.uleb128 .LVU55
	.uleb128 .LVU56
	.uleb128 .LVU56
	.uleb128 0
.LLST3:
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL13-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x3
	.byte	0x70
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL14-.Ltext0
	.uleb128 .LVL16-.Ltext0
	.uleb128 0x3
	.byte	0x83
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL20-.Ltext0
	.uleb128 .LVL21-.Ltext0
	.uleb128 0x1
	.byte	0x63
	.byte	0x4
	.uleb128 .LVL21-.Ltext0
	.uleb128 .LVL22-.Ltext0
	.uleb128 0x3
	.byte	0x83
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL24-.Ltext0
	.uleb128 .LVL25-.Ltext0
	.uleb128 0x1
	.byte	0x63
	.byte	0x4
	.uleb128 .LVL25-.Ltext0
	.uleb128 .LFE2-.Ltext0
	.uleb128 0x3
	.byte	0x83
	.sleb128 -1
	.byte	0x9f
	.byte	0
.LVUS4:
	.uleb128 .LVU31
	.uleb128 .LVU38
	.uleb128 .LVU38
	.uleb128 .LVU41
	.uleb128 .LVU41
	.uleb128 .LVU42
	.uleb128 .LVU42
	.uleb128 0
.LLST4:
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL15-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LVL17-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LFE2-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0
.LVUS2:
	.uleb128 0
	.uleb128 .LVU16
	.uleb128 .LVU16
	.uleb128 .LVU20
	.uleb128 .LVU20
	.uleb128 .LVU21
	.uleb128 .LVU21
	.uleb128 .LVU23
	.uleb128 .LVU23
	.uleb128 .LVU27
	.uleb128 .LVU27
	.uleb128 0
.LLST2:
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL6-1-.Ltext0
	.uleb128 .LVL8-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0x4
	.uleb128 .LVL8-.Ltext0
	.uleb128 .LVL9-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL10-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL10-1-.Ltext0
	.uleb128 .LVL12-.Ltext0
	.uleb128 0x1
	.byte	0x64
	.byte	0x4
	.uleb128 .LVL12-.Ltext0
	.uleb128 .LFE1-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0
.LVUS0:
	.uleb128 0
	.uleb128 .LVU6
	.uleb128 .LVU6
	.uleb128 .LVU7
	.uleb128 .LVU7
	.uleb128 .LVU8
	.uleb128 .LVU8
	.uleb128 0
.LLST0:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL2-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL2-.Ltext0
	.uleb128 .LVL3-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL3-.Ltext0
	.uleb128 .LVL4-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL4-1-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x50
	.byte	0x9f
	.byte	0
.LVUS1:
	.uleb128 .LVU2
	.uleb128 .LVU3
	.uleb128 .LVU3
	.uleb128 .LVU7
	.uleb128 .LVU7
	.uleb128 .LVU8
.LLST1:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL3-1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL3-.Ltext0
	.uleb128 .LVL4-1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.4byte	0x2c
	.2byte	0x2
	.4byte	.Ldebug_info0
	.byte	0x8
	.byte	0
	.2byte	0
	.2byte	0
	.8byte	.Ltext0
	.8byte	.Letext0-.Ltext0
	.8byte	0
	.8byte	0
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF2:
	.string	"long int"
.LASF8:
	.string	"unsigned char"
.LASF7:
	.string	"local"
.LASF4:
	.string	"thread"
.LASF10:
	.string	"gone"
.LASF3:
	.string	"busy"
.LASF12:
	.string	"inlined"
.LASF6:
	.string	"code"
.LASF5:
	.string	"computed"
.LASF9:
	.string	"long unsigned int"
.LASF11:
	.string	"GNU C17 12.2.0 -mlittle-endian -mabi=lp64 -g -O2 -fPIC -fasynchronous-unwind-tables"
	.section	.debug_line_str,"MS",@progbits,1
.LASF1:
	.string	"/tmp/wt/split/internal/instrument/native/testdata"
.LASF0:
	.string	"aarch64/odd.c"
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

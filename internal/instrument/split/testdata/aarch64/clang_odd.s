	.file	"odd.c"
	.file	0 "/tmp/wt/split/internal/instrument/native/testdata" "aarch64/odd.c" md5 0x8f63df8788d65ac23b7a38b05c1aa41e
	.section	.text.inlined,"ax",@progbits
	.globl	inlined                         // -- Begin function inlined
	.p2align	2
	.type	inlined,@function
inlined:                                // @inlined
.Lfunc_begin0:
	.loc	0 6 0                           // aarch64/odd.c:6:0
	.cfi_startproc
// %bb.0:
	//DEBUG_VALUE: inlined:n <- $w0
	//DEBUG_VALUE: inlined:out <- 0
	mov	w8, wzr
.Ltmp0:
	.loc	0 8 2 prologue_end              // aarch64/odd.c:8:2
	//APP
	cmp w0, #3
	b.lt 1f
	mov w8, #7
1:
	//NO_APP
.Ltmp1:
	//DEBUG_VALUE: inlined:out <- $w8
	.loc	0 9 9                           // aarch64/odd.c:9:9
	cbz	w8, .LBB0_2
.Ltmp2:
// %bb.1:
	//DEBUG_VALUE: inlined:out <- $w8
	//DEBUG_VALUE: inlined:n <- $w0
	.loc	0 9 15                          // aarch64/odd.c:9:15
	mov	w0, w8
.Ltmp3:
	//DEBUG_VALUE: inlined:n <- [DW_OP_LLVM_entry_value 1] $w0
	b	f
.Ltmp4:
.LBB0_2:
	//DEBUG_VALUE: inlined:out <- $w8
	//DEBUG_VALUE: inlined:n <- $w0
	.loc	0 9 24                          // aarch64/odd.c:9:24
	b	g
.Ltmp5:
.Lfunc_end0:
	.size	inlined, .Lfunc_end0-inlined
	.cfi_endproc
                                        // -- End function
	.section	.text.gone,"ax",@progbits
	.globl	gone                            // -- Begin function gone
	.p2align	2
	.type	gone,@function
gone:                                   // @gone
.Lfunc_begin1:
	.loc	0 13 0                          // aarch64/odd.c:13:0
	.cfi_startproc
// %bb.0:
	//DEBUG_VALUE: gone:n <- $w0
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
	mov	w19, w0
.Ltmp6:
	//DEBUG_VALUE: gone:n <- $w19
	.loc	0 14 2 prologue_end             // aarch64/odd.c:14:2
	//APP
	tbnz w0, #31, .LBB1_3
	//NO_APP
.Ltmp7:
// %bb.1:
	//DEBUG_VALUE: gone:n <- $w19
	.loc	0 15 9                          // aarch64/odd.c:15:9
	mov	w0, w19
	bl	f
.Ltmp8:
	.loc	0 15 9                          // aarch64/odd.c:15:9
	mov	w20, w0
	.loc	0 15 20 is_stmt 0               // aarch64/odd.c:15:20
	add	w0, w19, #1
	.loc	0 15 16                         // aarch64/odd.c:15:16
	bl	g
.Ltmp9:
	.loc	0 15 14 is_stmt 1               // aarch64/odd.c:15:14
	add	w0, w0, w20
.Ltmp10:
.LBB1_2:
	.cfi_def_cfa wsp, 32
	.loc	0 18 1 epilogue_begin           // aarch64/odd.c:18:1
	ldp	x20, x19, [sp, #16]             // 16-byte Folded Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w30
	.cfi_restore w29
	ret
.LBB1_3:                                // Inline asm indirect target
                                        // Label of block must be emitted
	.cfi_restore_state
.Ltmp11:
	//DEBUG_VALUE: gone:n <- $w19
	//DEBUG_LABEL: gone:yes
	.loc	0 17 9                          // aarch64/odd.c:17:9
	mov	w0, w19
	bl	g
.Ltmp12:
	.loc	0 17 9                          // aarch64/odd.c:17:9
	mov	w19, w0
.Ltmp13:
	//DEBUG_VALUE: gone:n <- [DW_OP_LLVM_entry_value 1] $w0
	.loc	0 17 16 is_stmt 0               // aarch64/odd.c:17:16
	mov	w0, #2                          // =0x2
	bl	f
.Ltmp14:
	.loc	0 17 14 is_stmt 1               // aarch64/odd.c:17:14
	sub	w0, w19, w0
	b	.LBB1_2
.Ltmp15:
.Lfunc_end1:
	.size	gone, .Lfunc_end1-gone
	.cfi_endproc
                                        // -- End function
	.section	.text.computed,"ax",@progbits
	.globl	computed                        // -- Begin function computed
	.p2align	2
	.type	computed,@function
computed:                               // @computed
.Lfunc_begin2:
	.loc	0 21 0                          // aarch64/odd.c:21:0
	.cfi_startproc
// %bb.0:
	//DEBUG_VALUE: computed:code <- [DW_OP_plus_uconst 1, DW_OP_stack_value] $x0
	stp	x29, x30, [sp, #-48]!           // 16-byte Folded Spill
	.cfi_def_cfa_offset 48
	str	x21, [sp, #16]                  // 8-byte Spill
	stp	x20, x19, [sp, #32]             // 16-byte Folded Spill
	mov	x29, sp
	.cfi_def_cfa w29, 48
	.cfi_offset w19, -8
	.cfi_offset w20, -16
	.cfi_offset w21, -32
	.cfi_offset w30, -40
	.cfi_offset w29, -48
	mov	x19, x0
.Ltmp16:
	//DEBUG_VALUE: computed:code <- [DW_OP_plus_uconst 1, DW_OP_stack_value] $x19
	//DEBUG_VALUE: computed:code <- [DW_OP_plus_uconst 1, DW_OP_stack_value] $x19
	//DEBUG_VALUE: computed:n <- 0
	.loc	0 0 0 prologue_end              // aarch64/odd.c:0
	adrp	x21, computed.to
	add	x21, x21, :lo12:computed.to
	ldrb	w8, [x19], #1
.Ltmp17:
	mov	w20, wzr
	ldr	x8, [x21, x8, lsl #3]
.Ltmp18:
	//DEBUG_VALUE: computed:code <- undef
	//DEBUG_VALUE: computed:n <- $wzr
	br	x8
.Ltmp19:
.Ltmp20:                                // Block address taken
.LBB2_1:                                // =>This Inner Loop Header: Depth=1
	//DEBUG_LABEL: computed:add
	.loc	0 26 7                          // aarch64/odd.c:26:7
	mov	w0, w20
	bl	f
.Ltmp21:
	.loc	0 0 0 is_stmt 0                 // aarch64/odd.c:0
	ldrb	w8, [x19], #1
	add	w20, w0, w20
	ldr	x8, [x21, x8, lsl #3]
.Ltmp22:
	//DEBUG_VALUE: computed:code <- [DW_OP_plus_uconst 1, DW_OP_stack_value] $x19
	//DEBUG_VALUE: computed:n <- [DW_OP_LLVM_arg 0, DW_OP_LLVM_arg 1, DW_OP_plus, DW_OP_stack_value] $w0, $w20
	br	x8
.Ltmp23:
.Ltmp24:                                // Block address taken
.LBB2_2:                                // =>This Inner Loop Header: Depth=1
	//DEBUG_LABEL: computed:sub
	.loc	0 29 7 is_stmt 1                // aarch64/odd.c:29:7
	mov	w0, w20
	bl	g
.Ltmp25:
	.loc	0 0 0 is_stmt 0                 // aarch64/odd.c:0
	ldrb	w8, [x19], #1
	.loc	0 29 12                         // aarch64/odd.c:29:12
	sub	w9, w0, w0, lsl #2
.Ltmp26:
	//DEBUG_VALUE: computed:code <- [DW_OP_plus_uconst 1, DW_OP_stack_value] $x19
	//DEBUG_VALUE: computed:n <- [DW_OP_LLVM_arg 0, DW_OP_LLVM_arg 1, DW_OP_plus, DW_OP_stack_value] $w9, $w20
	.loc	0 0 0                           // aarch64/odd.c:0
	ldr	x8, [x21, x8, lsl #3]
.Ltmp27:
	//DEBUG_VALUE: computed:code <- $x19
	//DEBUG_VALUE: computed:n <- $w20
	add	w20, w9, w20
.Ltmp28:
	br	x8
.Ltmp29:
.Ltmp30:                                // Block address taken
.LBB2_3:
	//DEBUG_LABEL: computed:end
	.loc	0 32 2 is_stmt 1                // aarch64/odd.c:32:2
	mov	w0, w20
	.cfi_def_cfa wsp, 48
	.loc	0 32 2 epilogue_begin is_stmt 0 // aarch64/odd.c:32:2
	ldp	x20, x19, [sp, #32]             // 16-byte Folded Reload
	ldr	x21, [sp, #16]                  // 8-byte Reload
	ldp	x29, x30, [sp], #48             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w21
	.cfi_restore w30
	.cfi_restore w29
	ret
.Ltmp31:
.Lfunc_end2:
	.size	computed, .Lfunc_end2-computed
	.cfi_endproc
                                        // -- End function
	.section	.text.thread,"ax",@progbits
	.globl	thread                          // -- Begin function thread
	.p2align	2
	.type	thread,@function
thread:                                 // @thread
.Lfunc_begin3:
	.loc	0 36 0 is_stmt 1                // aarch64/odd.c:36:0
	.cfi_startproc
// %bb.0:
	//DEBUG_VALUE: thread:n <- $w0
	stp	x29, x30, [sp, #-48]!           // 16-byte Folded Spill
	.cfi_def_cfa_offset 48
	str	x21, [sp, #16]                  // 8-byte Spill
	stp	x20, x19, [sp, #32]             // 16-byte Folded Spill
	mov	x29, sp
	.cfi_def_cfa w29, 48
	.cfi_offset w19, -8
	.cfi_offset w20, -16
	.cfi_offset w21, -32
	.cfi_offset w30, -40
	.cfi_offset w29, -48
	mov	w19, w0
.Ltmp32:
	//DEBUG_VALUE: thread:n <- $w19
	mrs	x21, TPIDR_EL0
.Ltmp33:
	.loc	0 37 8 prologue_end             // aarch64/odd.c:37:8
	tbz	w0, #5, .LBB3_2
.Ltmp34:
// %bb.1:
	//DEBUG_VALUE: thread:n <- $w19
	.loc	0 38 12                         // aarch64/odd.c:38:12
	mov	w0, w19
	bl	f
.Ltmp35:
	.loc	0 38 12                         // aarch64/odd.c:38:12
	mov	w20, w0
	.loc	0 38 19 is_stmt 0               // aarch64/odd.c:38:19
	mov	w0, w19
	bl	g
.Ltmp36:
	.loc	0 38 17 is_stmt 1               // aarch64/odd.c:38:17
	add	w8, w0, w20
	.loc	0 38 3 is_stmt 0                // aarch64/odd.c:38:3
	adrp	x0, :tlsdesc:local
	ldr	x1, [x0, :tlsdesc_lo12:local]
	add	x0, x0, :tlsdesc_lo12:local
	.tlsdesccall local
	blr	x1
.Ltmp37:
	.loc	0 38 9 is_stmt 1                // aarch64/odd.c:38:9
	ldr	w9, [x21, x0]
	add	w8, w8, w9
	str	w8, [x21, x0]
.Ltmp38:
.LBB3_2:
	//DEBUG_VALUE: thread:n <- $w19
	.loc	0 39 0                          // aarch64/odd.c:39
	adrp	x0, :tlsdesc:local
	ldr	x1, [x0, :tlsdesc_lo12:local]
	add	x0, x0, :tlsdesc_lo12:local
	.tlsdesccall local
	blr	x1
.Ltmp39:
	.loc	0 39 0                          // aarch64/odd.c:39
	ldr	w0, [x21, x0]
	.loc	0 39 9 is_stmt 0                // aarch64/odd.c:39:9
	cmp	w19, #3
	b.gt	.LBB3_4
.Ltmp40:
// %bb.3:
	//DEBUG_VALUE: thread:n <- $w19
	.loc	0 39 25 is_stmt 1               // aarch64/odd.c:39:25
	bl	f
.Ltmp41:
	.loc	0 39 25                         // aarch64/odd.c:39:25
	mov	w19, w0
.Ltmp42:
	//DEBUG_VALUE: thread:n <- [DW_OP_LLVM_entry_value 1] $w0
	.loc	0 39 36 is_stmt 0               // aarch64/odd.c:39:36
	mov	w0, #3                          // =0x3
	bl	g
.Ltmp43:
	.loc	0 39 34                         // aarch64/odd.c:39:34
	sub	w0, w19, w0
.Ltmp44:
.LBB3_4:
	.cfi_def_cfa wsp, 48
	.loc	0 39 2 epilogue_begin is_stmt 1 // aarch64/odd.c:39:2
	ldp	x20, x19, [sp, #32]             // 16-byte Folded Reload
	ldr	x21, [sp, #16]                  // 8-byte Reload
	ldp	x29, x30, [sp], #48             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w20
	.cfi_restore w21
	.cfi_restore w30
	.cfi_restore w29
	ret
.Ltmp45:
.Lfunc_end3:
	.size	thread, .Lfunc_end3-thread
	.cfi_endproc
                                        // -- End function
	.section	.text.busy,"ax",@progbits
	.globl	busy                            // -- Begin function busy
	.p2align	2
	.type	busy,@function
busy:                                   // @busy
.Lfunc_begin4:
	.cfi_startproc
// %bb.0:
	//DEBUG_VALUE: busy:n <- $x0
	.loc	0 45 37 prologue_end            // aarch64/odd.c:45:37
	add	x16, x0, x0, lsl #1
.Ltmp46:
	//DEBUG_VALUE: busy:a <- $x16
	//DEBUG_VALUE: busy:b <- undef
	.loc	0 45 63                         // aarch64/odd.c:45:63
	add	x17, x0, #1
.Ltmp47:
	.loc	0 47 8                          // aarch64/odd.c:47:8
	tst	w0, #0x4
.Ltmp48:
	.loc	0 46 2                          // aarch64/odd.c:46:2
	//APP
	//NO_APP
.Ltmp49:
	//DEBUG_VALUE: busy:a <- $x16
	//DEBUG_VALUE: busy:b <- $x17
	.loc	0 50 9 is_stmt 0                // aarch64/odd.c:50:9
	add	x8, x17, x17, lsl #2
	.loc	0 48 5 is_stmt 1                // aarch64/odd.c:48:5
	eor	x9, x16, x17, lsl #3
.Ltmp50:
	//DEBUG_VALUE: busy:a <- $x9
	.loc	0 50 13                         // aarch64/odd.c:50:13
	sub	x8, x8, x16
.Ltmp51:
	//DEBUG_VALUE: busy:b <- $x8
	.loc	0 48 18                         // aarch64/odd.c:48:18
	sub	x10, x17, x9
	.loc	0 50 20                         // aarch64/odd.c:50:20
	sub	x11, x16, x8, asr #2
.Ltmp52:
	//DEBUG_VALUE: busy:a <- $x11
	.loc	0 48 18                         // aarch64/odd.c:48:18
	add	x10, x10, x9, lsl #3
.Ltmp53:
	//DEBUG_VALUE: busy:b <- $x10
	.loc	0 47 8                          // aarch64/odd.c:47:8
	csel	x16, x11, x9, eq
	csel	x17, x8, x10, eq
.Ltmp54:
	//DEBUG_VALUE: busy:a <- $x16
	//DEBUG_VALUE: busy:b <- $x17
	.loc	0 51 2                          // aarch64/odd.c:51:2
	//APP
	//NO_APP
.Ltmp55:
	//DEBUG_VALUE: busy:a <- $x16
	//DEBUG_VALUE: busy:b <- $x17
	.loc	0 52 11                         // aarch64/odd.c:52:11
	sub	x0, x16, x17
.Ltmp56:
	//DEBUG_VALUE: busy:n <- [DW_OP_LLVM_entry_value 1] $x0
	.loc	0 52 2 is_stmt 0                // aarch64/odd.c:52:2
	ret
.Ltmp57:
.Lfunc_end4:
	.size	busy, .Lfunc_end4-busy
	.cfi_endproc
                                        // -- End function
	.type	computed.to,@object             // @computed.to
	.section	.data.rel.ro,"aw",@progbits
	.p2align	3, 0x0
computed.to:
	.xword	.Ltmp20
	.xword	.Ltmp24
	.xword	.Ltmp30
	.size	computed.to, 24

	.section	.debug_loclists,"",@progbits
	.word	.Ldebug_list_header_end0-.Ldebug_list_header_start0 // Length
.Ldebug_list_header_start0:
	.hword	5                               // Version
	.byte	8                               // Address size
	.byte	0                               // Segment selector size
	.word	9                               // Offset entry count
.Lloclists_table_base0:
	.word	.Ldebug_loc0-.Lloclists_table_base0
	.word	.Ldebug_loc1-.Lloclists_table_base0
	.word	.Ldebug_loc2-.Lloclists_table_base0
	.word	.Ldebug_loc3-.Lloclists_table_base0
	.word	.Ldebug_loc4-.Lloclists_table_base0
	.word	.Ldebug_loc5-.Lloclists_table_base0
	.word	.Ldebug_loc6-.Lloclists_table_base0
	.word	.Ldebug_loc7-.Lloclists_table_base0
	.word	.Ldebug_loc8-.Lloclists_table_base0
.Ldebug_loc0:
	.byte	1                               // DW_LLE_base_addressx
	.byte	1                               //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin0-.Lfunc_begin0    //   starting offset
	.uleb128 .Ltmp3-.Lfunc_begin0           //   ending offset
	.byte	1                               // Loc expr size
	.byte	80                              // DW_OP_reg0
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp3-.Lfunc_begin0           //   starting offset
	.uleb128 .Ltmp4-.Lfunc_begin0           //   ending offset
	.byte	4                               // Loc expr size
	.byte	163                             // DW_OP_entry_value
	.byte	1                               // 1
	.byte	80                              // DW_OP_reg0
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp4-.Lfunc_begin0           //   starting offset
	.uleb128 .Ltmp5-.Lfunc_begin0           //   ending offset
	.byte	1                               // Loc expr size
	.byte	80                              // DW_OP_reg0
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc1:
	.byte	1                               // DW_LLE_base_addressx
	.byte	1                               //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin0-.Lfunc_begin0    //   starting offset
	.uleb128 .Ltmp1-.Lfunc_begin0           //   ending offset
	.byte	3                               // Loc expr size
	.byte	17                              // DW_OP_consts
	.byte	0                               // 0
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp1-.Lfunc_begin0           //   starting offset
	.uleb128 .Ltmp5-.Lfunc_begin0           //   ending offset
	.byte	1                               // Loc expr size
	.byte	88                              // DW_OP_reg8
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc2:
	.byte	1                               // DW_LLE_base_addressx
	.byte	4                               //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin1-.Lfunc_begin1    //   starting offset
	.uleb128 .Ltmp6-.Lfunc_begin1           //   ending offset
	.byte	1                               // Loc expr size
	.byte	80                              // DW_OP_reg0
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp6-.Lfunc_begin1           //   starting offset
	.uleb128 .Ltmp10-.Lfunc_begin1          //   ending offset
	.byte	1                               // Loc expr size
	.byte	99                              // DW_OP_reg19
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp11-.Lfunc_begin1          //   starting offset
	.uleb128 .Ltmp13-.Lfunc_begin1          //   ending offset
	.byte	1                               // Loc expr size
	.byte	99                              // DW_OP_reg19
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp13-.Lfunc_begin1          //   starting offset
	.uleb128 .Lfunc_end1-.Lfunc_begin1      //   ending offset
	.byte	4                               // Loc expr size
	.byte	163                             // DW_OP_entry_value
	.byte	1                               // 1
	.byte	80                              // DW_OP_reg0
	.byte	159                             // DW_OP_stack_value
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc3:
	.byte	1                               // DW_LLE_base_addressx
	.byte	9                               //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin2-.Lfunc_begin2    //   starting offset
	.uleb128 .Ltmp16-.Lfunc_begin2          //   ending offset
	.byte	3                               // Loc expr size
	.byte	112                             // DW_OP_breg0
	.byte	1                               // 1
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp16-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp17-.Lfunc_begin2          //   ending offset
	.byte	3                               // Loc expr size
	.byte	131                             // DW_OP_breg19
	.byte	1                               // 1
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp22-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp23-.Lfunc_begin2          //   ending offset
	.byte	3                               // Loc expr size
	.byte	131                             // DW_OP_breg19
	.byte	1                               // 1
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp26-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp27-.Lfunc_begin2          //   ending offset
	.byte	3                               // Loc expr size
	.byte	131                             // DW_OP_breg19
	.byte	1                               // 1
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp27-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp29-.Lfunc_begin2          //   ending offset
	.byte	1                               // Loc expr size
	.byte	99                              // DW_OP_reg19
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc4:
	.byte	1                               // DW_LLE_base_addressx
	.byte	9                               //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp16-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp18-.Lfunc_begin2          //   ending offset
	.byte	3                               // Loc expr size
	.byte	17                              // DW_OP_consts
	.byte	0                               // 0
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp18-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp19-.Lfunc_begin2          //   ending offset
	.byte	1                               // Loc expr size
	.byte	111                             // DW_OP_reg31
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp22-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp23-.Lfunc_begin2          //   ending offset
	.byte	6                               // Loc expr size
	.byte	112                             // DW_OP_breg0
	.byte	0                               // 0
	.byte	132                             // DW_OP_breg20
	.byte	0                               // 0
	.byte	34                              // DW_OP_plus
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp26-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp27-.Lfunc_begin2          //   ending offset
	.byte	6                               // Loc expr size
	.byte	121                             // DW_OP_breg9
	.byte	0                               // 0
	.byte	132                             // DW_OP_breg20
	.byte	0                               // 0
	.byte	34                              // DW_OP_plus
	.byte	159                             // DW_OP_stack_value
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp27-.Lfunc_begin2          //   starting offset
	.uleb128 .Ltmp28-.Lfunc_begin2          //   ending offset
	.byte	1                               // Loc expr size
	.byte	100                             // DW_OP_reg20
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc5:
	.byte	1                               // DW_LLE_base_addressx
	.byte	12                              //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin3-.Lfunc_begin3    //   starting offset
	.uleb128 .Ltmp32-.Lfunc_begin3          //   ending offset
	.byte	1                               // Loc expr size
	.byte	80                              // DW_OP_reg0
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp32-.Lfunc_begin3          //   starting offset
	.uleb128 .Ltmp42-.Lfunc_begin3          //   ending offset
	.byte	1                               // Loc expr size
	.byte	99                              // DW_OP_reg19
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp42-.Lfunc_begin3          //   starting offset
	.uleb128 .Ltmp44-.Lfunc_begin3          //   ending offset
	.byte	4                               // Loc expr size
	.byte	163                             // DW_OP_entry_value
	.byte	1                               // 1
	.byte	80                              // DW_OP_reg0
	.byte	159                             // DW_OP_stack_value
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc6:
	.byte	1                               // DW_LLE_base_addressx
	.byte	17                              //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Lfunc_begin4-.Lfunc_begin4    //   starting offset
	.uleb128 .Ltmp56-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	80                              // DW_OP_reg0
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp56-.Lfunc_begin4          //   starting offset
	.uleb128 .Lfunc_end4-.Lfunc_begin4      //   ending offset
	.byte	4                               // Loc expr size
	.byte	163                             // DW_OP_entry_value
	.byte	1                               // 1
	.byte	80                              // DW_OP_reg0
	.byte	159                             // DW_OP_stack_value
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc7:
	.byte	1                               // DW_LLE_base_addressx
	.byte	17                              //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp46-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp50-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	96                              // DW_OP_reg16
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp50-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp52-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	89                              // DW_OP_reg9
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp52-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp54-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	91                              // DW_OP_reg11
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp54-.Lfunc_begin4          //   starting offset
	.uleb128 .Lfunc_end4-.Lfunc_begin4      //   ending offset
	.byte	1                               // Loc expr size
	.byte	96                              // DW_OP_reg16
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_loc8:
	.byte	1                               // DW_LLE_base_addressx
	.byte	17                              //   base address index
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp49-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp51-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	97                              // DW_OP_reg17
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp51-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp53-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	88                              // DW_OP_reg8
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp53-.Lfunc_begin4          //   starting offset
	.uleb128 .Ltmp54-.Lfunc_begin4          //   ending offset
	.byte	1                               // Loc expr size
	.byte	90                              // DW_OP_reg10
	.byte	4                               // DW_LLE_offset_pair
	.uleb128 .Ltmp54-.Lfunc_begin4          //   starting offset
	.uleb128 .Lfunc_end4-.Lfunc_begin4      //   ending offset
	.byte	1                               // Loc expr size
	.byte	97                              // DW_OP_reg17
	.byte	0                               // DW_LLE_end_of_list
.Ldebug_list_header_end0:
	.section	.debug_abbrev,"",@progbits
	.byte	1                               // Abbreviation Code
	.byte	17                              // DW_TAG_compile_unit
	.byte	1                               // DW_CHILDREN_yes
	.byte	37                              // DW_AT_producer
	.byte	37                              // DW_FORM_strx1
	.byte	19                              // DW_AT_language
	.byte	5                               // DW_FORM_data2
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	114                             // DW_AT_str_offsets_base
	.byte	23                              // DW_FORM_sec_offset
	.byte	16                              // DW_AT_stmt_list
	.byte	23                              // DW_FORM_sec_offset
	.byte	27                              // DW_AT_comp_dir
	.byte	37                              // DW_FORM_strx1
	.byte	17                              // DW_AT_low_pc
	.byte	1                               // DW_FORM_addr
	.byte	85                              // DW_AT_ranges
	.byte	35                              // DW_FORM_rnglistx
	.byte	115                             // DW_AT_addr_base
	.byte	23                              // DW_FORM_sec_offset
	.byte	116                             // DW_AT_rnglists_base
	.byte	23                              // DW_FORM_sec_offset
	.ascii	"\214\001"                      // DW_AT_loclists_base
	.byte	23                              // DW_FORM_sec_offset
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	2                               // Abbreviation Code
	.byte	46                              // DW_TAG_subprogram
	.byte	1                               // DW_CHILDREN_yes
	.byte	17                              // DW_AT_low_pc
	.byte	27                              // DW_FORM_addrx
	.byte	18                              // DW_AT_high_pc
	.byte	6                               // DW_FORM_data4
	.byte	64                              // DW_AT_frame_base
	.byte	24                              // DW_FORM_exprloc
	.byte	122                             // DW_AT_call_all_calls
	.byte	25                              // DW_FORM_flag_present
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	39                              // DW_AT_prototyped
	.byte	25                              // DW_FORM_flag_present
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	63                              // DW_AT_external
	.byte	25                              // DW_FORM_flag_present
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	3                               // Abbreviation Code
	.byte	52                              // DW_TAG_variable
	.byte	0                               // DW_CHILDREN_no
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	2                               // DW_AT_location
	.byte	24                              // DW_FORM_exprloc
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	4                               // Abbreviation Code
	.byte	5                               // DW_TAG_formal_parameter
	.byte	0                               // DW_CHILDREN_no
	.byte	2                               // DW_AT_location
	.byte	34                              // DW_FORM_loclistx
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	5                               // Abbreviation Code
	.byte	52                              // DW_TAG_variable
	.byte	0                               // DW_CHILDREN_no
	.byte	2                               // DW_AT_location
	.byte	34                              // DW_FORM_loclistx
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	6                               // Abbreviation Code
	.byte	10                              // DW_TAG_label
	.byte	0                               // DW_CHILDREN_no
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	57                              // DW_AT_decl_column
	.byte	11                              // DW_FORM_data1
	.byte	17                              // DW_AT_low_pc
	.byte	27                              // DW_FORM_addrx
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	7                               // Abbreviation Code
	.byte	72                              // DW_TAG_call_site
	.byte	1                               // DW_CHILDREN_yes
	.byte	127                             // DW_AT_call_origin
	.byte	19                              // DW_FORM_ref4
	.byte	125                             // DW_AT_call_return_pc
	.byte	27                              // DW_FORM_addrx
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	8                               // Abbreviation Code
	.byte	73                              // DW_TAG_call_site_parameter
	.byte	0                               // DW_CHILDREN_no
	.byte	2                               // DW_AT_location
	.byte	24                              // DW_FORM_exprloc
	.byte	126                             // DW_AT_call_value
	.byte	24                              // DW_FORM_exprloc
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	9                               // Abbreviation Code
	.byte	1                               // DW_TAG_array_type
	.byte	1                               // DW_CHILDREN_yes
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	10                              // Abbreviation Code
	.byte	33                              // DW_TAG_subrange_type
	.byte	0                               // DW_CHILDREN_no
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	55                              // DW_AT_count
	.byte	11                              // DW_FORM_data1
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	11                              // Abbreviation Code
	.byte	38                              // DW_TAG_const_type
	.byte	0                               // DW_CHILDREN_no
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	12                              // Abbreviation Code
	.byte	15                              // DW_TAG_pointer_type
	.byte	0                               // DW_CHILDREN_no
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	13                              // Abbreviation Code
	.byte	36                              // DW_TAG_base_type
	.byte	0                               // DW_CHILDREN_no
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	11                              // DW_AT_byte_size
	.byte	11                              // DW_FORM_data1
	.byte	62                              // DW_AT_encoding
	.byte	11                              // DW_FORM_data1
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	14                              // Abbreviation Code
	.byte	72                              // DW_TAG_call_site
	.byte	0                               // DW_CHILDREN_no
	.byte	127                             // DW_AT_call_origin
	.byte	19                              // DW_FORM_ref4
	.ascii	"\202\001"                      // DW_AT_call_tail_call
	.byte	25                              // DW_FORM_flag_present
	.ascii	"\201\001"                      // DW_AT_call_pc
	.byte	27                              // DW_FORM_addrx
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	15                              // Abbreviation Code
	.byte	46                              // DW_TAG_subprogram
	.byte	1                               // DW_CHILDREN_yes
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	58                              // DW_AT_decl_file
	.byte	11                              // DW_FORM_data1
	.byte	59                              // DW_AT_decl_line
	.byte	11                              // DW_FORM_data1
	.byte	39                              // DW_AT_prototyped
	.byte	25                              // DW_FORM_flag_present
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	60                              // DW_AT_declaration
	.byte	25                              // DW_FORM_flag_present
	.byte	63                              // DW_AT_external
	.byte	25                              // DW_FORM_flag_present
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	16                              // Abbreviation Code
	.byte	5                               // DW_TAG_formal_parameter
	.byte	0                               // DW_CHILDREN_no
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	17                              // Abbreviation Code
	.byte	36                              // DW_TAG_base_type
	.byte	0                               // DW_CHILDREN_no
	.byte	3                               // DW_AT_name
	.byte	37                              // DW_FORM_strx1
	.byte	62                              // DW_AT_encoding
	.byte	11                              // DW_FORM_data1
	.byte	11                              // DW_AT_byte_size
	.byte	11                              // DW_FORM_data1
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	18                              // Abbreviation Code
	.byte	72                              // DW_TAG_call_site
	.byte	0                               // DW_CHILDREN_no
	.byte	127                             // DW_AT_call_origin
	.byte	19                              // DW_FORM_ref4
	.byte	125                             // DW_AT_call_return_pc
	.byte	27                              // DW_FORM_addrx
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	19                              // Abbreviation Code
	.byte	15                              // DW_TAG_pointer_type
	.byte	0                               // DW_CHILDREN_no
	.byte	73                              // DW_AT_type
	.byte	19                              // DW_FORM_ref4
	.byte	0                               // EOM(1)
	.byte	0                               // EOM(2)
	.byte	0                               // EOM(3)
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.word	.Ldebug_info_end0-.Ldebug_info_start0 // Length of Unit
.Ldebug_info_start0:
	.hword	5                               // DWARF version number
	.byte	1                               // DWARF Unit Type
	.byte	8                               // Address Size (in bytes)
	.word	.debug_abbrev                   // Offset Into Abbrev. Section
	.byte	1                               // Abbrev [1] 0xc:0x1b5 DW_TAG_compile_unit
	.byte	0                               // DW_AT_producer
	.hword	29                              // DW_AT_language
	.byte	1                               // DW_AT_name
	.word	.Lstr_offsets_base0             // DW_AT_str_offsets_base
	.word	.Lline_table_start0             // DW_AT_stmt_list
	.byte	2                               // DW_AT_comp_dir
	.xword	0                               // DW_AT_low_pc
	.byte	0                               // DW_AT_ranges
	.word	.Laddr_table_base0              // DW_AT_addr_base
	.word	.Lrnglists_table_base0          // DW_AT_rnglists_base
	.word	.Lloclists_table_base0          // DW_AT_loclists_base
	.byte	2                               // Abbrev [2] 0x2f:0x59 DW_TAG_subprogram
	.byte	9                               // DW_AT_low_pc
	.word	.Lfunc_end2-.Lfunc_begin2       // DW_AT_high_pc
	.byte	1                               // DW_AT_frame_base
	.byte	109
                                        // DW_AT_call_all_calls
	.byte	10                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	20                              // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_external
	.byte	3                               // Abbrev [3] 0x3e:0xb DW_TAG_variable
	.byte	3                               // DW_AT_name
	.word	136                             // DW_AT_type
	.byte	0                               // DW_AT_decl_file
	.byte	22                              // DW_AT_decl_line
	.byte	2                               // DW_AT_location
	.byte	161
	.byte	0
	.byte	4                               // Abbrev [4] 0x49:0x9 DW_TAG_formal_parameter
	.byte	3                               // DW_AT_location
	.byte	17                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	20                              // DW_AT_decl_line
	.word	434                             // DW_AT_type
	.byte	5                               // Abbrev [5] 0x52:0x9 DW_TAG_variable
	.byte	4                               // DW_AT_location
	.byte	14                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	23                              // DW_AT_decl_line
	.word	218                             // DW_AT_type
	.byte	6                               // Abbrev [6] 0x5b:0x6 DW_TAG_label
	.byte	19                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	25                              // DW_AT_decl_line
	.byte	1                               // DW_AT_decl_column
	.byte	19                              // DW_AT_low_pc
	.byte	6                               // Abbrev [6] 0x61:0x6 DW_TAG_label
	.byte	20                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	28                              // DW_AT_decl_line
	.byte	1                               // DW_AT_decl_column
	.byte	20                              // DW_AT_low_pc
	.byte	6                               // Abbrev [6] 0x67:0x6 DW_TAG_label
	.byte	21                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	31                              // DW_AT_decl_line
	.byte	1                               // DW_AT_decl_column
	.byte	21                              // DW_AT_low_pc
	.byte	7                               // Abbrev [7] 0x6d:0xd DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
	.byte	10                              // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x73:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	132
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	7                               // Abbrev [7] 0x7a:0xd DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
	.byte	11                              // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x80:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	132
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	0                               // End Of Children Mark
	.byte	9                               // Abbrev [9] 0x88:0xc DW_TAG_array_type
	.word	148                             // DW_AT_type
	.byte	10                              // Abbrev [10] 0x8d:0x6 DW_TAG_subrange_type
	.word	154                             // DW_AT_type
	.byte	3                               // DW_AT_count
	.byte	0                               // End Of Children Mark
	.byte	11                              // Abbrev [11] 0x94:0x5 DW_TAG_const_type
	.word	153                             // DW_AT_type
	.byte	12                              // Abbrev [12] 0x99:0x1 DW_TAG_pointer_type
	.byte	13                              // Abbrev [13] 0x9a:0x4 DW_TAG_base_type
	.byte	4                               // DW_AT_name
	.byte	8                               // DW_AT_byte_size
	.byte	7                               // DW_AT_encoding
	.byte	2                               // Abbrev [2] 0x9e:0x2e DW_TAG_subprogram
	.byte	1                               // DW_AT_low_pc
	.word	.Lfunc_end0-.Lfunc_begin0       // DW_AT_high_pc
	.byte	1                               // DW_AT_frame_base
	.byte	111
                                        // DW_AT_call_all_calls
	.byte	8                               // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	5                               // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_external
	.byte	4                               // Abbrev [4] 0xad:0x9 DW_TAG_formal_parameter
	.byte	0                               // DW_AT_location
	.byte	14                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	5                               // DW_AT_decl_line
	.word	218                             // DW_AT_type
	.byte	5                               // Abbrev [5] 0xb6:0x9 DW_TAG_variable
	.byte	1                               // DW_AT_location
	.byte	15                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	7                               // DW_AT_decl_line
	.word	218                             // DW_AT_type
	.byte	14                              // Abbrev [14] 0xbf:0x6 DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
                                        // DW_AT_call_tail_call
	.byte	2                               // DW_AT_call_pc
	.byte	14                              // Abbrev [14] 0xc5:0x6 DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
                                        // DW_AT_call_tail_call
	.byte	3                               // DW_AT_call_pc
	.byte	0                               // End Of Children Mark
	.byte	15                              // Abbrev [15] 0xcc:0xe DW_TAG_subprogram
	.byte	5                               // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	3                               // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_declaration
                                        // DW_AT_external
	.byte	16                              // Abbrev [16] 0xd4:0x5 DW_TAG_formal_parameter
	.word	218                             // DW_AT_type
	.byte	0                               // End Of Children Mark
	.byte	17                              // Abbrev [17] 0xda:0x4 DW_TAG_base_type
	.byte	6                               // DW_AT_name
	.byte	5                               // DW_AT_encoding
	.byte	4                               // DW_AT_byte_size
	.byte	15                              // Abbrev [15] 0xde:0xe DW_TAG_subprogram
	.byte	7                               // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	3                               // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_declaration
                                        // DW_AT_external
	.byte	16                              // Abbrev [16] 0xe6:0x5 DW_TAG_formal_parameter
	.word	218                             // DW_AT_type
	.byte	0                               // End Of Children Mark
	.byte	2                               // Abbrev [2] 0xec:0x52 DW_TAG_subprogram
	.byte	4                               // DW_AT_low_pc
	.word	.Lfunc_end1-.Lfunc_begin1       // DW_AT_high_pc
	.byte	1                               // DW_AT_frame_base
	.byte	109
                                        // DW_AT_call_all_calls
	.byte	9                               // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	12                              // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_external
	.byte	4                               // Abbrev [4] 0xfb:0x9 DW_TAG_formal_parameter
	.byte	2                               // DW_AT_location
	.byte	14                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	12                              // DW_AT_decl_line
	.word	218                             // DW_AT_type
	.byte	6                               // Abbrev [6] 0x104:0x6 DW_TAG_label
	.byte	16                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	16                              // DW_AT_decl_line
	.byte	1                               // DW_AT_decl_column
	.byte	18                              // DW_AT_low_pc
	.byte	7                               // Abbrev [7] 0x10a:0xd DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
	.byte	5                               // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x110:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	131
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	7                               // Abbrev [7] 0x117:0xd DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
	.byte	6                               // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x11d:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	131
	.byte	1
	.byte	0                               // End Of Children Mark
	.byte	7                               // Abbrev [7] 0x124:0xd DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
	.byte	7                               // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x12a:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	131
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	7                               // Abbrev [7] 0x131:0xc DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
	.byte	8                               // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x137:0x5 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	1                               // DW_AT_call_value
	.byte	50
	.byte	0                               // End Of Children Mark
	.byte	0                               // End Of Children Mark
	.byte	2                               // Abbrev [2] 0x13e:0x45 DW_TAG_subprogram
	.byte	12                              // DW_AT_low_pc
	.word	.Lfunc_end3-.Lfunc_begin3       // DW_AT_high_pc
	.byte	1                               // DW_AT_frame_base
	.byte	109
                                        // DW_AT_call_all_calls
	.byte	11                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	35                              // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	218                             // DW_AT_type
                                        // DW_AT_external
	.byte	4                               // Abbrev [4] 0x14d:0x9 DW_TAG_formal_parameter
	.byte	5                               // DW_AT_location
	.byte	14                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	35                              // DW_AT_decl_line
	.word	218                             // DW_AT_type
	.byte	7                               // Abbrev [7] 0x156:0xd DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
	.byte	13                              // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x15c:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	131
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	7                               // Abbrev [7] 0x163:0xd DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
	.byte	14                              // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x169:0x6 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	2                               // DW_AT_call_value
	.byte	131
	.byte	0
	.byte	0                               // End Of Children Mark
	.byte	18                              // Abbrev [18] 0x170:0x6 DW_TAG_call_site
	.word	204                             // DW_AT_call_origin
	.byte	15                              // DW_AT_call_return_pc
	.byte	7                               // Abbrev [7] 0x176:0xc DW_TAG_call_site
	.word	222                             // DW_AT_call_origin
	.byte	16                              // DW_AT_call_return_pc
	.byte	8                               // Abbrev [8] 0x17c:0x5 DW_TAG_call_site_parameter
	.byte	1                               // DW_AT_location
	.byte	80
	.byte	1                               // DW_AT_call_value
	.byte	51
	.byte	0                               // End Of Children Mark
	.byte	0                               // End Of Children Mark
	.byte	2                               // Abbrev [2] 0x183:0x2b DW_TAG_subprogram
	.byte	17                              // DW_AT_low_pc
	.word	.Lfunc_end4-.Lfunc_begin4       // DW_AT_high_pc
	.byte	1                               // DW_AT_frame_base
	.byte	111
                                        // DW_AT_call_all_calls
	.byte	12                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	43                              // DW_AT_decl_line
                                        // DW_AT_prototyped
	.word	430                             // DW_AT_type
                                        // DW_AT_external
	.byte	4                               // Abbrev [4] 0x192:0x9 DW_TAG_formal_parameter
	.byte	6                               // DW_AT_location
	.byte	14                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	43                              // DW_AT_decl_line
	.word	430                             // DW_AT_type
	.byte	5                               // Abbrev [5] 0x19b:0x9 DW_TAG_variable
	.byte	7                               // DW_AT_location
	.byte	22                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	45                              // DW_AT_decl_line
	.word	430                             // DW_AT_type
	.byte	5                               // Abbrev [5] 0x1a4:0x9 DW_TAG_variable
	.byte	8                               // DW_AT_location
	.byte	23                              // DW_AT_name
	.byte	0                               // DW_AT_decl_file
	.byte	45                              // DW_AT_decl_line
	.word	430                             // DW_AT_type
	.byte	0                               // End Of Children Mark
	.byte	17                              // Abbrev [17] 0x1ae:0x4 DW_TAG_base_type
	.byte	13                              // DW_AT_name
	.byte	5                               // DW_AT_encoding
	.byte	8                               // DW_AT_byte_size
	.byte	19                              // Abbrev [19] 0x1b2:0x5 DW_TAG_pointer_type
	.word	439                             // DW_AT_type
	.byte	11                              // Abbrev [11] 0x1b7:0x5 DW_TAG_const_type
	.word	444                             // DW_AT_type
	.byte	17                              // Abbrev [17] 0x1bc:0x4 DW_TAG_base_type
	.byte	18                              // DW_AT_name
	.byte	8                               // DW_AT_encoding
	.byte	1                               // DW_AT_byte_size
	.byte	0                               // End Of Children Mark
.Ldebug_info_end0:
	.section	.debug_rnglists,"",@progbits
	.word	.Ldebug_list_header_end1-.Ldebug_list_header_start1 // Length
.Ldebug_list_header_start1:
	.hword	5                               // Version
	.byte	8                               // Address size
	.byte	0                               // Segment selector size
	.word	1                               // Offset entry count
.Lrnglists_table_base0:
	.word	.Ldebug_ranges0-.Lrnglists_table_base0
.Ldebug_ranges0:
	.byte	3                               // DW_RLE_startx_length
	.byte	1                               //   start index
	.uleb128 .Lfunc_end0-.Lfunc_begin0      //   length
	.byte	3                               // DW_RLE_startx_length
	.byte	4                               //   start index
	.uleb128 .Lfunc_end1-.Lfunc_begin1      //   length
	.byte	3                               // DW_RLE_startx_length
	.byte	9                               //   start index
	.uleb128 .Lfunc_end2-.Lfunc_begin2      //   length
	.byte	3                               // DW_RLE_startx_length
	.byte	12                              //   start index
	.uleb128 .Lfunc_end3-.Lfunc_begin3      //   length
	.byte	3                               // DW_RLE_startx_length
	.byte	17                              //   start index
	.uleb128 .Lfunc_end4-.Lfunc_begin4      //   length
	.byte	0                               // DW_RLE_end_of_list
.Ldebug_list_header_end1:
	.section	.debug_str_offsets,"",@progbits
	.word	100                             // Length of String Offsets Set
	.hword	5
	.hword	0
.Lstr_offsets_base0:
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"Debian clang version 22.1.8 (1~deb12u1)" // string offset=0
.Linfo_string1:
	.asciz	"aarch64/odd.c"                 // string offset=40
.Linfo_string2:
	.asciz	"/tmp/wt/split/internal/instrument/native/testdata" // string offset=54
.Linfo_string3:
	.asciz	"to"                            // string offset=104
.Linfo_string4:
	.asciz	"__ARRAY_SIZE_TYPE__"           // string offset=107
.Linfo_string5:
	.asciz	"f"                             // string offset=127
.Linfo_string6:
	.asciz	"int"                           // string offset=129
.Linfo_string7:
	.asciz	"g"                             // string offset=133
.Linfo_string8:
	.asciz	"inlined"                       // string offset=135
.Linfo_string9:
	.asciz	"gone"                          // string offset=143
.Linfo_string10:
	.asciz	"computed"                      // string offset=148
.Linfo_string11:
	.asciz	"thread"                        // string offset=157
.Linfo_string12:
	.asciz	"busy"                          // string offset=164
.Linfo_string13:
	.asciz	"long"                          // string offset=169
.Linfo_string14:
	.asciz	"n"                             // string offset=174
.Linfo_string15:
	.asciz	"out"                           // string offset=176
.Linfo_string16:
	.asciz	"yes"                           // string offset=180
.Linfo_string17:
	.asciz	"code"                          // string offset=184
.Linfo_string18:
	.asciz	"unsigned char"                 // string offset=189
.Linfo_string19:
	.asciz	"add"                           // string offset=203
.Linfo_string20:
	.asciz	"sub"                           // string offset=207
.Linfo_string21:
	.asciz	"end"                           // string offset=211
.Linfo_string22:
	.asciz	"a"                             // string offset=215
.Linfo_string23:
	.asciz	"b"                             // string offset=217
	.section	.debug_str_offsets,"",@progbits
	.word	.Linfo_string0
	.word	.Linfo_string1
	.word	.Linfo_string2
	.word	.Linfo_string3
	.word	.Linfo_string4
	.word	.Linfo_string5
	.word	.Linfo_string6
	.word	.Linfo_string7
	.word	.Linfo_string8
	.word	.Linfo_string9
	.word	.Linfo_string10
	.word	.Linfo_string11
	.word	.Linfo_string12
	.word	.Linfo_string13
	.word	.Linfo_string14
	.word	.Linfo_string15
	.word	.Linfo_string16
	.word	.Linfo_string17
	.word	.Linfo_string18
	.word	.Linfo_string19
	.word	.Linfo_string20
	.word	.Linfo_string21
	.word	.Linfo_string22
	.word	.Linfo_string23
	.section	.debug_addr,"",@progbits
	.word	.Ldebug_addr_end0-.Ldebug_addr_start0 // Length of contribution
.Ldebug_addr_start0:
	.hword	5                               // DWARF version number
	.byte	8                               // Address size
	.byte	0                               // Segment selector size
.Laddr_table_base0:
	.xword	computed.to
	.xword	.Lfunc_begin0
	.xword	.Ltmp3
	.xword	.Ltmp4
	.xword	.Lfunc_begin1
	.xword	.Ltmp8
	.xword	.Ltmp9
	.xword	.Ltmp12
	.xword	.Ltmp14
	.xword	.Lfunc_begin2
	.xword	.Ltmp21
	.xword	.Ltmp25
	.xword	.Lfunc_begin3
	.xword	.Ltmp35
	.xword	.Ltmp36
	.xword	.Ltmp41
	.xword	.Ltmp43
	.xword	.Lfunc_begin4
	.xword	.Ltmp11
	.xword	.Ltmp19
	.xword	.Ltmp23
	.xword	.Ltmp29
.Ldebug_addr_end0:
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits
	.section	.debug_line,"",@progbits
.Lline_table_start0:

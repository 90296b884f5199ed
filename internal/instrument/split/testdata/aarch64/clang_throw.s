	.aeabi_subsection	aeabi_feature_and_bits, optional, uleb128
	.aeabi_attribute	0, 1	// Tag_Feature_BTI
	.aeabi_attribute	1, 1	// Tag_Feature_PAC
	.aeabi_attribute	2, 1	// Tag_Feature_GCS
	.section	.note.gnu.property,"a",@note
	.p2align	3, 0x0
	.word	4
	.word	16
	.word	5
	.asciz	"GNU"
	.word	3221225472
	.word	4
	.word	7
	.word	0
.Lsec_end0:
	.text
	.file	"throw.cc"
	.globl	_Z7catcheri                     // -- Begin function _Z7catcheri
	.p2align	2
	.type	_Z7catcheri,@function
_Z7catcheri:                            // @_Z7catcheri
.Lfunc_begin0:
	.cfi_startproc
	.cfi_personality 156, DW.ref.__gxx_personality_v0
	.cfi_lsda 28, .Lexception0
// %bb.0:
	hint	#25
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-32]!           // 16-byte Folded Spill
	.cfi_def_cfa_offset 32
	str	x19, [sp, #16]                  // 8-byte Spill
	mov	x29, sp
	.cfi_def_cfa w29, 32
	.cfi_offset w19, -16
	.cfi_offset w30, -24
	.cfi_offset w29, -32
	.cfi_remember_state
.Ltmp0:                                 // EH_LABEL
	bl	_Z7throweri
.Ltmp1:                                 // EH_LABEL
// %bb.1:
	bl	_Z5twiceIiET_S0_
	mov	w19, w0
.LBB0_2:
	add	x0, x29, #31
	bl	_ZN5GuardD2Ev
	mov	w0, w19
	.cfi_def_cfa wsp, 32
	ldr	x19, [sp, #16]                  // 8-byte Reload
	ldp	x29, x30, [sp], #32             // 16-byte Folded Reload
	.cfi_def_cfa_offset 0
	.cfi_restore w19
	.cfi_restore w30
	.cfi_restore w29
	hint	#29
	.cfi_negate_ra_state
	ret
.LBB0_3:
	.cfi_restore_state
.Ltmp2:                                 // EH_LABEL
	hint	#36
	cmp	w1, #1
	mov	x19, x0
	b.ne	.LBB0_5
// %bb.4:
	mov	x0, x19
	bl	__cxa_begin_catch
	ldr	w19, [x0]
	bl	__cxa_end_catch
	b	.LBB0_2
.LBB0_5:
	add	x0, x29, #31
	bl	_ZN5GuardD2Ev
	mov	x0, x19
	bl	_Unwind_Resume
.Lfunc_end0:
	.size	_Z7catcheri, .Lfunc_end0-_Z7catcheri
	.cfi_endproc
	.section	.gcc_except_table,"a",@progbits
	.p2align	2, 0x0
GCC_except_table0:
.Lexception0:
	.byte	255                             // @LPStart Encoding = omit
	.byte	156                             // @TType Encoding = indirect pcrel sdata8
	.uleb128 .Lttbase0-.Lttbaseref0
.Lttbaseref0:
	.byte	1                               // Call site Encoding = uleb128
	.uleb128 .Lcst_end0-.Lcst_begin0
.Lcst_begin0:
	.uleb128 .Ltmp0-.Lfunc_begin0           // >> Call Site 1 <<
	.uleb128 .Ltmp1-.Ltmp0                  //   Call between .Ltmp0 and .Ltmp1
	.uleb128 .Ltmp2-.Lfunc_begin0           //     jumps to .Ltmp2
	.byte	3                               //   On action: 2
	.uleb128 .Ltmp1-.Lfunc_begin0           // >> Call Site 2 <<
	.uleb128 .Lfunc_end0-.Ltmp1             //   Call between .Ltmp1 and .Lfunc_end0
	.byte	0                               //     has no landing pad
	.byte	0                               //   On action: cleanup
.Lcst_end0:
	.byte	0                               // >> Action Record 1 <<
                                        //   Cleanup
	.byte	0                               //   No further actions
	.byte	1                               // >> Action Record 2 <<
                                        //   Catch TypeInfo 1
	.byte	125                             //   Continue to action 1
	.p2align	2, 0x0
                                        // >> Catch TypeInfos <<
.Ltmp3:                                 // TypeInfo 1
	.xword	.L_ZTIi.DW.stub-.Ltmp3
.Lttbase0:
	.p2align	2, 0x0
                                        // -- End function
	.section	.text._Z5twiceIiET_S0_,"axG",@progbits,_Z5twiceIiET_S0_,comdat
	.weak	_Z5twiceIiET_S0_                // -- Begin function _Z5twiceIiET_S0_
	.p2align	2
	.type	_Z5twiceIiET_S0_,@function
_Z5twiceIiET_S0_:                       // @_Z5twiceIiET_S0_
	.cfi_startproc
// %bb.0:
	hint	#34
	lsl	w0, w0, #1
	ret
.Lfunc_end1:
	.size	_Z5twiceIiET_S0_, .Lfunc_end1-_Z5twiceIiET_S0_
	.cfi_endproc
                                        // -- End function
	.section	.text._ZN5GuardD2Ev,"axG",@progbits,_ZN5GuardD2Ev,comdat
	.weak	_ZN5GuardD2Ev                   // -- Begin function _ZN5GuardD2Ev
	.p2align	2
	.type	_ZN5GuardD2Ev,@function
_ZN5GuardD2Ev:                          // @_ZN5GuardD2Ev
	.cfi_startproc
// %bb.0:
	hint	#34
	adrp	x8, :got:_ZN5Guard1nE
	ldr	x8, [x8, :got_lo12:_ZN5Guard1nE]
	ldr	w9, [x8]
	add	w9, w9, #1
	str	w9, [x8]
	ret
.Lfunc_end2:
	.size	_ZN5GuardD2Ev, .Lfunc_end2-_ZN5GuardD2Ev
	.cfi_endproc
                                        // -- End function
	.data
	.p2align	3, 0x0
.L_ZTIi.DW.stub:
	.xword	_ZTIi
	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section	.data.DW.ref.__gxx_personality_v0,"awG",@progbits,DW.ref.__gxx_personality_v0,comdat
	.p2align	3, 0x0
	.type	DW.ref.__gxx_personality_v0,@object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.xword	__gxx_personality_v0
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

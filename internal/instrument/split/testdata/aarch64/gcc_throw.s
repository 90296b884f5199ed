	.arch armv8-a
	.file	"throw.cc"
	.text
	.section	.text._ZN5GuardD2Ev,"axG",@progbits,_ZN5GuardD5Ev,comdat
	.align	2
	.p2align 4,,11
	.weak	_ZN5GuardD2Ev
	.type	_ZN5GuardD2Ev, %function
_ZN5GuardD2Ev:
.LFB2:
	.cfi_startproc
	hint	34 // bti c
	adrp	x1, :got:_ZN5Guard1nE
	ldr	x1, [x1, :got_lo12:_ZN5Guard1nE]
	ldr	w0, [x1]
	add	w0, w0, 1
	str	w0, [x1]
	ret
	.cfi_endproc
.LFE2:
	.size	_ZN5GuardD2Ev, .-_ZN5GuardD2Ev
	.weak	_ZN5GuardD1Ev
	.set	_ZN5GuardD1Ev,_ZN5GuardD2Ev
	.section	.text._Z5twiceIiET_S0_,"axG",@progbits,_Z5twiceIiET_S0_,comdat
	.align	2
	.p2align 4,,11
	.weak	_Z5twiceIiET_S0_
	.type	_Z5twiceIiET_S0_, %function
_Z5twiceIiET_S0_:
.LFB5:
	.cfi_startproc
	hint	34 // bti c
	lsl	w0, w0, 1
	ret
	.cfi_endproc
.LFE5:
	.size	_Z5twiceIiET_S0_, .-_Z5twiceIiET_S0_
	.text
	.align	2
	.p2align 4,,11
	.global	_Z7catcheri
	.type	_Z7catcheri, %function
_Z7catcheri:
.LFB4:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gxx_personality_v0
	.cfi_lsda 0x1b,.LLSDA4
	hint	25 // paciasp
	.cfi_window_save
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	str	x19, [sp, 16]
	.cfi_offset 19, -32
.LEHB0:
	bl	_Z7throweri
.LEHE0:
	bl	_Z5twiceIiET_S0_
	mov	w19, w0
.L7:
	add	x0, sp, 40
	bl	_ZN5GuardD1Ev
	mov	w0, w19
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 48
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_window_save
	ret
.L8:
	.cfi_restore_state
	hint	36 // bti j
	mov	x19, x0
	cmp	x1, 1
	bne	.L11
	bl	__cxa_begin_catch
	ldr	w19, [x0]
	bl	__cxa_end_catch
	b	.L7
.L11:
	add	x0, sp, 40
	bl	_ZN5GuardD1Ev
	mov	x0, x19
.LEHB1:
	bl	_Unwind_Resume
.LEHE1:
	.cfi_endproc
.LFE4:
	.global	__gxx_personality_v0
	.section	.gcc_except_table,"a",@progbits
	.align	2
.LLSDA4:
	.byte	0xff
	.byte	0x9b
	.uleb128 .LLSDATT4-.LLSDATTD4
.LLSDATTD4:
	.byte	0x1
	.uleb128 .LLSDACSE4-.LLSDACSB4
.LLSDACSB4:
	.uleb128 .LEHB0-.LFB4
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L8-.LFB4
	.uleb128 0x3
	.uleb128 .LEHB1-.LFB4
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSE4:
	.byte	0
	.byte	0
	.byte	0x1
	.byte	0x7d
	.align	2
	.4byte	DW.ref._ZTIi-.
.LLSDATT4:
	.text
	.size	_Z7catcheri, .-_Z7catcheri
	.hidden	DW.ref._ZTIi
	.weak	DW.ref._ZTIi
	.section	.data.rel.local.DW.ref._ZTIi,"awG",@progbits,DW.ref._ZTIi,comdat
	.align	3
	.type	DW.ref._ZTIi, %object
	.size	DW.ref._ZTIi, 8
DW.ref._ZTIi:
	.xword	_ZTIi
	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section	.data.rel.local.DW.ref.__gxx_personality_v0,"awG",@progbits,DW.ref.__gxx_personality_v0,comdat
	.align	3
	.type	DW.ref.__gxx_personality_v0, %object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.xword	__gxx_personality_v0
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

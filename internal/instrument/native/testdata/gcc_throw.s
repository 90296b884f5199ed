	.file	"throw.cc"
	.text
	.section	.text._ZN5GuardD2Ev,"axG",@progbits,_ZN5GuardD5Ev,comdat
	.align 2
	.p2align 4
	.weak	_ZN5GuardD2Ev
	.type	_ZN5GuardD2Ev, @function
_ZN5GuardD2Ev:
.LFB2:
	.cfi_startproc
	addl	$1, _ZN5Guard1nE(%rip)
	ret
	.cfi_endproc
.LFE2:
	.size	_ZN5GuardD2Ev, .-_ZN5GuardD2Ev
	.weak	_ZN5GuardD1Ev
	.set	_ZN5GuardD1Ev,_ZN5GuardD2Ev
	.section	.text._Z5twiceIiET_S0_,"axG",@progbits,_Z5twiceIiET_S0_,comdat
	.p2align 4
	.weak	_Z5twiceIiET_S0_
	.type	_Z5twiceIiET_S0_, @function
_Z5twiceIiET_S0_:
.LFB5:
	.cfi_startproc
	leal	(%rdi,%rdi), %eax
	ret
	.cfi_endproc
.LFE5:
	.size	_Z5twiceIiET_S0_, .-_Z5twiceIiET_S0_
	.section	.text.unlikely,"ax",@progbits
.LCOLDB0:
	.text
.LHOTB0:
	.p2align 4
	.globl	_Z7catcheri
	.type	_Z7catcheri, @function
_Z7catcheri:
.LFB4:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gxx_personality_v0
	.cfi_lsda 0x1b,.LLSDA4
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
.LEHB0:
	call	_Z7throweri@PLT
.LEHE0:
	movl	%eax, %edi
	call	_Z5twiceIiET_S0_
	movl	%eax, %ebx
.L7:
	leaq	15(%rsp), %rdi
	call	_ZN5GuardD1Ev
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	movl	%ebx, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.L8:
	.cfi_restore_state
	movq	%rax, %rbx
	movq	%rdx, %rax
	jmp	.L5
	.globl	__gxx_personality_v0
	.section	.gcc_except_table,"a",@progbits
	.align 4
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
.LLSDACSE4:
	.byte	0
	.byte	0
	.byte	0x1
	.byte	0x7d
	.align 4
	.long	DW.ref._ZTIi-.
.LLSDATT4:
	.text
	.cfi_endproc
	.section	.text.unlikely
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gxx_personality_v0
	.cfi_lsda 0x1b,.LLSDAC4
	.type	_Z7catcheri.cold, @function
_Z7catcheri.cold:
.LFSB4:
.L5:
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -16
	subq	$1, %rax
	jne	.L11
	movq	%rbx, %rdi
	call	__cxa_begin_catch@PLT
	movl	(%rax), %ebx
	call	__cxa_end_catch@PLT
	jmp	.L7
.L11:
	leaq	15(%rsp), %rdi
	call	_ZN5GuardD1Ev
	movq	%rbx, %rdi
.LEHB1:
	call	_Unwind_Resume@PLT
.LEHE1:
	.cfi_endproc
.LFE4:
	.section	.gcc_except_table
	.align 4
.LLSDAC4:
	.byte	0xff
	.byte	0x9b
	.uleb128 .LLSDATTC4-.LLSDATTDC4
.LLSDATTDC4:
	.byte	0x1
	.uleb128 .LLSDACSEC4-.LLSDACSBC4
.LLSDACSBC4:
	.uleb128 .LEHB1-.LCOLDB0
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSEC4:
	.byte	0
	.byte	0
	.byte	0x1
	.byte	0x7d
	.align 4
	.long	DW.ref._ZTIi-.
.LLSDATTC4:
	.section	.text.unlikely
	.text
	.size	_Z7catcheri, .-_Z7catcheri
	.section	.text.unlikely
	.size	_Z7catcheri.cold, .-_Z7catcheri.cold
.LCOLDE0:
	.text
.LHOTE0:
	.hidden	DW.ref._ZTIi
	.weak	DW.ref._ZTIi
	.section	.data.rel.local.DW.ref._ZTIi,"awG",@progbits,DW.ref._ZTIi,comdat
	.align 8
	.type	DW.ref._ZTIi, @object
	.size	DW.ref._ZTIi, 8
DW.ref._ZTIi:
	.quad	_ZTIi
	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section	.data.rel.local.DW.ref.__gxx_personality_v0,"awG",@progbits,DW.ref.__gxx_personality_v0,comdat
	.align 8
	.type	DW.ref.__gxx_personality_v0, @object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.quad	__gxx_personality_v0
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

	.file	"throw.cc"
	.text
	.globl	_Z7catcheri                     # -- Begin function _Z7catcheri
	.p2align	4
	.type	_Z7catcheri,@function
_Z7catcheri:                            # @_Z7catcheri
.Lfunc_begin0:
	.cfi_startproc
	.cfi_personality 155, DW.ref.__gxx_personality_v0
	.cfi_lsda 27, .Lexception0
# %bb.0:
	pushq	%rbx
	.cfi_def_cfa_offset 16
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -16
.Ltmp0:                                 # EH_LABEL
	callq	_Z7throweri@PLT
.Ltmp1:                                 # EH_LABEL
# %bb.1:
	movl	%eax, %edi
	callq	_Z5twiceIiET_S0_
	movl	%eax, %ebx
.LBB0_4:
	leaq	15(%rsp), %rdi
	callq	_ZN5GuardD2Ev
	movl	%ebx, %eax
	addq	$16, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.LBB0_2:
	.cfi_def_cfa_offset 32
.Ltmp2:                                 # EH_LABEL
	movq	%rax, %rbx
	cmpl	$1, %edx
	jne	.LBB0_5
# %bb.3:
	movq	%rbx, %rdi
	callq	__cxa_begin_catch@PLT
	movl	(%rax), %ebx
	callq	__cxa_end_catch@PLT
	jmp	.LBB0_4
.LBB0_5:
	leaq	15(%rsp), %rdi
	callq	_ZN5GuardD2Ev
	movq	%rbx, %rdi
	callq	_Unwind_Resume@PLT
.Lfunc_end0:
	.size	_Z7catcheri, .Lfunc_end0-_Z7catcheri
	.cfi_endproc
	.section	.gcc_except_table,"a",@progbits
	.p2align	2, 0x0
GCC_except_table0:
.Lexception0:
	.byte	255                             # @LPStart Encoding = omit
	.byte	155                             # @TType Encoding = indirect pcrel sdata4
	.uleb128 .Lttbase0-.Lttbaseref0
.Lttbaseref0:
	.byte	1                               # Call site Encoding = uleb128
	.uleb128 .Lcst_end0-.Lcst_begin0
.Lcst_begin0:
	.uleb128 .Ltmp0-.Lfunc_begin0           # >> Call Site 1 <<
	.uleb128 .Ltmp1-.Ltmp0                  #   Call between .Ltmp0 and .Ltmp1
	.uleb128 .Ltmp2-.Lfunc_begin0           #     jumps to .Ltmp2
	.byte	3                               #   On action: 2
	.uleb128 .Ltmp1-.Lfunc_begin0           # >> Call Site 2 <<
	.uleb128 .Lfunc_end0-.Ltmp1             #   Call between .Ltmp1 and .Lfunc_end0
	.byte	0                               #     has no landing pad
	.byte	0                               #   On action: cleanup
.Lcst_end0:
	.byte	0                               # >> Action Record 1 <<
                                        #   Cleanup
	.byte	0                               #   No further actions
	.byte	1                               # >> Action Record 2 <<
                                        #   Catch TypeInfo 1
	.byte	125                             #   Continue to action 1
	.p2align	2, 0x0
                                        # >> Catch TypeInfos <<
.Ltmp3:                                 # TypeInfo 1
	.long	.L_ZTIi.DW.stub-.Ltmp3
.Lttbase0:
	.p2align	2, 0x0
                                        # -- End function
	.section	.text._Z5twiceIiET_S0_,"axG",@progbits,_Z5twiceIiET_S0_,comdat
	.weak	_Z5twiceIiET_S0_                # -- Begin function _Z5twiceIiET_S0_
	.p2align	4
	.type	_Z5twiceIiET_S0_,@function
_Z5twiceIiET_S0_:                       # @_Z5twiceIiET_S0_
	.cfi_startproc
# %bb.0:
                                        # kill: def $edi killed $edi def $rdi
	leal	(%rdi,%rdi), %eax
	retq
.Lfunc_end1:
	.size	_Z5twiceIiET_S0_, .Lfunc_end1-_Z5twiceIiET_S0_
	.cfi_endproc
                                        # -- End function
	.section	.text._ZN5GuardD2Ev,"axG",@progbits,_ZN5GuardD2Ev,comdat
	.weak	_ZN5GuardD2Ev                   # -- Begin function _ZN5GuardD2Ev
	.p2align	4
	.type	_ZN5GuardD2Ev,@function
_ZN5GuardD2Ev:                          # @_ZN5GuardD2Ev
	.cfi_startproc
# %bb.0:
	movq	_ZN5Guard1nE@GOTPCREL(%rip), %rax
	incl	(%rax)
	retq
.Lfunc_end2:
	.size	_ZN5GuardD2Ev, .Lfunc_end2-_ZN5GuardD2Ev
	.cfi_endproc
                                        # -- End function
	.data
	.p2align	3, 0x0
.L_ZTIi.DW.stub:
	.quad	_ZTIi
	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section	.data.DW.ref.__gxx_personality_v0,"awG",@progbits,DW.ref.__gxx_personality_v0,comdat
	.p2align	3, 0x0
	.type	DW.ref.__gxx_personality_v0,@object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.quad	__gxx_personality_v0
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

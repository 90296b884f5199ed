	.syntax	unified
	.eabi_attribute	67, "2.09"	@ Tag_conformance
	.eabi_attribute	6, 10	@ Tag_CPU_arch
	.eabi_attribute	7, 65	@ Tag_CPU_arch_profile
	.eabi_attribute	8, 1	@ Tag_ARM_ISA_use
	.eabi_attribute	9, 2	@ Tag_THUMB_ISA_use
	.fpu	vfpv3-d16
	.eabi_attribute	34, 1	@ Tag_CPU_unaligned_access
	.eabi_attribute	15, 1	@ Tag_ABI_PCS_RW_data
	.eabi_attribute	16, 1	@ Tag_ABI_PCS_RO_data
	.eabi_attribute	17, 2	@ Tag_ABI_PCS_GOT_use
	.eabi_attribute	20, 1	@ Tag_ABI_FP_denormal
	.eabi_attribute	21, 0	@ Tag_ABI_FP_exceptions
	.eabi_attribute	23, 3	@ Tag_ABI_FP_number_model
	.eabi_attribute	24, 1	@ Tag_ABI_align_needed
	.eabi_attribute	25, 1	@ Tag_ABI_align_preserved
	.eabi_attribute	28, 1	@ Tag_ABI_VFP_args
	.eabi_attribute	38, 1	@ Tag_ABI_FP_16bit_format
	.eabi_attribute	18, 4	@ Tag_ABI_PCS_wchar_t
	.eabi_attribute	26, 2	@ Tag_ABI_enum_size
	.eabi_attribute	14, 0	@ Tag_ABI_PCS_R9_use
	.file	"throw.cc"
	.text
	.globl	_Z7catcheri                     @ -- Begin function _Z7catcheri
	.p2align	2
	.type	_Z7catcheri,%function
	.code	32
_Z7catcheri:                            @ @_Z7catcheri
.Lfunc_begin0:
	.fnstart
@ %bb.0:
	.save	{r4, lr}
	push	{r4, lr}
	.pad	#8
	sub	sp, sp, #8
.Ltmp0:                                 @ EH_LABEL
	bl	_Z7throweri
.Ltmp1:                                 @ EH_LABEL
@ %bb.1:
	bl	_Z5twiceIiET_S0_
	mov	r4, r0
.LBB0_2:
	add	r0, sp, #7
	bl	_ZN5GuardD2Ev
	mov	r0, r4
	add	sp, sp, #8
	pop	{r4, pc}
.LBB0_3:
.Ltmp2:                                 @ EH_LABEL
	cmp	r1, #1
	bne	.LBB0_5
@ %bb.4:
	bl	__cxa_begin_catch
	ldr	r4, [r0]
	bl	__cxa_end_catch
	b	.LBB0_2
.LBB0_5:
	add	r0, sp, #7
	bl	_ZN5GuardD2Ev
	bl	__cxa_end_cleanup
.Lfunc_end0:
	.size	_Z7catcheri, .Lfunc_end0-_Z7catcheri
	.personality __gxx_personality_v0
	.handlerdata
	.p2align	2
GCC_except_table0:
.Lexception0:
	.byte	255                             @ @LPStart Encoding = omit
	.byte	0                               @ @TType Encoding = absptr
	.uleb128 .Lttbase0-.Lttbaseref0
.Lttbaseref0:
	.byte	1                               @ Call site Encoding = uleb128
	.uleb128 .Lcst_end0-.Lcst_begin0
.Lcst_begin0:
	.uleb128 .Ltmp0-.Lfunc_begin0           @ >> Call Site 1 <<
	.uleb128 .Ltmp1-.Ltmp0                  @   Call between .Ltmp0 and .Ltmp1
	.uleb128 .Ltmp2-.Lfunc_begin0           @     jumps to .Ltmp2
	.byte	3                               @   On action: 2
	.uleb128 .Ltmp1-.Lfunc_begin0           @ >> Call Site 2 <<
	.uleb128 .Lfunc_end0-.Ltmp1             @   Call between .Ltmp1 and .Lfunc_end0
	.byte	0                               @     has no landing pad
	.byte	0                               @   On action: cleanup
.Lcst_end0:
	.byte	0                               @ >> Action Record 1 <<
                                        @   Cleanup
	.byte	0                               @   No further actions
	.byte	1                               @ >> Action Record 2 <<
                                        @   Catch TypeInfo 1
	.byte	125                             @   Continue to action 1
	.p2align	2
                                        @ >> Catch TypeInfos <<
	.long	_ZTIi(target2)                  @ TypeInfo 1
.Lttbase0:
	.p2align	2
	.fnend
                                        @ -- End function
	.section	.text._Z5twiceIiET_S0_,"axG",%progbits,_Z5twiceIiET_S0_,comdat
	.weak	_Z5twiceIiET_S0_                @ -- Begin function _Z5twiceIiET_S0_
	.p2align	2
	.type	_Z5twiceIiET_S0_,%function
	.code	32
_Z5twiceIiET_S0_:                       @ @_Z5twiceIiET_S0_
	.fnstart
@ %bb.0:
	lsl	r0, r0, #1
	bx	lr
.Lfunc_end1:
	.size	_Z5twiceIiET_S0_, .Lfunc_end1-_Z5twiceIiET_S0_
	.cantunwind
	.fnend
                                        @ -- End function
	.section	.text._ZN5GuardD2Ev,"axG",%progbits,_ZN5GuardD2Ev,comdat
	.weak	_ZN5GuardD2Ev                   @ -- Begin function _ZN5GuardD2Ev
	.p2align	2
	.type	_ZN5GuardD2Ev,%function
	.code	32
_ZN5GuardD2Ev:                          @ @_ZN5GuardD2Ev
	.fnstart
@ %bb.0:
	ldr	r1, .LCPI2_0
.LPC2_0:
	ldr	r1, [pc, r1]
	ldr	r2, [r1]
	add	r2, r2, #1
	str	r2, [r1]
	bx	lr
	.p2align	2
@ %bb.1:
.LCPI2_0:
.Ltmp3:
	.long	_ZN5Guard1nE(GOT_PREL)-(.LPC2_0+8-.Ltmp3)
.Lfunc_end2:
	.size	_ZN5GuardD2Ev, .Lfunc_end2-_ZN5GuardD2Ev
	.cantunwind
	.fnend
                                        @ -- End function
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",%progbits
	.eabi_attribute	30, 1	@ Tag_ABI_optimization_goals

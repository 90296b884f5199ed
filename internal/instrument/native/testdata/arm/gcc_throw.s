	.arch armv7-a
	.fpu vfpv3-d16
	.eabi_attribute 28, 1
	.eabi_attribute 20, 1
	.eabi_attribute 21, 1
	.eabi_attribute 23, 3
	.eabi_attribute 24, 1
	.eabi_attribute 25, 1
	.eabi_attribute 26, 2
	.eabi_attribute 30, 2
	.eabi_attribute 34, 1
	.eabi_attribute 18, 4
	.file	"throw.cc"
	.text
	.section	.text._ZN5GuardD2Ev,"axG",%progbits,_ZN5GuardD5Ev,comdat
	.align	1
	.p2align 2,,3
	.weak	_ZN5GuardD2Ev
	.syntax unified
	.thumb
	.thumb_func
	.type	_ZN5GuardD2Ev, %function
_ZN5GuardD2Ev:
	.fnstart
.LFB2:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	ldr	r3, .L3
	ldr	r2, .L3+4
.LPIC0:
	add	r3, pc
	ldr	r2, [r3, r2]
	ldr	r3, [r2]
	adds	r3, r3, #1
	str	r3, [r2]
	bx	lr
.L4:
	.align	2
.L3:
	.word	_GLOBAL_OFFSET_TABLE_-(.LPIC0+4)
	.word	_ZN5Guard1nE(GOT)
	.cantunwind
	.fnend
	.size	_ZN5GuardD2Ev, .-_ZN5GuardD2Ev
	.weak	_ZN5GuardD1Ev
	.thumb_set _ZN5GuardD1Ev,_ZN5GuardD2Ev
	.section	.text._Z5twiceIiET_S0_,"axG",%progbits,_Z5twiceIiET_S0_,comdat
	.align	1
	.p2align 2,,3
	.weak	_Z5twiceIiET_S0_
	.syntax unified
	.thumb
	.thumb_func
	.type	_Z5twiceIiET_S0_, %function
_Z5twiceIiET_S0_:
	.fnstart
.LFB5:
	@ args = 0, pretend = 0, frame = 0
	@ frame_needed = 0, uses_anonymous_args = 0
	@ link register save eliminated.
	lsls	r0, r0, #1
	bx	lr
	.cantunwind
	.fnend
	.size	_Z5twiceIiET_S0_, .-_Z5twiceIiET_S0_
	.text
	.align	1
	.p2align 2,,3
	.global	_Z7catcheri
	.syntax unified
	.thumb
	.thumb_func
	.type	_Z7catcheri, %function
_Z7catcheri:
	.fnstart
.LFB4:
	@ args = 0, pretend = 0, frame = 8
	@ frame_needed = 0, uses_anonymous_args = 0
	push	{r4, lr}
	.save {r4, lr}
	.pad #8
	sub	sp, sp, #8
.LEHB0:
	bl	_Z7throweri(PLT)
.LEHE0:
	bl	_Z5twiceIiET_S0_(PLT)
	mov	r4, r0
.L9:
	add	r0, sp, #4
	bl	_ZN5GuardD1Ev(PLT)
	mov	r0, r4
	add	sp, sp, #8
	@ sp needed
	pop	{r4, pc}
.L10:
	cmp	r1, #1
	bne	.L13
	bl	__cxa_begin_catch(PLT)
	ldr	r4, [r0]
	bl	__cxa_end_catch(PLT)
	b	.L9
.L13:
	add	r0, sp, #4
	bl	_ZN5GuardD1Ev(PLT)
.LEHB1:
	bl	__cxa_end_cleanup(PLT)
.LEHE1:
	.global	__gxx_personality_v0
	.personality	__gxx_personality_v0
	.handlerdata
	.align	2
.LLSDA4:
	.byte	0xff
	.byte	0x90
	.uleb128 .LLSDATT4-.LLSDATTD4
.LLSDATTD4:
	.byte	0x1
	.uleb128 .LLSDACSE4-.LLSDACSB4
.LLSDACSB4:
	.uleb128 .LEHB0-.LFB4
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L10-.LFB4
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
	.word	_ZTIi(TARGET2)
.LLSDATT4:
	.text
	.fnend
	.size	_Z7catcheri, .-_Z7catcheri
	.ident	"GCC: (Debian 12.2.0-14) 12.2.0"
	.section	.note.GNU-stack,"",%progbits

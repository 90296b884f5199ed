	.file	"odd.c"
	.text
.Ltext0:
	.file 0 "/src/odd" "odd.c"
#APP
	.text
	.globl toplevel
	.type toplevel, @function
toplevel:
	ret
	.size toplevel, .-toplevel

#NO_APP
	.p2align 4
	.globl	naked
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE1
	.text
.LPFE1:
	nop
	nop
	.type	naked, @function
naked:
.LVL0:
.LFB0:
	.file 1 "odd.c"
	.loc 1 4 41 view -0
	.cfi_startproc
	.loc 1 4 41 is_stmt 0 view .LVU1
	endbr64
	nop
	nop
	.loc 1 4 43 is_stmt 1 view .LVU2
#APP
# 4 "odd.c" 1
	leal 2(%rdi), %eax
	ret
# 0 "" 2
	.loc 1 4 81 is_stmt 0 view .LVU3
#NO_APP
	ud2
	.cfi_endproc
.LFE0:
	.size	naked, .-naked
	.section	.text.cairn_skip,"ax",@progbits
	.p2align 4
	.globl	skipped
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE2
	.section	.text.cairn_skip
.LPFE2:
	nop
	nop
	.type	skipped, @function
skipped:
.LVL1:
.LFB1:
	.loc 1 5 65 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 5 65 is_stmt 0 view .LVU5
	endbr64
	nop
	nop
	.loc 1 5 67 is_stmt 1 view .LVU6
	.loc 1 5 65 is_stmt 0 view .LVU7
	movl	%edi, %eax
	.loc 1 5 77 view .LVU8
	ret
	.cfi_endproc
.LFE1:
	.size	skipped, .-skipped
	.section	.text.unlikely,"ax",@progbits
	.globl	cold
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE3
	.section	.text.unlikely
.LPFE3:
	nop
	nop
	.type	cold, @function
cold:
.LFB2:
	.loc 1 6 39 is_stmt 1 view -0
	.cfi_startproc
	endbr64
	nop
	nop
	.loc 1 6 41 view .LVU10
	movq	hook@GOTPCREL(%rip), %rax
	jmp	*(%rax)
.LVL2:
	.cfi_endproc
.LFE2:
	.size	cold, .-cold
	.text
	.p2align 4
	.globl	tls
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE4
	.text
.LPFE4:
	nop
	nop
	.type	tls, @function
tls:
.LFB3:
	.loc 1 7 15 view -0
	.cfi_startproc
	endbr64
	nop
	nop
	.loc 1 7 17 view .LVU12
	.loc 1 7 15 is_stmt 0 view .LVU13
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	.loc 1 7 24 view .LVU14
	data16	leaq	counter@tlsgd(%rip), %rdi
	.value	0x6666
	rex64
	call	__tls_get_addr@PLT
.LVL3:
	movq	%rax, %rdx
	movl	(%rax), %eax
	addl	$1, %eax
	movl	%eax, (%rdx)
	.loc 1 7 35 view .LVU15
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE3:
	.size	tls, .-tls
	.p2align 4
	.globl	inlined
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE5
	.text
.LPFE5:
	nop
	nop
	.type	inlined, @function
inlined:
.LVL4:
.LFB4:
	.loc 1 8 20 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 8 20 is_stmt 0 view .LVU17
	endbr64
	nop
	nop
	.loc 1 9 3 is_stmt 1 view .LVU18
	.loc 1 10 3 view .LVU19
	xorl	%eax, %eax
#APP
# 10 "odd.c" 1
	cmpl $3, %edi
	jl 1f
	movl $7, %eax
1:
# 0 "" 2
.LVL5:
	.loc 1 11 3 view .LVU20
	.loc 1 12 1 is_stmt 0 view .LVU21
#NO_APP
	ret
	.cfi_endproc
.LFE4:
	.size	inlined, .-inlined
	.p2align 4
	.globl	asmgoto
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE6
	.text
.LPFE6:
	nop
	nop
	.type	asmgoto, @function
asmgoto:
.LVL6:
.LFB5:
	.loc 1 13 20 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 13 20 is_stmt 0 view .LVU23
	endbr64
	nop
	nop
	.loc 1 14 3 is_stmt 1 view .LVU24
#APP
# 14 "odd.c" 1
	testl %edi, %edi
	js .L10
# 0 "" 2
	.loc 1 15 10 is_stmt 0 view .LVU25
#NO_APP
	xorl	%eax, %eax
	ret
	.p2align 4,,10
	.p2align 3
.L10:
.L9:
	.loc 1 17 10 view .LVU26
	movl	$1, %eax
	.loc 1 18 1 view .LVU27
	ret
	.cfi_endproc
.LFE5:
	.size	asmgoto, .-asmgoto
	.p2align 4
	.globl	computed
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE7
	.text
.LPFE7:
	nop
	nop
	.type	computed, @function
computed:
.LVL7:
.LFB6:
	.loc 1 19 29 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 19 29 is_stmt 0 view .LVU29
	endbr64
	nop
	nop
	.loc 1 20 3 is_stmt 1 view .LVU30
	.loc 1 21 3 view .LVU31
.LVL8:
	.loc 1 22 3 view .LVU32
	.loc 1 22 12 is_stmt 0 view .LVU33
	movsbq	(%rdi), %rax
	leaq	ops.0(%rip), %rcx
	addq	$2, %rdi
.LVL9:
	.loc 1 21 7 view .LVU34
	xorl	%edx, %edx
.LVL10:
	.loc 1 22 12 view .LVU35
	movq	(%rcx,%rax,8), %rax
	jmp	*%rax
.LVL11:
	.p2align 4,,10
	.p2align 3
.L16:
	.loc 1 22 12 view .LVU36
	endbr64
	.loc 1 25 6 is_stmt 1 view .LVU37
	.loc 1 26 1 is_stmt 0 view .LVU38
	movl	%edx, %eax
	ret
	.p2align 4,,10
	.p2align 3
.L14:
	.loc 1 26 1 view .LVU39
	endbr64
	.loc 1 24 6 is_stmt 1 view .LVU40
	.loc 1 24 20 is_stmt 0 view .LVU41
	movsbq	-1(%rdi), %rax
	.loc 1 24 7 view .LVU42
	subl	$1, %edx
.LVL12:
	.loc 1 24 11 is_stmt 1 view .LVU43
	.loc 1 24 11 is_stmt 0 view .LVU44
	addq	$1, %rdi
.LVL13:
	.loc 1 24 20 view .LVU45
	movq	(%rcx,%rax,8), %rax
	jmp	*%rax
.LVL14:
	.p2align 4,,10
	.p2align 3
.L13:
	.loc 1 24 20 view .LVU46
	endbr64
	.loc 1 23 6 is_stmt 1 view .LVU47
	.loc 1 23 20 is_stmt 0 view .LVU48
	movsbq	-1(%rdi), %rax
	.loc 1 23 7 view .LVU49
	addl	$1, %edx
.LVL15:
	.loc 1 23 11 is_stmt 1 view .LVU50
	.loc 1 23 11 is_stmt 0 view .LVU51
	addq	$1, %rdi
.LVL16:
	.loc 1 23 20 view .LVU52
	movq	(%rcx,%rax,8), %rax
	jmp	*%rax
	.cfi_endproc
.LFE6:
	.size	computed, .-computed
	.p2align 4
	.globl	tail
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE8
	.text
.LPFE8:
	nop
	nop
	.type	tail, @function
tail:
.LVL17:
.LFB7:
	.loc 1 27 17 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 27 17 is_stmt 0 view .LVU54
	endbr64
	nop
	nop
	.loc 1 27 19 is_stmt 1 view .LVU55
	.loc 1 27 45 is_stmt 0 view .LVU56
	testl	%edi, %edi
	je	.L22
	.loc 1 27 30 discriminator 1 view .LVU57
	subl	$1, %edi
.LVL18:
	.loc 1 27 30 discriminator 1 view .LVU58
	jmp	asmgoto@PLT
.LVL19:
	.p2align 4,,10
	.p2align 3
.L22:
	.loc 1 27 47 discriminator 2 view .LVU59
	xorl	%edi, %edi
.LVL20:
	.loc 1 27 47 discriminator 2 view .LVU60
	jmp	inlined@PLT
.LVL21:
	.cfi_endproc
.LFE7:
	.size	tail, .-tail
	.section	.text.unlikely
	.globl	unreachable
	.section	__patchable_function_entries,"awo",@progbits,naked
	.align 8
	.quad	.LPFE9
	.section	.text.unlikely
.LPFE9:
	nop
	nop
	.type	unreachable, @function
unreachable:
.LFB8:
	.loc 1 28 24 is_stmt 1 view -0
	.cfi_startproc
	endbr64
	nop
	nop
	.loc 1 28 26 view .LVU62
	.cfi_endproc
.LFE8:
	.size	unreachable, .-unreachable
	.section	.data.rel.ro.local,"aw"
	.align 16
	.type	ops.0, @object
	.size	ops.0, 24
ops.0:
	.quad	.L16
	.quad	.L13
	.quad	.L14
	.globl	counter
	.section	.tbss,"awT",@nobits
	.align 4
	.type	counter, @object
	.size	counter, 4
counter:
	.zero	4
	.text
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0x288
	.value	0x5
	.byte	0x1
	.byte	0x8
	.long	.Ldebug_abbrev0
	.uleb128 0x9
	.long	.LASF11
	.byte	0x1d
	.long	.LASF0
	.long	.LASF1
	.long	.LLRL4
	.quad	0
	.long	.Ldebug_line0
	.uleb128 0xa
	.long	.LASF2
	.byte	0x1
	.byte	0x2
	.byte	0xe
	.long	0x41
	.uleb128 0xa
	.byte	0xe
	.long	counter@dtpoff, 0
	.byte	0x9b
	.uleb128 0xb
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0xc
	.uleb128 0xd
	.long	.LASF3
	.byte	0x1
	.byte	0x3
	.byte	0xf
	.long	0x55
	.uleb128 0x4
	.long	0x48
	.uleb128 0xe
	.long	.LASF12
	.byte	0x1
	.byte	0x1c
	.byte	0x6
	.quad	.LFB8
	.quad	.LFE8-.LFB8
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x1
	.long	.LASF4
	.byte	0x1b
	.byte	0x5
	.long	0x41
	.quad	.LFB7
	.quad	.LFE7-.LFB7
	.uleb128 0x1
	.byte	0x9c
	.long	0xd5
	.uleb128 0x5
	.string	"n"
	.byte	0x1b
	.byte	0xe
	.long	0x41
	.long	.LLST3
	.long	.LVUS3
	.uleb128 0xf
	.quad	.LVL19
	.long	0x182
	.long	0xc1
	.uleb128 0x6
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x5
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x31
	.byte	0x1c
	.byte	0
	.uleb128 0x10
	.quad	.LVL21
	.long	0x1bd
	.uleb128 0x6
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.byte	0x30
	.byte	0
	.byte	0
	.uleb128 0x1
	.long	.LASF5
	.byte	0x13
	.byte	0x5
	.long	0x41
	.quad	.LFB6
	.quad	.LFE6-.LFB6
	.uleb128 0x1
	.byte	0x9c
	.long	0x158
	.uleb128 0x5
	.string	"p"
	.byte	0x13
	.byte	0x1a
	.long	0x158
	.long	.LLST1
	.long	.LVUS1
	.uleb128 0x11
	.string	"ops"
	.byte	0x1
	.byte	0x14
	.byte	0x10
	.long	0x169
	.uleb128 0x9
	.byte	0x3
	.quad	ops.0
	.uleb128 0x2
	.string	"end"
	.byte	0x19
	.quad	.L16
	.uleb128 0x2
	.string	"inc"
	.byte	0x17
	.quad	.L13
	.uleb128 0x2
	.string	"dec"
	.byte	0x18
	.quad	.L14
	.uleb128 0x7
	.string	"n"
	.byte	0x15
	.long	0x41
	.long	.LLST2
	.long	.LVUS2
	.byte	0
	.uleb128 0x4
	.long	0x164
	.uleb128 0x8
	.byte	0x1
	.byte	0x6
	.long	.LASF6
	.uleb128 0x12
	.long	0x15d
	.uleb128 0x13
	.long	0x180
	.long	0x179
	.uleb128 0x14
	.long	0x179
	.byte	0x2
	.byte	0
	.uleb128 0x8
	.byte	0x8
	.byte	0x7
	.long	.LASF7
	.uleb128 0x15
	.byte	0x8
	.uleb128 0x1
	.long	.LASF8
	.byte	0xd
	.byte	0x5
	.long	0x41
	.quad	.LFB5
	.quad	.LFE5-.LFB5
	.uleb128 0x1
	.byte	0x9c
	.long	0x1bd
	.uleb128 0x3
	.string	"n"
	.byte	0xd
	.byte	0x11
	.long	0x41
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.string	"yes"
	.byte	0x10
	.quad	.L9
	.byte	0
	.uleb128 0x1
	.long	.LASF9
	.byte	0x8
	.byte	0x5
	.long	0x41
	.quad	.LFB4
	.quad	.LFE4-.LFB4
	.uleb128 0x1
	.byte	0x9c
	.long	0x1fc
	.uleb128 0x3
	.string	"n"
	.byte	0x8
	.byte	0x11
	.long	0x41
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x7
	.string	"out"
	.byte	0x9
	.long	0x41
	.long	.LLST0
	.long	.LVUS0
	.byte	0
	.uleb128 0x16
	.string	"tls"
	.byte	0x1
	.byte	0x7
	.byte	0x5
	.long	0x41
	.quad	.LFB3
	.quad	.LFE3-.LFB3
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x17
	.long	.LASF13
	.byte	0x1
	.byte	0x6
	.byte	0x1c
	.quad	.LFB2
	.quad	.LFE2-.LFB2
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x1
	.long	.LASF10
	.byte	0x5
	.byte	0x32
	.long	0x41
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.long	0x261
	.uleb128 0x3
	.string	"n"
	.byte	0x5
	.byte	0x3e
	.long	0x41
	.uleb128 0x1
	.byte	0x55
	.byte	0
	.uleb128 0x18
	.long	.LASF14
	.byte	0x1
	.byte	0x4
	.byte	0x1c
	.long	0x41
	.quad	.LFB0
	.quad	.LFE0-.LFB0
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x3
	.string	"n"
	.byte	0x4
	.byte	0x26
	.long	0x41
	.uleb128 0x1
	.byte	0x55
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
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
	.uleb128 0x2
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
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0x21
	.sleb128 8
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
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
	.uleb128 0x6
	.uleb128 0x49
	.byte	0
	.uleb128 0x2
	.uleb128 0x18
	.uleb128 0x7e
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x7
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
	.sleb128 7
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x8
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
	.uleb128 0x9
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
	.uleb128 0x55
	.uleb128 0x17
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xa
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
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xb
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
	.uleb128 0xc
	.uleb128 0x15
	.byte	0
	.uleb128 0x27
	.uleb128 0x19
	.byte	0
	.byte	0
	.uleb128 0xd
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
	.uleb128 0xe
	.uleb128 0x2e
	.byte	0
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
	.uleb128 0xf
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x82
	.uleb128 0x19
	.uleb128 0x7f
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x10
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x82
	.uleb128 0x19
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x11
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
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
	.uleb128 0x12
	.uleb128 0x26
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x13
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x14
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x15
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x16
	.uleb128 0x2e
	.byte	0
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0x8
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
	.uleb128 0x7c
	.uleb128 0x19
	.byte	0
	.byte	0
	.uleb128 0x17
	.uleb128 0x2e
	.byte	0
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
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x18
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
	.long	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.Ldebug_loc0:
.LVUS3:
	.uleb128 0
	.uleb128 .LVU58
	.uleb128 .LVU58
	.uleb128 .LVU59
	.uleb128 .LVU59
	.uleb128 .LVU59
	.uleb128 .LVU59
	.uleb128 .LVU60
	.uleb128 .LVU60
	.uleb128 0
.LLST3:
	.byte	0x6
	.quad	.LVL17
	.byte	0x4
	.uleb128 .LVL17-.LVL17
	.uleb128 .LVL18-.LVL17
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL18-.LVL17
	.uleb128 .LVL19-1-.LVL17
	.uleb128 0x3
	.byte	0x75
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL19-1-.LVL17
	.uleb128 .LVL19-.LVL17
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL19-.LVL17
	.uleb128 .LVL20-.LVL17
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL20-.LVL17
	.uleb128 .LFE7-.LVL17
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS1:
	.uleb128 0
	.uleb128 .LVU33
	.uleb128 .LVU33
	.uleb128 .LVU34
	.uleb128 .LVU34
	.uleb128 .LVU36
	.uleb128 .LVU44
	.uleb128 .LVU45
	.uleb128 .LVU45
	.uleb128 .LVU46
	.uleb128 .LVU51
	.uleb128 .LVU52
	.uleb128 .LVU52
	.uleb128 0
.LLST1:
	.byte	0x6
	.quad	.LVL7
	.byte	0x4
	.uleb128 .LVL7-.LVL7
	.uleb128 .LVL8-.LVL7
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL8-.LVL7
	.uleb128 .LVL9-.LVL7
	.uleb128 0x3
	.byte	0x75
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL9-.LVL7
	.uleb128 .LVL11-.LVL7
	.uleb128 0x3
	.byte	0x75
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL12-.LVL7
	.uleb128 .LVL13-.LVL7
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL13-.LVL7
	.uleb128 .LVL14-.LVL7
	.uleb128 0x3
	.byte	0x75
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL15-.LVL7
	.uleb128 .LVL16-.LVL7
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL16-.LVL7
	.uleb128 .LFE6-.LVL7
	.uleb128 0x3
	.byte	0x75
	.sleb128 -1
	.byte	0x9f
	.byte	0
.LVUS2:
	.uleb128 .LVU32
	.uleb128 .LVU35
	.uleb128 .LVU35
	.uleb128 0
.LLST2:
	.byte	0x6
	.quad	.LVL8
	.byte	0x4
	.uleb128 .LVL8-.LVL8
	.uleb128 .LVL10-.LVL8
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL10-.LVL8
	.uleb128 .LFE6-.LVL8
	.uleb128 0x1
	.byte	0x51
	.byte	0
.LVUS0:
	.uleb128 .LVU20
	.uleb128 0
.LLST0:
	.byte	0x8
	.quad	.LVL5
	.uleb128 .LFE4-.LVL5
	.uleb128 0x1
	.byte	0x50
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.long	0x5c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.quad	.LFB2
	.quad	.LFE2-.LFB2
	.quad	.LFB8
	.quad	.LFE8-.LFB8
	.quad	0
	.quad	0
	.section	.debug_rnglists,"",@progbits
.Ldebug_ranges0:
	.long	.Ldebug_ranges3-.Ldebug_ranges2
.Ldebug_ranges2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.LLRL4:
	.byte	0x7
	.quad	.Ltext0
	.uleb128 .Letext0-.Ltext0
	.byte	0x7
	.quad	.LFB1
	.uleb128 .LFE1-.LFB1
	.byte	0x7
	.quad	.LFB2
	.uleb128 .LFE2-.LFB2
	.byte	0x7
	.quad	.LFB8
	.uleb128 .LFE8-.LFB8
	.byte	0
.Ldebug_ranges3:
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF10:
	.string	"skipped"
.LASF2:
	.string	"counter"
.LASF11:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -fPIC -fcf-protection=full -fpatchable-function-entry=4,2 -fasynchronous-unwind-tables"
.LASF5:
	.string	"computed"
.LASF9:
	.string	"inlined"
.LASF7:
	.string	"long unsigned int"
.LASF3:
	.string	"hook"
.LASF4:
	.string	"tail"
.LASF8:
	.string	"asmgoto"
.LASF12:
	.string	"unreachable"
.LASF6:
	.string	"char"
.LASF14:
	.string	"naked"
.LASF13:
	.string	"cold"
	.section	.debug_line_str,"MS",@progbits,1
.LASF1:
	.string	"/src/odd"
.LASF0:
	.string	"odd.c"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
	.section	.note.gnu.property,"a"
	.align 8
	.long	1f - 0f
	.long	4f - 1f
	.long	5
0:
	.string	"GNU"
1:
	.align 8
	.long	0xc0000002
	.long	3f - 2f
2:
	.long	0x3
3:
	.align 8
4:

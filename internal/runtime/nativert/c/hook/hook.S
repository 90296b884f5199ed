/* The hook at a function's entry, and the stub that the function returns to; see hook.h.
 * %rsp at entry, the address of the return address, selects the slot in all windows.
 *
 * Any register may be an argument or a result, or its use may be known to a compiler that
 * saw both caller and function: so all are saved, in the red zone of 128 bytes below the
 * stack, which signal handlers do not change. The stores are in such an order that an
 * unwinder in a signal handler finds the return address at every instruction.
 *
 * The code is not marked as compatible with shadow stacks: it is not. */

        .hidden __cairn_base, __cairn_hook_exit

/* Addresses of the windows and of the stub; zero while hooks are disabled. */
        .bss
        .balign 8
        .globl  __cairn_hook_window, __cairn_hook_stub
        .hidden __cairn_hook_window, __cairn_hook_stub
__cairn_hook_window: .quad 0
__cairn_hook_stub:   .quad 0

        .section cairn_hook, "ax", @progbits

/* This makes the linker include the code that starts the hooks. */
        .hidden __cairn_hook_starter
        .reloc  ., R_X86_64_NONE, __cairn_hook_starter

/* ---- entries ---- */

        .macro  SPILL
        movq    %rax, -8(%rsp)
        movq    %rcx, -16(%rsp)
        movq    %rdx, -24(%rsp)
        movq    %rsi, -32(%rsp)
        movq    %rdi, -40(%rsp)
        movq    %r8, -48(%rsp)
        movq    %r9, -56(%rsp)
        .endm

        .macro  UNSPILL
        movq    -8(%rsp), %rax
        movq    -16(%rsp), %rcx
        movq    -24(%rsp), %rdx
        movq    -32(%rsp), %rsi
        movq    -40(%rsp), %rdi
        movq    -48(%rsp), %r8
        movq    -56(%rsp), %r9
        .endm

/* SWAP hooks the function at %rdx, whose return address is at (%rcx). If that is the stub
 * already, a hooked function made a tail call: it has ended, and its caller is the caller of
 * the new one. The slot can be in use by another stack, at a distance of a multiple of 4 GiB:
 * then the call is not timed. The bits above 48 in a slot of return addresses distinguish
 * the stacks. (Two threads on such stacks that use the slot within the same nanosecond are
 * not noticed. A locked instruction would notice them, and cost a third more per call.) */
        .macro  SWAP framed
        movq    __cairn_hook_window(%rip), %rax
        testq   %rax, %rax
        jz      9f
        testb   $7, %cl
        jnz     9f
        movq    __cairn_hook_stub(%rip), %rsi
        movl    %ecx, %edi
        cmpq    %rsi, (%rcx)
        je      5f
        movq    %rcx, %r8
        shrq    $32, %r8
        shlq    $48, %r8
        orq     (%rcx), %r8
        movq    (%rax,%rdi), %r9
        testq   %r9, %r9
        jz      2f
        xorq    %r8, %r9
        shrq    $48, %r9
        jnz     9f
2:      movq    %r8, (%rax,%rdi)
3:      btsq    $32, %rdi               /* functions follow the return addresses */
        movq    %rdx, (%rax,%rdi)
        movl    %ecx, %edi
        movq    __cairn_base(%rip), %rax
        movl    -64(%rax), %edx
        movl    %edx, (%rax,%rdi)
        movq    %rsi, (%rcx)
9:      UNSPILL
        ret
5:      movq    __cairn_base(%rip), %r8
        movl    (%r8,%rdi), %r9d
        subl    -64(%r8), %r9d
        addl    -60(%r8), %r9d
        jns     3b

        leaq    -64(%rsp), %rsp         /* below the saved registers */
        .if !\framed
        .cfi_adjust_cfa_offset 64
        .endif
        pushq   %rbp
        .if !\framed
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        .endif
        movq    %rsp, %rbp
        .if \framed
        .cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 16 /* CFA: (%rbp) + 16 */
        .else
        .cfi_def_cfa_register %rbp
        .endif
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r10
        pushq   %r11
        andq    $-16, %rsp
        movq    %rcx, %rdi              /* slot */
        movq    (%rbp), %rsi            /* frame pointer of the caller */
        .if \framed
        movq    (%rsi), %rsi
        .endif
        call    __cairn_hook_exit
        movq    -8(%rbp), %rax
        movq    -16(%rbp), %rcx
        movq    -24(%rbp), %rdx
        movq    -32(%rbp), %rsi
        movq    -40(%rbp), %rdi
        movq    -48(%rbp), %r10
        movq    -56(%rbp), %r11
        leave
        .if \framed
        .cfi_def_cfa %rbp, 16
        .else
        .cfi_def_cfa %rsp, 80
        .cfi_restore %rbp
        .endif
        leaq    64(%rsp), %rsp
        .if !\framed
        .cfi_adjust_cfa_offset -64
        .endif
        jmp     3b
        .endm

/* trampoline is called by a trampoline, call by the first instruction of a function. For an
 * unwinder that function has no frame yet: its caller is the next frame. */
        .globl  __cairn_hook_trampoline, __cairn_hook_call, __cairn_hook_framed
        .hidden __cairn_hook_trampoline, __cairn_hook_call, __cairn_hook_framed
        .type   __cairn_hook_trampoline, @function
        .type   __cairn_hook_call, @function
        .type   __cairn_hook_framed, @function

        .balign 16
__cairn_hook_trampoline:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        SPILL
        movq    (%rsp), %rdx
        movq    -14(%rdx), %rdx
        incq    %rdx                    /* as a return address, it is in the function */
        jmp     1f
        .cfi_endproc
        .size   __cairn_hook_trampoline, . - __cairn_hook_trampoline

        .balign 16
__cairn_hook_call:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        SPILL
        movq    (%rsp), %rdx
1:      leaq    8(%rsp), %rcx
        SWAP    0
        .cfi_endproc
        .size   __cairn_hook_call, . - __cairn_hook_call

/* framed is called by a function that has its frame pointer. */
        .balign 16
__cairn_hook_framed:
        .cfi_startproc
        .cfi_def_cfa %rbp, 16
        .cfi_offset %rbp, -16
        SPILL
        movq    (%rsp), %rdx
        leaq    8(%rbp), %rcx
        SWAP    1
        .cfi_endproc
        .size   __cairn_hook_framed, . - __cairn_hook_framed

/* ---- stubs ---- */

/* RETURN_IN_WINDOW describes the return address for unwinders:
 *
 *   (slot of CFA - 8 in the window at \page << 40) without its upper 16 bits, - 1
 *
 * and marks the frame as that of a signal handler. Without the mark, libgcc uses the
 * caller's exception handler for this frame, which has the same CFA. With it, the address
 * counts as that of an interrupted instruction, not as a return address, so that 1 is
 * subtracted. */
        .macro  RETURN_IN_WINDOW page
        .cfi_escape 0x16, 16, 25, 0x38, 0x1c, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x1a, \
                    0x0e, 0, 0, 0, 0, 0, \page, 0, 0, 0x22, 0x06, 0x40, 0x24, 0x40, 0x25, 0x31, 0x1c
        .endm

/* RETURN_ON_STACK: it is in 8 bytes below the CFA, - 1. */
        .macro  RETURN_ON_STACK
        .cfi_escape 0x16, 16, 5, 0x38, 0x1c, 0x06, 0x31, 0x1c
        .endm

/* A stub for the window at \page << 40. Functions return to it with %rsp after their slot.
 * It ends with a jump, since the processor has already used its prediction of the return. An
 * unwinder looks up the address minus one, which is in the nop. */
        .macro  STUB page
        .balign 16
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa %rsp, 0
        RETURN_IN_WINDOW \page
        nop
        .globl  __cairn_stub_\page
        .hidden __cairn_stub_\page
        .type   __cairn_stub_\page, @function
__cairn_stub_\page:
        movq    %r10, -16(%rsp)
        movq    %r11, -24(%rsp)
        movq    %rcx, -32(%rsp)
        leal    -8(%rsp), %r11d
        movq    __cairn_base(%rip), %r10
        movl    (%r10,%r11), %ecx
        subl    -64(%r10), %ecx
        addl    -60(%r10), %ecx
        js      5f
3:      movabsq $\page << 40, %r10
        movq    (%r10,%r11), %rcx
        shlq    $16, %rcx
        shrq    $16, %rcx
        movq    %rcx, -8(%rsp)
        .cfi_remember_state
        RETURN_ON_STACK
        movq    $0, (%r10,%r11)         /* for another stack */
        movq    -16(%rsp), %r10
        movq    -24(%rsp), %r11
        movq    -32(%rsp), %rcx
        jmp     *-8(%rsp)
        .cfi_restore_state

5:      leaq    -40(%rsp), %rsp
        .cfi_adjust_cfa_offset 40
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rax
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        andq    $-16, %rsp
        leaq    40(%rbp), %rdi          /* slot */
        movq    (%rbp), %rsi
        call    __cairn_hook_exit
        movq    -8(%rbp), %rax
        movq    -16(%rbp), %rdx
        movq    -24(%rbp), %rsi
        movq    -32(%rbp), %rdi
        movq    -40(%rbp), %r8
        movq    -48(%rbp), %r9
        leave
        .cfi_def_cfa %rsp, 40
        .cfi_restore %rbp
        leaq    40(%rsp), %rsp
        .cfi_def_cfa_offset 0
        leal    -8(%rsp), %r11d
        jmp     3b
        .cfi_endproc
        .size   __cairn_stub_\page, . - __cairn_stub_\page
        .endm

        STUB    32
        STUB    48
        STUB    72
        STUB    16
        .globl  __cairn_stub_end
        .hidden __cairn_stub_end
__cairn_stub_end:

        .section .note.GNU-stack, "", @progbits

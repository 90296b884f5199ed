/* The depth of a thread's calls, for mode trace with --depth.
 *
 * A thread has a list of the stack pointers at the entries of its recorded open calls. When the
 * list has reached the depth, inserted code compares its stack pointer with the last one: calls
 * below it are not recorded. Calls that an exception or a longjmp left are recognized by their
 * stack pointers, which are not above that of the next call.
 *
 * __cairn_trace_deeper: a call is entered, and recorded. __cairn_trace_upper: a call that was
 * recorded ends.
 *
 * %r11 is the stack pointer at the call's entry. They change %r11 and the flags. */

#include "registers_x86_64.h"

/* As in trace.h: offsets of the stack pointer of the last call, of the number of calls, and of the
 * list. */
#define DEEPEST 8
#define COUNT 16
#define CALLS 24

/* SHALLOWER removes ended calls from the list; %rax is the thread's state, %ecx the number of
 * remaining calls. */
        .hidden __cairn_local
        .macro  SHALLOWER
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        movq    __cairn_local(%rip), %rax
        addq    %fs:0, %rax
        movl    COUNT(%rax), %ecx
1:      testl   %ecx, %ecx
        jz      2f
        cmpq    %r11, CALLS-8(%rax,%rcx,8)
        ja      2f
        decl    %ecx
        jmp     1b
2:
        .endm

        .macro  DONE
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rax
        .cfi_adjust_cfa_offset -8
        ret
        .endm

        .text
        .globl  __cairn_trace_deeper
        .hidden __cairn_trace_deeper
        .type   __cairn_trace_deeper, @function
__cairn_trace_deeper:
        .cfi_startproc
        SHALLOWER
        movq    %r11, CALLS(%rax,%rcx,8)
        incl    %ecx
        movl    %ecx, COUNT(%rax)
        cmpl    $CAIRN_TRACE_DEPTH, %ecx
        jae     3f
        xorl    %r11d, %r11d
3:      movq    %r11, DEEPEST(%rax)
        DONE
        .cfi_endproc
        .size   __cairn_trace_deeper, . - __cairn_trace_deeper

        .globl  __cairn_trace_upper
        .hidden __cairn_trace_upper
        .type   __cairn_trace_upper, @function
__cairn_trace_upper:
        .cfi_startproc
        SHALLOWER
        movl    %ecx, COUNT(%rax)
        movq    $0, DEEPEST(%rax)
        DONE
        .cfi_endproc
        .size   __cairn_trace_upper, . - __cairn_trace_upper

/* __cairn_depth_leaves and __cairn_depth_returns: in front of a call that continues on another stack, and behind it, see
 * trace_depth.c. They preserve all registers. */
        FORWARD __cairn_depth_leaves, __cairn_depth_left
        FORWARD __cairn_depth_returns, __cairn_depth_returned

        PROPERTIES

/* The routines that code of mode stacks calls.
 *
 * __cairn_tree_enter: the slot does not hold the function's node.
 *
 *   f:     ...
 *          jne   miss
 *   back:  ...
 *          .long miss - f
 *          .byte slot, with flags
 *   miss:  call  __cairn_tree_enter      also with registers moved before
 *          movq  %r11, %rax
 *          jmp   back
 *
 *   %r11   the address of miss, which names f; in return the node
 *
 * __cairn_tree_back: an exception or a longjmp may have returned to the function that %r11
 * identifies.
 *
 * __cairn_tree_back_at: the same, in the call that was entered with the stack pointer %r11.
 * __cairn_tree_switched: in that call, from another stack.
 *
 * __cairn_tree_leave: the process ends if %r11 is 1, or runs another program.
 *
 * All preserve all registers but %r11 and the flags. */

#include "registers_x86_64.h"

/* As in tree.h. */
#define TREE_TABLE 8192
#define TREE_SLOT 15
#define TREE_DEEP 3

        .macro  ROUTINE name, function
        .globl  \name
        .hidden \name, \function
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        SAVE_REGISTERS
        andq    $-16, %rsp
        cld
        movq    %r11, %rdi
        leaq    16(%rbp), %rsi          /* stack pointer before the call */
        call    \function
        movq    %rax, %r11
        RETURN_REGISTERS
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .text
        ROUTINE __cairn_tree_make, __cairn_tree_child
        ROUTINE __cairn_tree_back, __cairn_tree_find
        ROUTINE __cairn_tree_back_at, __cairn_tree_at
        ROUTINE __cairn_tree_switched, __cairn_tree_switch
        ROUTINE __cairn_tree_leave, __cairn_tree_leaving

/* Functions that share a slot replace each other there. Most of them are found in a table for all
 * threads: a node there belongs to this thread if its parent does. Below the greatest depth there
 * is one node for all. */
        .globl  __cairn_tree_enter
        .hidden __cairn_tree_enter, __cairn_tree_table, __cairn_tree_depth, __cairn_local
        .type   __cairn_tree_enter, @function
__cairn_tree_enter:
        .cfi_startproc
        endbr64
        pushq   %rax
        .cfi_def_cfa_offset 16
        pushq   %r10
        .cfi_def_cfa_offset 24
        pushq   %rcx
        .cfi_def_cfa_offset 32
        movq    __cairn_local(%rip), %rax
        movq    %fs:(%rax), %r10
        movl    __cairn_tree_depth(%rip), %eax
        cmpl    %eax, 176(%r10)
        jae     3f
        imulq   $-1640531535, %r10, %rax
        imulq   $-2048144777, %r11, %rcx
        addq    %rcx, %rax
        shrq    $16, %rax
        andl    $TREE_TABLE - 1, %eax
        leaq    __cairn_tree_table(%rip), %rcx
        movq    (%rcx,%rax,8), %rax
        testq   %rax, %rax
        jz      1f
        cmpq    %r10, (%rax)
        jne     1f
        cmpq    %r11, 8(%rax)
        jne     1f
        movzbl  -1(%r11), %ecx
        andl    $TREE_SLOT, %ecx
        movq    %rax, 64(%r10,%rcx,8)
2:      movq    %rax, %r11
        popq    %rcx
        .cfi_def_cfa_offset 24
        popq    %r10
        .cfi_def_cfa_offset 16
        popq    %rax
        .cfi_def_cfa_offset 8
        ret
        .cfi_def_cfa_offset 32
1:      popq    %rcx
        .cfi_def_cfa_offset 24
        popq    %r10
        .cfi_def_cfa_offset 16
        popq    %rax
        .cfi_def_cfa_offset 8
        jmp     __cairn_tree_make
        .cfi_def_cfa_offset 32
3:      movq    %r10, %rax
        cmpq    $TREE_DEEP, 8(%rax)
        je      2b
        movq    32(%r10), %rax
        testq   %rax, %rax
        jz      1b
        cmpq    $TREE_DEEP, 8(%rax)
        je      2b
        jmp     1b
        .cfi_endproc
        .size   __cairn_tree_enter, . - __cairn_tree_enter

        PROPERTIES

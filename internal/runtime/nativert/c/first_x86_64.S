/* The first call of a function.
 *
 * A counting probe and its stub look like this (package native writes them):
 *
 *   f:     [endbr64]
 *          83 2d <disp32> 01    subl $1, rec(%rip)     [lock prefix: f0]
 *          72 <rel8>            jc   stub              or 0f 82 <rel32>
 *   back:  ...
 *   stub:  e8 <rel32>           call __cairn_first_*
 *          eb <rel8>            jmp  back              or e9 <rel32>
 *
 * The return address of the call gives the jmp, its displacement gives back, and the bytes before
 * back give the record. Stack on entry, which is the stack of f's own entry with one more address
 * on it:
 *
 *   8(%rsp)  return address of f, in its caller
 *   0(%rsp)  return address into the stub
 *
 * All registers are saved: a caller compiled with -fipa-ra may count on registers that the ABI
 * would let us take. The flags are free.
 *
 * The order word is set once, by compare and exchange. If it is set already, two threads raced for
 * the first call and an increment was lost, or there were 2^32 calls: mark the count as inexact. */

#include "record_x86_64.h"
#include "machine.h"
#include "wire.h"

        .text
        .globl  NAME
        .hidden NAME, __cairn_order
        .type   NAME, @function
NAME:
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        find_record 0x820f
        cmpl    $0, CAIRN_ORDER_OFFSET(%rdx)
        jne     3f
        movl    $1, %ecx
        lock xaddl %ecx, __cairn_order(%rip)
        incl    %ecx
        xorl    %eax, %eax
        lock cmpxchgl %ecx, CAIRN_ORDER_OFFSET(%rdx)
        jne     3f
#if FULL
        movq    32(%rsp), %rax          /* return address of f */
        subq    %rdx, %rax
        movslq  %eax, %rcx
        cmpq    %rax, %rcx
        je      4f
        movl    $CAIRN_CALLER_OUTSIDE, %eax
4:      movl    %eax, CAIRN_CALLER_OFFSET(%rdx)
#endif
        jmp     5f
3:      lock orl $CAIRN_ORDER_INEXACT, CAIRN_ORDER_OFFSET(%rdx)
5:      popq    %rdx
        popq    %rcx
        popq    %rax
        ret
        .size   NAME, . - NAME

#if !CAIRN_MAPPED
        .reloc  NAME, NOTHING, __cairn_counts      /* see single.c */
        .hidden __cairn_counts
#endif

        PROPERTIES

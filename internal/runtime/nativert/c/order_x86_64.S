/* The first call of a function in modes with an order buffer.
 *
 * The probe and its stub are those of first_x86_64.S, with another instruction before the branch:
 *
 *   f:     80 3d <disp32> 00    cmpb $0, rec(%rip)
 *          74 <rel8>            je   stub              or 0f 84 <rel32>
 *   back:  ...
 *   stub:  e8 <rel32>           call __cairn_first_order
 *          eb <rel8>            jmp  back              or e9 <rel32>
 *
 * Several threads may call this at once: the one that sets the flag takes a slot, so that each
 * function has at most one. The number of slots taken, __cairn_next, is among the records: it is
 * cleared and written with them, and survives with them when the process is killed. */

#include "record_x86_64.h"
#include "machine.h"
#include "wire.h"

        .text
        .globl  __cairn_first_order
        .hidden __cairn_first_order
        .type   __cairn_first_order, @function
__cairn_first_order:
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        find_record 0x840f
        movb    $1, %al
        xchgb   %al, (%rdx)
        testb   %al, %al
        jne     5f
        leaq    __start_cairn_raw(%rip), %rcx
        subq    %rcx, %rdx
        incl    %edx                    /* value of the slot */
        pushq   %rdx
        movl    __cairn_ring(%rip), %ecx
        testl   %ecx, %ecx
        jne     3f
        leaq    __stop_cairn_order(%rip), %rcx
        leaq    __start_cairn_order(%rip), %rdx
        subq    %rdx, %rcx
        shrq    $2, %rcx
3:      jrcxz   4f                      /* no slots; linkers should not do that */
        movl    $1, %eax
        lock xaddl %eax, __cairn_next(%rip)
        xorl    %edx, %edx
        divl    %ecx
        leaq    __start_cairn_order(%rip), %rcx
        movl    (%rsp), %eax
        movl    %eax, (%rcx,%rdx,4)
4:      popq    %rdx
5:      popq    %rdx
        popq    %rcx
        popq    %rax
        ret
        .size   __cairn_first_order, . - __cairn_first_order

#include "order_tables.h"

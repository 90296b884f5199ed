/* __cairn_departs: a thread is about to end inside its calls. Inserted code calls it in front of a
 * call of pthread_exit, where the arguments of that call are in use:
 *
 *   call  __cairn_departs
 */

#include "registers_x86_64.h"

        .text
        .globl  __cairn_departs
        .hidden __cairn_departs, __cairn_depart
        .type   __cairn_departs, @function
__cairn_departs:
        .cfi_startproc
        endbr64
        SAVE_REGISTERS
        pushq   %r11
        andq    $-16, %rsp
        cld
        movq    8(%rbp), %rdi           /* site */
        leaq    16(%rbp), %rsi          /* stack pointer in the function */
        movq    (%rbp), %rdx            /* its frame pointer */
        call    __cairn_depart
        movq    -72(%rbp), %r11
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_departs, . - __cairn_departs

/* __cairn_cancels: another thread is about to be cancelled, in front of a call of pthread_cancel. */
        .globl  __cairn_cancels
        .hidden __cairn_cancels, __cairn_cancel
        .type   __cairn_cancels, @function
__cairn_cancels:
        .cfi_startproc
        endbr64
        SAVE_REGISTERS
        pushq   %r11
        andq    $-16, %rsp
        cld
        call    __cairn_cancel
        movq    -72(%rbp), %r11
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_cancels, . - __cairn_cancels

        PROPERTIES

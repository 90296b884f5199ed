/* What inserted code of the flight recorder refers to: the thread's position, and
 * __cairn_flight_slow, where it comes when the clock has moved since the thread's
 * last event or its chunk is full.
 *
 *   begin: ...
 *          movq  __cairn_flight_at@gottpoff(%rip), %r11
 *          cmpl  %eax, %fs:8(%r11)
 *          jne   slow
 *          movq  %fs:(%r11), %rax
 *          addw  $8, %ax
 *          jz    slow
 *          movq  %rax, %fs:(%r11)           the event is at -8(%rax)
 *          ...
 *   slow:  call  __cairn_flight_slow
 *          jmp   begin
 *
 * It keeps every register but %r11; the code behind it is compiled without vector
 * registers. */

#include "registers.h"

/* A thread has one, whichever modules were loaded how. */
        .globl  __cairn_flight_at
        .type   __cairn_flight_at, @gnu_unique_object
        .size   __cairn_flight_at, 16
        .section .tdata.cairn, "awT", @progbits
        .balign 16
__cairn_flight_at:
        .quad   0xfff8, 0

        .text
        .globl  __cairn_flight_slow
        .hidden __cairn_flight_slow, __cairn_flight_more
        .type   __cairn_flight_slow, @function
__cairn_flight_slow:
        .cfi_startproc
        SAVE_REGISTERS
        andq    $-16, %rsp
        leaq    16(%rbp), %rdi          /* stack pointer at entry */
        call    __cairn_flight_more
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_flight_slow, . - __cairn_flight_slow

        PROPERTIES

/* What inserted code of the flight recorder refers to: the thread's position; __cairn_flight_slow,
 * which it calls if the clock has advanced since the thread's last event or its chunk is full; and
 * __cairn_flight_left, which it calls if the entry may not imply the last exit.
 *
 *   begin: ...
 *          movq  __cairn_local(%rip), %r11
 *          cmpl  %eax, %fs:8(%r11)
 *          jne   slow
 *          movl  %esp, %eax
 *          subl  %fs:12(%r11), %eax
 *          shrl  $12, %eax
 *          jnz   left
 *          ...
 *          movq  %fs:(%r11), %rax
 *          addw  $8, %ax
 *          jz    slow
 *          movq  %rax, %fs:(%r11)           the event is at -8(%rax)
 *          ...
 *   slow:  call  __cairn_flight_slow
 *          jmp   begin
 *   left:  call  __cairn_flight_left
 *          jmp   begin
 *
 * The routines preserve all registers but %r11; the C code that they call is compiled without
 * vector registers. */

#include "registers_x86_64.h"
#include "timedwire.h"

        .text
        .hidden __cairn_local
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

/* The word at 12 is the stack pointer of the last exit, odd if there was none since
 * the last entry. It becomes that of this entry, which passes the test. */
        .globl  __cairn_flight_left
        .hidden __cairn_flight_left, __cairn_flight_turn, __cairn_plain
        .type   __cairn_flight_left, @function
__cairn_flight_left:
        .cfi_startproc
        movq    %rax, -16(%rsp)         /* the red zone, below what is pushed here */
        movq    __cairn_local(%rip), %r11
        cmpb    $0, __cairn_plain(%rip)
        jne     4f
        testb   $1, %fs:12(%r11)
        jnz     1f
        movq    %fs:(%r11), %rax
        addw    $8, %ax
        jz      2f
        movq    %rax, %fs:(%r11)
        movl    %fs:12(%r11), %r11d
        movl    %r11d, -4(%rax)
        movl    $LOG_FLIGHT_EXIT, -8(%rax)
        movq    __cairn_local(%rip), %r11
1:      leaq    8(%rsp), %rax
        movl    %eax, %fs:12(%r11)
        subq    %fs:16(%r11), %rax      /* is it on the stack where the thread was? */
        cmpq    %fs:24(%r11), %rax
        movq    -16(%rsp), %rax
        jae     3f
        ret
2:      movq    -16(%rsp), %rax
        jmp     __cairn_flight_slow
3:      SAVE_REGISTERS
        andq    $-16, %rsp
        leaq    16(%rbp), %rdi
        call    __cairn_flight_turn
        RETURN_REGISTERS
        .cfi_restore %rbp
4:      leaq    8(%rsp), %rax           /* nothing is recorded, see plain.h */
        movl    %eax, 12(%r11)
        movq    -16(%rsp), %rax
        ret
        .cfi_endproc
        .size   __cairn_flight_left, . - __cairn_flight_left

        PROPERTIES

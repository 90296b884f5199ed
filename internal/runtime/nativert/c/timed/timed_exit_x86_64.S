/* __cairn_slow: the cold stub of an instrumented function calls it if the call took long by the
 * coarse clock:
 *
 *   f:     ...
 *          js   stub
 *   back:  ret                      or a tail jump
 *   stub:  call __cairn_slow
 *          jmp  back
 *
 *   8(%rsp)  return address of f: the frame's stack pointer at entry
 *   0(%rsp)  return address into the stub, which names f
 *
 * Return values and, at tail jumps, arguments are live: every general register is preserved. The C
 * code is compiled without vector registers; it saves them itself where it calls foreign code, the
 * unwinder. The flags are free. %rsp may have any alignment. The unwinder walks through this frame,
 * so its CFI must be right at the call. */

#include "registers_x86_64.h"

        .text
        .globl  __cairn_slow
        .hidden __cairn_slow, __cairn_slow_exit
        .type   __cairn_slow, @function
__cairn_slow:
        .cfi_startproc
        endbr64
        SAVE_REGISTERS
        pushq   %r11
        andq    $-16, %rsp
        movq    8(%rbp), %rdi           /* site */
        leaq    16(%rbp), %rsi          /* stack pointer at entry */
        movq    (%rbp), %rdx            /* frame pointer of the caller, if it has one */
        call    __cairn_slow_exit
        movq    -72(%rbp), %r11
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_slow, . - __cairn_slow

        PROPERTIES

/* __cairn_trace_full, which inserted code of mode trace calls if the chunk is full:
 *
 *   movq  __cairn_local(%rip), %r10
 *   movq  %fs:(%r10), %r11
 *   addw  $8, %r11w
 *   jz    full
 *   back: movq %r11, %fs:(%r10)      the event is at -8(%r11)
 *   ...
 *   full: call __cairn_trace_full
 *   jmp   back
 *
 * It returns the new position in %r11 and preserves all other registers; the C code that it calls
 * is compiled without vector registers. */

#include "registers_x86_64.h"
#include "timedwire.h"

        .text
        .globl  __cairn_trace_full
        .hidden __cairn_trace_full, __cairn_trace_next
        .type   __cairn_trace_full, @function
__cairn_trace_full:
        .cfi_startproc
        SAVE_REGISTERS
        andq    $-16, %rsp
        movq    %r11, %rdi
        call    __cairn_trace_next
        movq    %rax, %r11
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_trace_full, . - __cairn_trace_full

        PROPERTIES

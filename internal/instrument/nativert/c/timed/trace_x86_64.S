/* What inserted code of mode trace refers to: the thread's position, the process's state, and
 * __cairn_trace_full, which it calls if the chunk is full.
 *
 *   movq  __cairn_trace_at@gottpoff(%rip), %r10
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

/* A process has one of each, however modules were loaded. */
        .globl  __cairn_tracer, __cairn_trace_at
        .type   __cairn_tracer, @gnu_unique_object
        .size   __cairn_tracer, 4096
        .section .bss.cairn_tracer, "aw", @nobits
        .balign 4096
__cairn_tracer:
        .zero   4096

        .type   __cairn_trace_at, @gnu_unique_object
        .size   __cairn_trace_at, 8
        .section .tdata.cairn, "awT", @progbits
        .balign 8
__cairn_trace_at:
        .quad   0xfff8

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

/* void __cairn_trace_reset(void): the thread has no chunk. */
        .globl  __cairn_trace_reset
        .hidden __cairn_trace_reset
        .type   __cairn_trace_reset, @function
__cairn_trace_reset:
        movq    __cairn_trace_at@gottpoff(%rip), %rax
        movq    $0xfff8, %fs:(%rax)
        ret
        .size   __cairn_trace_reset, . - __cairn_trace_reset

        PROPERTIES

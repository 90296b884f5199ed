/* The library that consists of a runtime only; see timed_guest.c. */

#ifdef __x86_64__
#include "registers_x86_64.h"
#else
#include "registers_aarch64.h"
#endif

        .section .rodata.cairn_host, "a"
        .globl  __cairn_host, __cairn_host_end
        .hidden __cairn_host, __cairn_host_end
        .balign 16
__cairn_host:
        .incbin "host.so"
__cairn_host_end:
        .byte   0

        PROPERTIES

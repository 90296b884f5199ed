/* The library that consists of a runtime only, packed; see timed_guest.c. */

#ifdef __x86_64__
#include "registers_x86_64.h"
#else
#include "registers_aarch64.h"
#endif

        .section .rodata.cairn_host, "a"
        .globl  __cairn_host
        .hidden __cairn_host
        .balign 16
__cairn_host:
        .incbin "host.packed"

        PROPERTIES

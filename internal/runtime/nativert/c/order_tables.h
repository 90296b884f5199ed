/* The data of order_MACHINE.S. */

        .hidden __start_cairn_raw, __start_cairn_order, __stop_cairn_order, __cairn_order_used, __cairn_order_end, __cairn_next

#if CAIRN_MAPPED
/* Table of addresses for a runtime that is a file: see attach in rt_mapped.h. */
        .section .rodata.cairn, "a", %progbits
        .balign 4
        .globl  __cairn_order_table
        .hidden __cairn_order_table
__cairn_order_table:
        .long   __start_cairn_order - __cairn_order_table
        .long   __stop_cairn_order - __cairn_order_table
        .long   __cairn_next - __cairn_order_table
        .long   __cairn_ring - __cairn_order_table
        .long   __cairn_order_used - __cairn_order_table
        .text
#endif

/* The buffer fills whole pages, as the records do. */
        .reloc  __cairn_first_order, NOTHING, __cairn_order_end

/* Objects that request a buffer size store the number of slots here. */
        .section .rodata.cairn, "a", %progbits
        .balign 4
        .weak   __cairn_ring
        .hidden __cairn_ring
        .type   __cairn_ring, %object
        .size   __cairn_ring, 4
__cairn_ring:
        .long   0

        PROPERTIES

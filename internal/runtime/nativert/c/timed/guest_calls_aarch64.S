/* Calls of a library in the runtime of its process: jumps through the addresses that guest_start.c puts into
 * __cairn_called. */

#include "services.h"
#include "registers_aarch64.h"

        .bss
        .balign 8
        .globl  __cairn_called
        .hidden __cairn_called
__cairn_called:
        .skip   8 * SERVICES

        .set    index, 0
        .macro  BEGIN name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .endm
        .macro  END name
        .size   \name, . - \name
        .set    index, index + 1
        .endm

/* JUMP defines a routine, which changes x16 alone. Inserted code calls it when there is an address. */
        .macro  JUMP name
        BEGIN   \name
        adrp    x16, __cairn_called + 8 * index
        ldr     x16, [x16, :lo12:__cairn_called + 8 * index]
        br      x16
        END     \name
        .endm

/* CALL defines a function, which returns 0 as long as there is no address. */
        .macro  CALL name
        BEGIN   \name
        hint    34                      // bti c
        adrp    x16, __cairn_called + 8 * index
        ldr     x16, [x16, :lo12:__cairn_called + 8 * index]
        cbz     x16, 1f
        br      x16
1:      mov     x0, 0
        ret
        END     \name
        .endm

#define ROUTINE(name) JUMP name;
#define FUNCTION(name) CALL name;

        .text
        .balign 4
        .cfi_startproc
        ROUTINES(ROUTINE)
#ifdef CAIRN_TREES
        TREE_ROUTINES(ROUTINE)
#endif
        .set    index, SERVICES_ROUTINES + SERVICES_TREES
        FUNCTIONS(FUNCTION)

/* What is called while nothing is recorded. */
        .globl  __cairn_nothing
        .hidden __cairn_nothing
        .type   __cairn_nothing, %function
__cairn_nothing:
        hint    34                      // bti c
        ret
        .size   __cairn_nothing, . - __cairn_nothing

#ifdef CAIRN_TREES
/* The same for __cairn_tree_enter, which returns a node. */
        .globl  __cairn_no_node
        .hidden __cairn_no_node, __cairn_tree_sink
        .type   __cairn_no_node, %function
__cairn_no_node:
        hint    34                      // bti c
        adrp    x17, __cairn_tree_sink
        add     x17, x17, :lo12:__cairn_tree_sink
        ret
        .size   __cairn_no_node, . - __cairn_no_node
#endif
        .cfi_endproc

        PROPERTIES

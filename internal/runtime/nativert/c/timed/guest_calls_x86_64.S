/* Calls of a library in the runtime of its process: jumps through the addresses that guest_start.c puts into
 * __cairn_called. */

#include "services.h"
#include "registers_x86_64.h"

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
        .type   \name, @function
\name:
        .endm
        .macro  END name
        .size   \name, . - \name
        .set    index, index + 1
        .endm

/* JUMP defines a routine, which changes no register. Inserted code calls it when there is an address. */
        .macro  JUMP name
        BEGIN   \name
        jmp     *__cairn_called + 8 * index(%rip)
        END     \name
        .endm

/* CALL defines a function, which returns 0 as long as there is no address. */
        .macro  CALL name
        BEGIN   \name
        endbr64
        movq    __cairn_called + 8 * index(%rip), %rax
        testq   %rax, %rax
        jz      __cairn_nothing
        jmp     *%rax
        END     \name
        .endm

#define ROUTINE(name) JUMP name;
#define FUNCTION(name) CALL name;

        .text
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
        .type   __cairn_nothing, @function
__cairn_nothing:
        endbr64
        ret
        .size   __cairn_nothing, . - __cairn_nothing

#ifdef CAIRN_TREES
/* The same for __cairn_tree_enter, which returns a node. */
        .globl  __cairn_no_node
        .hidden __cairn_no_node, __cairn_tree_sink
        .type   __cairn_no_node, @function
__cairn_no_node:
        endbr64
        leaq    __cairn_tree_sink(%rip), %r11
        ret
        .size   __cairn_no_node, . - __cairn_no_node
#endif
        .cfi_endproc

        PROPERTIES

/* __cairn_services: the table of what libraries of the process call here, by the distance from the table. See services.h. */

#include "services.h"
#ifdef __x86_64__
#include "registers_x86_64.h"
#else
#include "registers_aarch64.h"
#endif

#define HERE(name) .hidden name; .long name - __cairn_services;
#define NOWHERE(name) .long 0;

        .section .rodata.cairn_services, "a"
        .balign 4
        .globl  __cairn_services
        .hidden __cairn_services
__cairn_services:
        .long   SERVICES
        ROUTINES(HERE)
#ifdef CAIRN_TREES
        TREE_ROUTINES(HERE)
#else
        TREE_ROUTINES(NOWHERE)
#endif
        FUNCTIONS(HERE)
        .if . - __cairn_services != 4 + 4 * SERVICES
        .error  "services.h has other numbers"
        .endif

        PROPERTIES

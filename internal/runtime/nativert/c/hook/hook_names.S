/* The names by which compilers call hooks: gcc and clang with -pg -mfentry at the first
 * instruction of a function, with -pg after the function has set its frame pointer. They
 * take precedence over those of the C library, which have no effect unless the program was
 * linked with -pg: then gmon.out has no counts. */

        .hidden __cairn_hook_call, __cairn_hook_framed

        .macro  NAME name, to
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        jmp     \to
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .text
        NAME    __fentry__, __cairn_hook_call
        NAME    mcount, __cairn_hook_framed
        NAME    _mcount, __cairn_hook_framed

        .section .note.GNU-stack, "", @progbits

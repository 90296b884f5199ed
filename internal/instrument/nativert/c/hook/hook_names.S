/* The names by which compilers call hooks: gcc and clang -pg -mfentry as the first
 * thing of a function, -pg once the function has its frame pointer. They have
 * precedence over those of the C library, which do nothing unless the program
 * was linked with -pg: it counts, then, and finds nothing counted. */

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

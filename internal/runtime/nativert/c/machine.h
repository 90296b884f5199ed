/* What differs between machines in assembly that is the same otherwise.
 *
 * NOTHING is the relocation that only keeps another section, PAGE the size of the largest pages, and ADDRESS the
 * directive for an address of WORD bytes. PROPERTIES ends each file: its code is compatible with branch targets that are
 * checked, and with shadow stacks or signed return addresses, and needs no executable stack. */

#if __x86_64__
#define NOTHING R_X86_64_NONE
#define PAGE 4096
#elif __aarch64__
#define NOTHING R_AARCH64_NONE
#define PAGE 65536
#else
#define NOTHING R_ARM_NONE
#define PAGE 4096
#endif

#if __arm__
#define WORD 4
#define ADDRESS .long
#else
#define WORD 8
#define ADDRESS .quad
#endif

        .macro  PROPERTIES
#if !__arm__
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
#if __x86_64__
        .long   0xc0000002, 4, 3, 0
#else
        .long   0xc0000000, 4, 3, 0
#endif
#endif
        .section .note.GNU-stack, "", %progbits
        .endm

 .syntax unified
 .text
 .balign 4
 nop
 .space 40 << 20
 .section .note.GNU-stack,"",%progbits

// Package aarch64 knows the assembly of AArch64 as gcc and clang write it: which instructions jump, call, return and
// trap, which registers an instruction reads and writes, which of them are live, and how far a branch reaches.
//
// All instructions have four bytes, so the distance between two places of a text is known, and what is inserted
// between them can move a target out of reach: of tbz by 32 KiB, of cbz and b.eq by 1 MiB, of an entry in a
// compressed jump table by 127 instructions.
//
// An address takes two instructions and a register. x16 and x17 belong to the linker's veneers: no compiler keeps a
// value in them across a call, but inside of a function they are ordinary registers.
package aarch64

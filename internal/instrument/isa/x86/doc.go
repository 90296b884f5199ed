// Package x86 knows the assembly of x86-64 in AT&T syntax: which instructions jump, call, return and trap, what a
// call names, and which conditional jump is the opposite of which.
//
// An instruction has any length up to 15 bytes, and the assembler chooses the length of jumps, so that text can be
// inserted anywhere but before the target of loop, jrcxz and jecxz, whose reach is 127 bytes. endbr64 must stay the
// first instruction of what is called or jumped to indirectly.
package x86

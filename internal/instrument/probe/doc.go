// Package probe inserts records of which functions and blocks ran into the assembly text that compilers write, which
// package asm reads, and adds a map that describes them. It uses no files and no processes.
//
// # Why assembly
//
// The counted code is the code that ships: the compiler has finished all its optimisations, so probes cannot
// disturb them. Every compiler that can hand its output to an external assembler can be used. The idea of
// probes at machine level, records in one section and names in a separate map is that of LLVM's Machine IR
// Profile (MIP); LLVM puts it into one compiler's back end.
//
// # What is inserted
//
// Rewrite inserts text at the offsets that asm found and
// appends the sections of the records and of the map, and in modes order and block+order those of the order
// buffer. The original bytes are never reprinted.
//
//	mode   at the entry                          at every other block
//	cover  movb $1, rec(%rip)        7 bytes     -
//	block  movb $1, rec(%rip)        7 bytes     movb $1, rec+i(%rip)
//	count  subl $1, rec(%rip); jc S  9 bytes     -
//	full   subl $1, rec(%rip); jc S  9 bytes     movb $1, rec+12+i(%rip)
//	order  cmpb $0, rec(%rip); je S  9 bytes     -
//
// Mode block+order has the entry probe of order and the others of block.
//
// A movb to memory touches no flags, registers or stack, so it can be inserted anywhere. At a function's entry
// the flags are free (gcc's -fipa-ra reasons about registers, and treats flags as clobbered by every call), so
// the counting probe may use them, and only them.
//
// # Counting down from zero
//
// The counter starts at 0 and is decremented: only 0-1 borrows, so the carry flag marks the first call, and the
// record needs no initial value. All records are thus zero-initialised memory: they take no space in the file,
// are reset by clearing, and can be mapped onto a file. The cost over an inc of a counter that starts at -1 is
// one byte of code against four bytes of data.
//
// The never-taken branch leads to a 7-byte stub S, out of the function's way:
//
//	S:  call __cairn_first_count     (or _full, or _order)
//	    jmp  back
//
// The stub is before the alignment of its function, where it mostly fills padding and the branch is 2 bytes
// long; for the first function of a section it is after the function's end.
package probe

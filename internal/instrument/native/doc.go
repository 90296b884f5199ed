// Package native instruments compiled code at the level of its assembly text, which package asm reads: it takes a compiler's output, and
// returns the same text with probes and a map that describes them. It uses no files and no processes.
//
// # Why assembly
//
// The counted code is the code that ships: the compiler has finished all its optimisations, so probes cannot
// disturb them. Every compiler that can hand its output to an external assembler can be used. The idea of
// probes at machine level, records in one section and names in a separate map is that of LLVM's Machine IR
// Profile (MIP); LLVM puts it into one compiler's back end.
//
// A second use of the same parser has no probes: Split moves blocks that never ran out of functions that did.
//
// # What is inserted
//
// Parse finds functions, their fragments and their basic blocks; Rewrite inserts text at the offsets found and
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
//
// # Code at exits
//
// Mode spike has no records: a stamp for each call is stored when it begins and compared when it ends
// (timed.go, timedcode.go), 10 instructions in all. That needs information that the other modes do not need:
// every way out of a function (exits.go), the registers that are live at its entry and at its tail calls
// (exitslive.go), and whether it has a loop, because small functions without one get no code. A body is the
// code that runs in one frame: a function with its cold fragments. Pieces that are entered by calls are bodies
// of their own. On SQLite at -O2 the code is 14 % larger, 7 % without small functions.
//
// # What Split moves
//
// Blocks are numbered as in the map, and a ColdProfile, which compares signatures, knows which never ran. A
// function is cut into pieces, one for each block (splitplan.go); cold pieces go to a section of their own,
// under the symbol f.cold. That involves:
//
//   - Control flow: a piece whose successor is no longer next to it gets a jump,
//     or the opposite condition (splitemit.go).
//   - Unwinding: the state at each instruction is computed from the directives,
//     and written again for both parts (splitcfi.go).
//   - Exceptions: each part gets its own table of call sites; landing pads stay
//     together, in either part (splitlsda.go).
//   - Debug information: lines follow the code, the ranges of the unit get the
//     cold parts, and other labels stay in the hot part (splitrender.go,
//     splitranges.go).
//   - Reach, on AArch64: conditional branches to the other part go to a jump at the
//     end of their own part, and code that must be near stays in one part, such as a
//     compressed jump table and all its targets (splitreach.go, aarch64split.go).
//   - Linkers that fold equal code: equal code of two cold parts can have
//     different frames. A relocation without effect, R_X86_64_NONE or R_AARCH64_NONE to the hot
//     part, makes linkers fold them only together with their functions.
//
// Wrong code must never result, so a function is left as it is if it contains anything that is not known to be
// safe: an unknown directive or line, data in the code, inline assembly that refers to code around it, a label
// that is used in a computation (splitmention.go), a branch with a short reach, an end that falls through into
// other code. The reason is in SplitResult.Refused.
package native

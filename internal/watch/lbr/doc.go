// Package lbr records the taken branches of programs in software, for processors without
// last branch records: it makes a copy of a program's code that stores each branch, and the
// tables that the runtime in c/ needs to run the copy. Both are for x86-64; cairn record
// refuses programs for other machines.
//
// # How it works
//
// Plan translates all code of a module, before it runs, instruction by instruction.
// The copy is at a fixed distance from the original, so that RIP-relative addresses can be
// adjusted in advance. Before each taken branch, the copy stores an event in a buffer of the
// thread:
//
//	mov   %rax, %gs:save
//	mov   %gs:position, %rax
//	movl  $from|kind, (%rax)         faults where the buffer ends
//	movl  $to, 4(%rax)
//	movl  %esp, 8(%rax)
//	movl  $0, 12(%rax)
//	lea   16(%rax), %rax
//	mov   %rax, %gs:position
//	mov   %gs:save, %rax
//	jmp   copy of to
//
// This changes no flags and needs no counter: the distance from the position to the end of
// the buffer is the number of branches until the next sample, and the page after the buffer
// is not mapped. Branches to computed addresses, including returns, go through a routine of
// the runtime that looks up the target.
//
// The original code is not executable any more, but stays readable. Return addresses on
// the stack and all pointers to functions are those of the original. So unwinding,
// exceptions, longjmp, new threads, signal handlers and all other control transfers from
// code without a copy reach the original, and the page fault continues in the copy. Common
// functions of libraries return to the copy without a fault (lbr_leaves.c). Code without a
// copy, such as the C library, runs unchanged; its branches are not recorded, as those of
// code outside of the binaries in any profile.
//
// # Libraries
//
// Each module has its own copy, its own distance, and a number that is part of its events:
// their addresses are relative to the module. Its routine for computed branches looks up
// the pages of other modules too. The runtime maps copies when the loader reports that a
// library was loaded, and unmaps them after it was unloaded.
//
// # From outside
//
// Observer does the work of the runtime for programs that no library can be loaded into: a
// tracer, such as package ptrace, reports each branch to it.
//
// # Truth
//
// From the same events, the runtime can maintain the true call stack of each thread,
// including tail calls, which no unwinder finds. The inference of missing frames is
// evaluated against it. Each entry has the stack pointer at the call, so that longjmp and
// exceptions remove the entries that they skip.
//
// Intel SDM volume 3, chapter "Last Branch Records", describes what hardware does. DynamoRIO
// and Valgrind run copies of code too, but translate it while it runs.
package lbr

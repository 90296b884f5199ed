// Package lbr makes what a program needs to tell of its taken branches where the
// processor does not (last branch records): a copy of its code that writes them
// down, and what the runtime in c/ needs to run it. Both are for x86-64; cairn record
// says so of programs for other machines.
//
// # How it works
//
// Plan translates all code of a module, before it runs, instruction by instruction.
// The copy lies at a fixed distance from the original, so that addresses relative
// to the instruction can be put right in advance. In front of each taken branch
// the copy stores an event, in a buffer of the thread:
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
// No flag is changed, and nothing is counted: how many branches there are until
// the next sample is how far the position is from the buffer's end, behind which
// no memory is. Branches to computed addresses, returns among them, go through a
// routine of the runtime that looks the target up.
//
// The original code is made not executable, but stays readable. Return addresses on the
// stack, and all pointers to functions, are those of the original. So unwinding,
// exceptions, longjmp, new threads, signal handlers and whatever else comes from
// code that is not copied lands in the original, where the fault of that leads to
// the copy. Usual functions of libraries return to the copy by a way that needs no fault
// (lbr_leaves.c). Code without a copy, such as the C library, runs as it is; its branches are
// not recorded, and look as branches of code outside of the binaries do in any profile.
//
// # Libraries
//
// Each module has its own copy, at a distance of its own, and a number that its events
// have: their addresses are relative to the module. Its routine for computed branches
// looks up the pages of other modules too. The runtime loads copies when the
// loader tells that a library has come, and removes them when it has gone.
//
// # From outside
//
// Observer does the runtime's part for programs that nothing can be loaded into: somebody
// tells it of each branch, as package ptrace can.
//
// # Truth
//
// The runtime can keep the true stack of calls of each thread from the same
// events: tail calls too, which no walk of the stack finds. It is what inference
// of missing frames is judged by. Each entry has the stack pointer that the call was
// made with, so that longjmp and exceptions take off what they skip.
//
// What hardware does is Intel SDM volume 3, chapter "Last Branch Records"; the idea
// of running a copy is that of DynamoRIO and Valgrind, but made beforehand.
package lbr

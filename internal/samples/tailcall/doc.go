// Package tailcall restores the frames that tail calls erased from stacks.
//
// Where A calls B and B ends with a jump to C, a stack that is looked at in C has
// the call in A and then C: there is no frame of B any more. The call tells what
// was called first, if it is a direct one; unknown is by which jumps control came
// from there to the function that the stack has next.
//
// An Inferrer answers that, pair by pair, from a Graph of the tail calls there are:
// those that the program's code has, and those that sampled branches took. LLVM
// is the algorithm of llvm-profgen (LLVM commit 5d7950a403be, Phabricator D139367),
// but for a memory of partial answers that makes it depend on the layout of the
// program. Full knows more:
//
//   - direct tail calls that no sample has seen, conditional ones among them;
//   - whom an indirect call may reach: a function whose address is taken by one that
//     is on the same stack, the innermost one first. A callback is mostly handed
//     down by a frame that is still there;
//   - what branches showed behind the same call where the same ran further in;
//   - that a jump to a computed address, if there is one only, is what led to where
//     no known one leads;
//   - whose addresses there are at all, in data and code: what a pointer may lead to.
//     Of virtual calls it is what virtual tables have at that place, and of one of this
//     the tables of the classes that it can be of;
//   - that copies of a jump are one, where a profile has the same place for them.
//
// Nothing is inserted where more than one answer is left.
//
// Logs of calls have other gaps: the frame of B is over before C begins, and what was
// called last is known. Functions says of their functions which may enter which, so that
// internal/calls/account can tell what is certain.
package tailcall

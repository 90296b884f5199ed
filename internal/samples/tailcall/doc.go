// Package tailcall restores the frames that tail calls erased from stacks.
//
// If A calls B and B ends with a jump to C, a stack that is sampled in C has the call in
// A and then C: the frame of B does not exist any more. A direct call shows which function
// was called first; the jumps from there to the next function of the stack are unknown.
//
// An Inferrer finds them for two adjacent entries of a stack, from a Graph of tail calls:
// those in the program's code, and those that sampled branches took. LLVM is the algorithm
// of llvm-profgen (LLVM commit 5d7950a403be, Phabricator D139367), without its cache of
// partial results, which makes it depend on the layout of the program. Full uses more:
//
//   - direct tail calls that no sample shows, including conditional ones;
//   - targets of indirect calls: functions whose address is taken by a function on the
//     same stack, the innermost one first. A callback is mostly passed down by a frame
//     that still exists;
//   - what branches showed after the same call while the same code ran in the inner frames;
//   - a jump to a computed address, if it is the only one that can lead to a function that
//     no known jump leads to;
//   - the functions whose addresses occur in data and code: the possible targets of a
//     pointer. Of virtual calls these are the functions in that slot of the virtual tables,
//     and for calls on this, of the tables of the possible classes;
//   - copies of a jump that have the same place in a profile count as one.
//
// Nothing is inserted where several chains remain possible.
//
// Logs of calls have other gaps: the frame of B ends before C begins, and the last function
// is known. Functions describes which of their functions may enter which others, so that
// internal/calls/account can decide which calls are certain.
package tailcall

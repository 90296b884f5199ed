// Package unwind attributes sampled branches to calling contexts.
//
// A sample has the stack of a moment and the last branches before it. Walking the branches
// from the newest to the oldest reverses the execution: reversing a call removes a frame from
// the stack, reversing a return adds one. So each range of code between two branches, and each
// branch, is counted in the context in which it ran and not in that of the moment, and one
// sample counts dozens of them.
//
// Inconsistent data is never used: a range through which control cannot run, a branch without
// a possible source, a stack that was walked while its frame was being created. Stats counts
// each kind.
//
// Frames that tail calls erased are not restored here. An Inferrer does that when contexts are
// named.
package unwind

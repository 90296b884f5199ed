// Package unwind attributes sampled branches to calling contexts.
//
// A sample has the stack of a moment and the last branches before it. Walking the
// branches from the newest to the oldest undoes what the program did: a call that
// is undone takes a frame off the stack, a return that is undone puts one on it.
// So each stretch of code between two branches, and each branch, is counted in the
// context it ran in and not in that of the moment, and one sample counts dozens of
// them.
//
// What does not fit is never believed: a stretch that no control can take, a
// branch out of nowhere, a stack that was walked while its frame was being made.
// Each kind is counted in Stats.
//
// No frame that a tail call erased is put back here. That is asked of an Inferrer
// where contexts get names.
package unwind

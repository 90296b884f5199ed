// Package tailtest measures the accuracy of restored frames, against the true stacks of
// cairn record --truth.
//
// It evaluates pairs of adjacent frames of a sampled stack: a call and the next inner call, or
// the sampled instruction. Between the two are the jumps of a chain of tail calls, mostly
// none.
//
// If a sampled stack is wrong, its frames from the error outwards are not evaluated: no
// inference can correct them.
package tailtest

// Package tailtest measures the accuracy of restored frames, against the true stacks of
// cairn record --truth.
//
// What is judged are pairs of neighbours on a stack, as it was sampled: a call and
// the next call further in, or where the sample was taken. Between the two are the
// jumps of a chain of tail calls, mostly none.
//
// A stack that the sample has wrong is not judged from where it is wrong on
// outwards: no inference can put that right.
package tailtest

// Package prefetch asks the processor to read memory ahead of its use: a word that is in no cache takes as long as some
// hundred instructions.
package prefetch

// Line is the size of a line of the processor's cache that is assumed, in bytes.
const Line = 64

// Bytes asks for all lines that have bytes of b, and waits for none of them. On machines other than x86-64 and AArch64 it does
// nothing.
func Bytes(b []byte) { lines(b) }

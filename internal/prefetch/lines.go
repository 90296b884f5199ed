//go:build gc && (amd64 || arm64)

package prefetch

// lines is in assembly, as the compiler has no name for the instruction.
//
//go:noescape
func lines(b []byte)

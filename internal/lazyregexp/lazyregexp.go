// Package lazyregexp has regular expressions that are compiled when they are first used. A
// compiler starts cairn twice for each file, as the compiler and as the assembler: what such
// a process does not use must not cost it time.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It compiles it at its first
// call, and panics then if the expression is not valid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

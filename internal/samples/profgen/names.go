package profgen

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// ambiguous reports whether functions of this name are in most object files, each
// another one. Compilers could not tell whose samples they are.
func ambiguous(name string) bool {
	return strings.HasPrefix(name, "__cxx_global_var_init") || strings.HasPrefix(name, "__tls_init")
}

// FunctionNames returns the names of all functions, without those that only symbols tell of if
// what profiles are keyed by is debug information.
func FunctionNames(code *machinecode.Set, byLines bool) (names []string) {
	for _, b := range code.Binaries() {
		for _, f := range b.Functions() {
			if !byLines || !f.BySymbol() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// Unambiguous returns the contexts of functions that compilers can tell apart by their
// names. It is the last stage of a profile with contexts: until then the others count.
func Unambiguous(contexts []sampleprof.Context) []sampleprof.Context {
	return slices.DeleteFunc(contexts, func(c sampleprof.Context) bool {
		return ambiguous(c.Frames[len(c.Frames)-1].Func)
	})
}

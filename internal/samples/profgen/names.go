package profgen

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// ambiguous reports whether most object files have a different function of this name.
// Compilers could not determine to which one the samples belong.
func ambiguous(name string) bool {
	return strings.HasPrefix(name, "__cxx_global_var_init") || strings.HasPrefix(name, "__tls_init")
}

// FunctionNames returns the names of all functions; if byLines, without those that only have
// symbols.
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

// Unambiguous returns the contexts of functions that compilers can distinguish by name. It is
// the last step of a profile with contexts: before, all of them count.
func Unambiguous(contexts []sampleprof.Context) []sampleprof.Context {
	return slices.DeleteFunc(contexts, func(c sampleprof.Context) bool {
		return ambiguous(c.Frames[len(c.Frames)-1].Func)
	})
}

// Package match finds the functions of a module for the names in a trace of another tool. The
// trace may be of another build: an instrumented one, in which other functions were inlined,
// or one with other numbers in suffixes.
package match

import (
	"path"
	"strings"

	"github.com/cairnprof/cairn/prof"
)

// Name is a function as a trace names it.
type Name struct {
	File   string // source file of a local function, if the trace has it
	Symbol string
}

// Resolver knows the functions of a module by name.
type Resolver struct {
	m *prof.Map
	// By symbol name, and by its root, which lacks the suffixes that depend on
	// the build: indexes into m.Funcs, ascending.
	exact, roots map[string][]uint32
}

// Alias is another name of the function at an address.
type Alias struct {
	Symbol string
	Addr   uint64
}

// New returns a resolver for the functions of m, by their names and by the aliases, which may
// include their names.
func New(m *prof.Map, aliases []Alias) *Resolver {
	r := &Resolver{m: m, exact: make(map[string][]uint32, len(m.Funcs)), roots: make(map[string][]uint32)}
	at := make(map[uint64]uint32, len(m.Funcs))
	for i := range m.Funcs {
		at[m.Funcs[i].Addr()] = uint32(i)
		r.add(m.Funcs[i].Name, uint32(i))
	}
	for _, a := range aliases {
		if fn, ok := at[a.Addr]; ok && m.Funcs[fn].Name != a.Symbol {
			r.add(a.Symbol, fn)
		}
	}
	return r
}

func (r *Resolver) add(name string, fn uint32) {
	r.exact[name] = append(r.exact[name], fn)
	if root := Root(name); root != name {
		r.roots[root] = append(r.roots[root], fn)
	}
}

// Root returns a symbol name without the suffixes of ThinLTO (.llvm.NUMBER) and
// -funique-internal-linkage-names (.__uniq.NUMBER). Other suffixes, such as in f.cold, name
// other code.
func Root(name string) string {
	for _, mark := range []string{".llvm.", ".__uniq."} {
		if i := strings.Index(name, mark); i > 0 && isNumber(name[i+len(mark):]) {
			name = name[:i]
		}
	}
	return name
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Result is the result for the names of a trace.
type Result struct {
	Funcs []uint32 // indexes into Map.Funcs, in the trace's order, each once
	// Unresolved are names of no function: it was inlined or renamed.
	Unresolved []string
	// Ambiguous is the number of names that several functions have. The first of them that is
	// not yet in the trace is used.
	Ambiguous int
}

// Trace resolves the names of a trace. Repeated names of one function count once; if several
// functions share a name without a file, each occurrence is the next of them.
func (r *Resolver) Trace(names []Name) Result {
	var res Result
	seen := make(map[uint32]bool, len(names))
	for _, n := range names {
		candidates := r.lookup(n)
		if len(candidates) == 0 {
			res.Unresolved = append(res.Unresolved, n.Symbol)
			continue
		}
		if len(candidates) > 1 {
			res.Ambiguous++
		}
		for _, fn := range candidates {
			if !seen[fn] {
				seen[fn] = true
				res.Funcs = append(res.Funcs, fn)
				break
			}
		}
	}
	return res
}

// lookup returns the functions that n may be.
func (r *Resolver) lookup(n Name) []uint32 {
	root := Root(n.Symbol)
	for _, list := range [][]uint32{r.exact[n.Symbol], r.roots[root], r.exact[root]} {
		if len(list) > 0 {
			return r.ofFile(list, n.File)
		}
	}
	return nil
}

// ofFile returns the functions of a source file. If there is none, all are returned, because
// symbol tables have only base names, and only for local functions.
func (r *Resolver) ofFile(list []uint32, file string) []uint32 {
	if file == "" || len(list) == 1 {
		return list
	}
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return a != "" && path.Base(a) == path.Base(b) },
	} {
		var kept []uint32
		for _, fn := range list {
			if same(r.m.Funcs[fn].File, file) {
				kept = append(kept, fn)
			}
		}
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

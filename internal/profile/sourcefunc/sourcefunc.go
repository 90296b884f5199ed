// Package sourcefunc groups the functions of a program by the function of the source that the
// compiler generated them from. It is pure.
//
// An optimiser generates variants of a function, each with its own body (f.isra.0,
// f.constprop.0), and splits parts off (f.part.0, and clang's outlined f.cold.1), which
// callers enter directly after inlining the beginning of f. Each has a record, and the source
// function is the sum of them. They are identified by name: within a source file the names are
// the compiler's.
package sourcefunc

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

var (
	variantName = lazyregexp.New(`^(.+)\.(?:isra|constprop|specialized)\.\d+$`)
	partName    = lazyregexp.New(`^(.+)\.(?:__)?part\.\d+$`)
	outlineName = lazyregexp.New(`^(.+)\.cold(?:\.\d+)?$`)
)

// kind classifies a function that a compiler generated from a source function.
type kind uint8

const (
	whole   kind = iota // it, or a variant of it
	part                // entered at most once per call of it
	outline             // entered any number of times
)

// analyse returns the name of the source function of symbol, the kind of symbol, and its name
// without the suffixes of variants: parts with the same such name are variants of one part.
func analyse(symbol string) (name string, k kind, bare string) {
	name = symbol
	for {
		if m := variantName().FindStringSubmatch(name); m != nil {
			name = m[1]
			continue
		}
		m := partName().FindStringSubmatchIndex(name)
		if m != nil {
			k = max(k, part)
		} else if m = outlineName().FindStringSubmatchIndex(name); m != nil {
			k = outline
		} else {
			return name, k, name + bare
		}
		name, bare = name[:m[3]], name[m[3]:]+bare
	}
}

// Name returns the name of the source function of symbol.
func Name(symbol string) string {
	name, _, _ := analyse(symbol)
	return name
}

// bodies are the marks of the several bodies of constructors and destructors in mangled names of the Itanium C++
// ABI. Which body runs depends on the caller.
var bodies = strings.NewReplacer("C1E", "C4E", "C2E", "C4E", "D0E", "D4E", "D1E", "D4E", "D2E", "D4E")

// OneBody returns a name that all bodies of a constructor or destructor have in common.
func OneBody(symbol string) string { return bodies.Replace(symbol) }

// Stem returns a name that a function has in common with all that compilers make of it: its bodies, and clones, parts
// and variants, whose names have a suffix after a dot.
func Stem(symbol string) string {
	if k := strings.IndexByte(symbol, '.'); k > 0 {
		symbol = symbol[:k]
	}
	return OneBody(symbol)
}

// Func is a function of the source.
type Func struct {
	Name string
	// Funcs are indexes into Map.Funcs, the function with the source function's name first if
	// there is one, then by address.
	Funcs []int
	// Split reports that parts are entered without it: its number of calls is a lower bound.
	Split bool
}

// Of returns the source functions of a map, in the order of the first function
// of each.
func Of(m *prof.Map) []Func {
	type key struct{ file, name string }
	byKey := map[key][]int{} // into out: a file can be compiled twice
	out := make([]Func, 0, len(m.Funcs))
	var rest []int
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if name := Name(f.Name); name != f.Name {
			rest = append(rest, i)
			continue
		}
		k := key{f.File, f.Name}
		byKey[k] = append(byKey[k], len(out))
		out = append(out, Func{Name: f.Name, Funcs: []int{i}})
	}
	for _, i := range rest {
		f := &m.Funcs[i]
		name, kind, _ := analyse(f.Name)
		k := key{f.File, name}
		if len(byKey[k]) == 0 {
			byKey[k] = []int{len(out)}
			out = append(out, Func{Name: name})
		}
		own := &out[nearest(m, out, byKey[k], f.Addr())]
		own.Funcs = append(own.Funcs, i)
		own.Split = own.Split || kind != whole
	}
	stablesort.Func(out, func(a, b Func) int { return a.Funcs[0] - b.Funcs[0] })
	return out
}

// nearest returns the source function in list that begins nearest to addr: functions generated
// from one function are in one object.
func nearest(m *prof.Map, funcs []Func, list []int, addr uint64) int {
	best, least := list[0], ^uint64(0)
	for _, k := range list {
		if len(funcs[k].Funcs) == 0 {
			continue
		}
		at := m.Funcs[funcs[k].Funcs[0]].Addr()
		if d := max(at, addr) - min(at, addr); d < least {
			best, least = k, d
		}
	}
	return best
}

// Counts returns the counts of f in all its code together: the runs and calls are lower
// bounds, exact unless f is Split. Blocks is nil.
func (f *Func) Counts(m *prof.Module) prof.Counts {
	if len(f.Funcs) == 1 && !f.Split {
		c := m.Counts[f.Funcs[0]]
		c.Blocks, c.Times = nil, nil
		return c
	}
	sum := prof.Counts{Unprobed: m.Raws}
	parts := map[string]uint64{}
	for _, i := range f.Funcs {
		c := &m.Counts[i]
		sum.Runs = max(sum.Runs, c.Runs)
		sum.Inexact = sum.Inexact || c.Inexact
		sum.Unprobed = min(sum.Unprobed, c.Unprobed)
		if order := c.MeanOrder(); order > 0 && (sum.OrderSum == 0 || c.OrderSum < sum.OrderSum) {
			sum.OrderSum = c.OrderSum
		}
		switch _, kind, bare := analyse(m.Funcs[i].Name); kind {
		case whole:
			sum.Calls = saturate.Add(sum.Calls, c.Calls)
		case part:
			parts[bare] = saturate.Add(parts[bare], c.Calls)
		}
	}
	// A call of f enters each part at most once.
	for _, calls := range parts {
		sum.Calls = max(sum.Calls, calls)
	}
	return sum
}

// Ran reports whether any code of f did.
func (f *Func) Ran(m *prof.Module) bool {
	return slices.ContainsFunc(f.Funcs, func(i int) bool { return m.Counts[i].Runs > 0 })
}

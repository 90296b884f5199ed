// Package profdiff compares two profiles, function by function. It is pure.
//
// Functions of the same build (equal build id) are matched by record. Modules of different
// builds are matched by module name, their functions by symbol name and source file; if a
// module has several such functions, they are matched in order of address. If signatures
// differ, the control flow of the function has changed: its blocks cannot be compared, its
// runs and calls can.
package profdiff

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Side is one profile's half of a function.
type Side struct {
	Func   *prof.Func // nil if that profile has no such function
	Counts *prof.Counts
	Raws   uint64 // raw files that recorded the function
}

// Ran reports whether the function ran.
func (s *Side) Ran() bool { return s.Func != nil && s.Counts.Runs > 0 }

// CallsPerRun returns the mean number of calls in a run, 0 if unknown.
func (s *Side) CallsPerRun() float64 {
	if s.Func == nil || s.Raws == 0 {
		return 0
	}
	return float64(s.Counts.Calls) / float64(s.Raws)
}

// Inexact reports whether there may have been more calls than were counted.
func (s *Side) Inexact() bool { return s.Func != nil && s.Counts.Inexact }

// Func is a function of either profile.
type Func struct {
	Module, Name, File string
	A, B               Side
	Changed            bool  // in both, with different signatures
	Lost, Gained       []int // blocks that ran only in A, only in B; nil if Changed
}

// Delta returns by how much the calls per run grew from A to B.
func (f *Func) Delta() float64 { return f.B.CallsPerRun() - f.A.CallsPerRun() }

// Result has the differences, each list in the order of the modules' names and then of the
// functions' addresses, except for Moved.
type Result struct {
	OnlyA  []Func // ran in A, not in B, which has them too
	OnlyB  []Func // ran in B, not in A, which has them too
	Gone   []Func // ran in A; B has no such function
	New    []Func // ran in B; A has no such function
	Blocks []Func // ran in both, in different blocks
	Moved  []Func // counted in both, with different calls per run: by size of change
	Both   int    // functions that ran in both
	Same   int    // of these, the ones in no list above
}

// Missing reports whether B misses anything that A covered and B has: a
// function, or a block of an unchanged one.
func (r *Result) Missing() bool {
	return len(r.OnlyA) > 0 || slices.ContainsFunc(r.Blocks, func(f Func) bool { return len(f.Lost) > 0 })
}

// Profiles compares a with b.
func Profiles(a, b *prof.Profile) *Result {
	r := &Result{}
	for _, pair := range pairModules(a, b) {
		for _, f := range pairFuncs(pair[0], pair[1]) {
			r.sort(f)
		}
	}
	stablesort.Func(r.Moved, func(x, y Func) int {
		dx, dy := x.Delta(), y.Delta()
		return cmp.Or(cmp.Compare(max(dy, -dy), max(dx, -dx)), cmp.Compare(x.Name, y.Name))
	})
	return r
}

// sort puts f into the lists it belongs to.
func (r *Result) sort(f Func) {
	ranA, ranB := f.A.Ran(), f.B.Ran()
	switch {
	case ranA && f.B.Func == nil:
		r.Gone = append(r.Gone, f)
	case ranB && f.A.Func == nil:
		r.New = append(r.New, f)
	case ranA && !ranB:
		r.OnlyA = append(r.OnlyA, f)
	case ranB && !ranA:
		r.OnlyB = append(r.OnlyB, f)
	}
	if !ranA || !ranB {
		return
	}
	r.Both++
	same := true
	if len(f.Lost)+len(f.Gained) > 0 {
		r.Blocks, same = append(r.Blocks, f), false
	}
	if f.A.Func.Mode.HasCalls() && f.B.Func.Mode.HasCalls() && f.Delta() != 0 {
		r.Moved, same = append(r.Moved, f), false
	}
	if same {
		r.Same++
	}
}

// pairModules matches modules by build id, and the rest by name. A module without a match is
// paired with nil.
func pairModules(a, b *prof.Profile) [][2]*prof.Module {
	usedB := make([]bool, len(b.Modules))
	match := func(same func(*prof.Module) bool) *prof.Module {
		for k := range b.Modules {
			if m := &b.Modules[k]; !usedB[k] && same(m) {
				usedB[k] = true
				return m
			}
		}
		return nil
	}
	pairs := make([][2]*prof.Module, 0, len(a.Modules))
	for i := range a.Modules {
		m := &a.Modules[i]
		pairs = append(pairs, [2]*prof.Module{m, match(func(n *prof.Module) bool { return n.BuildID == m.BuildID })})
	}
	for i := range pairs {
		if m := pairs[i][0]; pairs[i][1] == nil {
			pairs[i][1] = match(func(n *prof.Module) bool { return n.Module == m.Module })
		}
	}
	for k := range b.Modules {
		if !usedB[k] {
			pairs = append(pairs, [2]*prof.Module{nil, &b.Modules[k]})
		}
	}
	return pairs
}

// key identifies a function across builds, or within one.
type key struct {
	name, file string
	nth        int    // among those with the same name and file
	record     uint64 // instead of the above within a build
}

// pairFuncs matches the functions of two modules, either of which may be nil: those of a in
// order, then those that only b has.
func pairFuncs(a, b *prof.Module) []Func {
	sameBuild := a != nil && b != nil && a.BuildID == b.BuildID
	inB := map[key]int{}
	for i, k := range keys(b, sameBuild) {
		inB[k] = i
	}
	used := map[int]bool{}
	var funcs []Func
	for i, k := range keys(a, sameBuild) {
		f := Func{Module: a.Module, Name: a.Funcs[i].Name, File: a.Funcs[i].File, A: side(a, i)}
		if j, ok := inB[k]; ok {
			used[j] = true
			f.B = side(b, j)
			f.compareBlocks()
		}
		funcs = append(funcs, f)
	}
	if b != nil {
		for j := range b.Funcs {
			if !used[j] {
				funcs = append(funcs, Func{Module: b.Module, Name: b.Funcs[j].Name, File: b.Funcs[j].File, B: side(b, j)})
			}
		}
	}
	return funcs
}

func side(m *prof.Module, i int) Side { return Side{&m.Funcs[i], &m.Counts[i], m.RunsOf(&m.Counts[i])} }

// keys returns the keys of the functions of m, in their order.
func keys(m *prof.Module, sameBuild bool) []key {
	if m == nil {
		return nil
	}
	ks := make([]key, len(m.Funcs))
	seen := map[key]int{}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if sameBuild {
			ks[i] = key{record: f.Record}
			continue
		}
		k := key{name: f.Name, file: f.File}
		n := seen[k]
		seen[k]++
		k.nth = n
		ks[i] = k
	}
	return ks
}

// compareBlocks fills in Changed, Lost and Gained of a function with two sides.
func (f *Func) compareBlocks() {
	if f.A.Func.Signature != f.B.Func.Signature {
		f.Changed = true
		return
	}
	if !f.A.Func.Mode.HasBlocks() || !f.B.Func.Mode.HasBlocks() {
		return
	}
	for i := 1; i < min(f.A.Func.NumBlocks(), f.B.Func.NumBlocks()); i++ {
		a, b := f.A.Counts.Covered(i), f.B.Counts.Covered(i)
		switch {
		case a && !b:
			f.Lost = append(f.Lost, i)
		case b && !a:
			f.Gained = append(f.Gained, i)
		}
	}
}

// Package statements counts the statements of Go programs that ran, in the units of go tool cover. It is pure.
package statements

import (
	"github.com/cairnprof/cairn/format/coverprofile"
	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// Module is a module with its statements.
type Module struct {
	*prof.Module
	Table *golines.Table
}

// Profile is how often statements ran.
type Profile struct {
	Mode coverprofile.Mode
	Rows []coverprofile.Row
	// Unrecorded is the number of statements that are in no row: their functions ran, in a mode that does not
	// record blocks, and Unprobed that of functions without a probe.
	Unrecorded, Unprobed int
}

// state is what is known of a unit.
type state struct {
	count                uint64
	unrecorded, unprobed bool // in some module, so that a count of 0 does not mean that it did not run
}

// Of returns the profile of the units of modules that are in files which keep accepts, by the names that their
// lines have. A unit that is in several modules ran if it did in one of them.
func Of(modules []Module, keep func(file string) bool) *Profile {
	p := &Profile{Mode: coverprofile.Count}
	units := map[coverprofile.Unit]state{}
	for i := range modules {
		m := &modules[i]
		for k := range m.Funcs {
			if !m.Funcs[k].Mode.HasCalls() {
				p.Mode = coverprofile.Set
			}
		}
		m.add(units, keep)
	}
	for u, s := range units {
		switch {
		case s.count > 0 || !s.unrecorded && !s.unprobed:
			p.Rows = append(p.Rows, coverprofile.Row{Unit: u, Count: s.count})
		case s.unrecorded:
			p.Unrecorded += u.Statements
		default:
			p.Unprobed += u.Statements
		}
	}
	return p
}

// add adds the units of a module.
func (m *Module) add(units map[coverprofile.Unit]state, keep func(string) bool) {
	byAddr := make(map[uint64]int, len(m.Funcs))
	for i := range m.Funcs {
		byAddr[m.Funcs[i].Addr()] = i
	}
	for i := range m.Table.Funcs {
		f := &m.Table.Funcs[i]
		if !keep(f.File) {
			continue
		}
		name := f.File
		if as, ok := m.Table.Profile[f.File]; ok {
			name = as
		}
		count := m.counter(f, byAddr)
		for _, u := range f.Units {
			key := coverprofile.Unit{File: name, FromLine: u.FromLine, FromColumn: u.FromColumn, ToLine: u.ToLine, ToColumn: u.ToColumn, Statements: u.Statements}
			old, now := units[key], count(u.Block)
			units[key] = state{saturate.Add(old.count, now.count), old.unrecorded || now.unrecorded, old.unprobed || now.unprobed}
		}
	}
}

// counter returns what is known of the units of a function, by their blocks.
func (m *Module) counter(f *golines.Func, byAddr map[uint64]int) func(block int) state {
	i, ok := byAddr[f.Addr]
	switch {
	case f.Unprobed:
		return func(int) state { return state{unprobed: true} }
	case !ok || f.Addr == 0: // the linker dropped it
		return func(int) state { return state{} }
	}
	fn, c := &m.Funcs[i], &m.Counts[i]
	return func(block int) state {
		switch {
		case c.Runs == 0 && m.Raws > 0 && m.RunsOf(c) == 0:
			return state{unprobed: true} // in all builds of the module that ran
		case c.Runs == 0:
			return state{}
		case block == golines.NoBlock:
			return state{unrecorded: true}
		case block == 0 && fn.Mode.HasCalls():
			return state{count: max(c.Calls, 1)}
		case c.Covered(block):
			return state{count: 1}
		}
		return state{}
	}
}

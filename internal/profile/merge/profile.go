package merge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// ErrConflict reports different maps of one build in a merge.
var ErrConflict = errors.New("same build id, but a different map")

// ErrHeld is the error of a merge of a profile whose runs are all included already.
var ErrHeld = errors.New("all of its runs are already in the profile")

// ErrPartly is in the error of a merge of profiles that share some runs while neither includes all of the
// other's: their sums cannot be separated.
var ErrPartly = errors.New("only some of its runs are already in the profile")

// ErrMachine is in the error of a merge of profiles for different machines.
var ErrMachine = errors.New("a profile is for one machine")

// Modules adds the sums of b to a, saturating. Both must have the same build id and the same
// map; module names may differ, as binaries are copied, and the first in the alphabet is used.
// If there is an error, nothing has changed.
func Modules(a, b *prof.Module) error {
	if err := compatible(a, b); err != nil {
		return err
	}
	a.Module = min(a.Module, b.Module)
	a.Machine = max(a.Machine, b.Machine) // one of them may be unknown
	a.Absent = absent.Join(a.Absent, b.Absent)
	a.Raws = saturate.Add(a.Raws, b.Raws)
	for i := range a.Counts {
		addCounts(&a.Counts[i], &b.Counts[i])
	}
	joinTraces(a, b)
	a.Held = joinRuns(&a.Held, &b.Held)
	return nil
}

// Profiles adds src to dst: modules of the same build are summed, others are added. If there
// is an error, nothing has changed.
func Profiles(dst, src *prof.Profile) error {
	if err := sameMachine(dst, src); err != nil {
		return err
	}
	index := make(map[prof.BuildID]int, len(dst.Modules))
	for i := range dst.Modules {
		index[dst.Modules[i].BuildID] = i
	}
	for i := range src.Modules {
		m := &src.Modules[i]
		if k, ok := index[m.BuildID]; ok {
			if err := compatible(&dst.Modules[k], m); err != nil {
				return err
			}
		}
	}
	for i := range src.Modules {
		m := &src.Modules[i]
		if k, ok := index[m.BuildID]; ok {
			if err := Modules(&dst.Modules[k], m); err != nil {
				return err
			}
			continue
		}
		index[m.BuildID] = len(dst.Modules)
		dst.Modules = append(dst.Modules, clone(m))
	}
	stablesort.Func(dst.Modules, func(a, b prof.Module) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.BuildID, b.BuildID))
	})
	return nil
}

// Join adds src to dst as Profiles does, but no run twice. A module whose runs are all included already adds
// nothing, and one that includes all existing runs and others replaces the module. On error nothing has
// changed.
func Join(dst, src *prof.Profile) error {
	if err := sameMachine(dst, src); err != nil {
		return err
	}
	index := make(map[prof.BuildID]*prof.Module, len(dst.Modules))
	for i := range dst.Modules {
		index[dst.Modules[i].BuildID] = &dst.Modules[i]
	}
	rest := new(prof.Profile)
	held := false
	for i := range src.Modules {
		m := &src.Modules[i]
		have := index[m.BuildID]
		if have == nil {
			rest.Modules = append(rest.Modules, *m)
			continue
		}
		if err := compatible(have, m); err != nil {
			return err
		}
		switch Compare(have, m) {
		case Apart:
			rest.Modules = append(rest.Modules, *m)
		case Within:
			held = true
		case Around:
			rest.Modules = append(rest.Modules, *m)
		case Partly:
			return fmt.Errorf("%s (%s): %w", m.Module, m.BuildID.Short(), ErrPartly)
		}
	}
	if held && len(rest.Modules) == 0 {
		return ErrHeld
	}
	for i := range rest.Modules {
		if have := index[rest.Modules[i].BuildID]; have != nil && Compare(have, &rest.Modules[i]) == Around {
			*have = empty(have)
		}
	}
	return Profiles(dst, rest)
}

// empty returns m without its runs.
func empty(m *prof.Module) prof.Module {
	e := NewAccumulator(NewLayout(&m.Map), 0).Module()
	e.Module = m.Module
	return e
}

// clone returns a copy of m with its own counts.
func clone(m *prof.Module) prof.Module {
	c := *m
	c.Traces = slices.Clone(m.Traces)
	c.Held.IDs = slices.Clone(m.Held.IDs)
	c.Counts = slices.Clone(m.Counts)
	for i := range c.Counts {
		c.Counts[i].Blocks = slices.Clone(c.Counts[i].Blocks)
		c.Counts[i].Times = slices.Clone(c.Counts[i].Times)
		c.Counts[i].Callers = slices.Clone(c.Counts[i].Callers)
	}
	return c
}

func compatible(a, b *prof.Module) error {
	if a.BuildID != b.BuildID {
		return fmt.Errorf("%s (%s) and %s (%s) are different builds", a.Module, a.BuildID, b.Module, b.BuildID)
	}
	if len(a.Counts) != len(b.Counts) || !sameMap(&a.Map, &b.Map) {
		return fmt.Errorf("%s (%s): %w", b.Module, b.BuildID, ErrConflict)
	}
	return nil
}

// sameMachine returns an error if src is for another machine than dst. Profiles of earlier
// versions do not contain the machine.
func sameMachine(dst, src *prof.Profile) error {
	if a, b := dst.Machine(), src.Machine(); a != b && a != "" && b != "" {
		return fmt.Errorf("it is for %s, and the files before it are for %s: %w", b, a, ErrMachine)
	}
	return nil
}

func sameMap(a, b *prof.Map) bool {
	if a.RawAddr != b.RawAddr || a.RawSize != b.RawSize || len(a.Funcs) != len(b.Funcs) {
		return false
	}
	if len(a.Funcs) == 0 || &a.Funcs[0] == &b.Funcs[0] {
		return true
	}
	return slices.EqualFunc(a.Funcs, b.Funcs, func(f, g prof.Func) bool {
		return f.Name == g.Name && f.File == g.File && f.Mode == g.Mode && f.Atomic == g.Atomic &&
			f.Signature == g.Signature && f.Record == g.Record &&
			slices.Equal(f.Calls, g.Calls) &&
			slices.EqualFunc(f.Implied, g.Implied, func(p, q prof.Implied) bool {
				return p.Block == q.Block && slices.Equal(p.By, q.By)
			}) &&
			slices.EqualFunc(f.Flow, g.Flow, func(p, q prof.Flow) bool {
				return p.Entered == q.Entered && p.Leaves == q.Leaves && slices.Equal(p.Next, q.Next)
			}) &&
			slices.EqualFunc(f.Fragments, g.Fragments, func(p, q prof.Fragment) bool {
				return p.Addr == q.Addr && p.Size == q.Size && slices.Equal(p.Blocks, q.Blocks)
			})
	})
}

func addCounts(a, b *prof.Counts) {
	a.Runs = saturate.Add(a.Runs, b.Runs)
	a.Calls = saturate.Add(a.Calls, b.Calls)
	a.OrderSum = saturate.Add(a.OrderSum, b.OrderSum)
	a.Inexact = a.Inexact || b.Inexact
	a.Unprobed = saturate.Add(a.Unprobed, b.Unprobed)
	for i := range a.Blocks {
		a.Blocks[i] = saturate.Add(a.Blocks[i], b.Blocks[i])
	}
	for i := range a.Times {
		a.Times[i] = saturate.Add(a.Times[i], b.Times[i])
	}
	a.Callers = joinSites(append(a.Callers, b.Callers...))
}

// joinSites sorts sites and merges equal ones.
func joinSites(sites []prof.Site) []prof.Site {
	if len(sites) < 2 {
		return sites
	}
	stablesort.Func(sites, func(a, b prof.Site) int { return cmp.Compare(a.Addr, b.Addr) })
	joined := sites[:0]
	for _, s := range sites {
		if last := len(joined) - 1; last >= 0 && joined[last].Addr == s.Addr {
			joined[last].Runs = saturate.Add(joined[last].Runs, s.Runs)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

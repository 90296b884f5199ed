package tailcall

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: ways to a function need the jumps to computed addresses of all code, which takes a tenth of a recording's time to
// disassemble. Virtual calls whose object may be of any class ask for them.
//
// Choice: two paths are enough to know that there are several, and a call that begins with few functions, whose jumps lead to
// few, has all its paths in these. All code is read where neither holds.

// maxForward is the number of functions from which searches forward begin, at most.
const maxForward = 256

// hops are jumps to computed addresses.
type hops struct {
	of map[function][]hop
	by map[target][]function // functions that contain a jump
}

func newHops() hops { return hops{map[function][]hop{}, map[target][]function{}} }

func (h *hops) add(f function, x hop) {
	h.of[f] = append(h.of[f], x)
	h.by[x.to] = append(h.by[x.to], f)
}

// hopsOf returns the jumps of a function to computed addresses, without those of switch statements.
func (w *world) hopsOf(f function) []hop {
	list, ok := w.hops[f]
	if ok {
		return list
	}
	code := w.graph.code
	for _, p := range w.graph.pieces[f] {
		b := code.Binaries()[p.binary]
		code.Read(b, p.rng)
		for at, end := b.From(p.rng.Lo), b.From(p.rng.Hi); at < end; at++ {
			if code.Class(at) != controlflow.IndirectJump || code.OfSwitch(at) || w.graph.function(at) != f {
				continue
			}
			if to := w.targetOf(at); to.source != machinecode.FromCases {
				list = append(list, hop{at, to})
			}
		}
	}
	w.hops[f] = list
	return list
}

// several reports whether there are two paths from some functions to another one. If not, there may be more all the same.
func (w *world) several(callees []function, to function) bool {
	reach := w.known.reaching(to).reach
	found := 0
	for _, f := range callees {
		if reach.has(f) {
			found++
		}
	}
	least := found // without hops
	// With one hop.
	leads := map[target]bool{}
	for _, f := range callees {
		if found > 1 {
			return true
		}
		for _, h := range w.hopsOf(f) {
			if w.leadsTo(leads, h.to, reach) {
				found++
			}
		}
	}
	if found != 1 || least > 0 {
		return found > 1 // paths of two hops may be too long: they count beside one of one hop only
	}
	met := map[target]bool{}
	for _, f := range callees {
		for _, first := range w.hopsOf(f) {
			if met[first.to] {
				continue
			}
			met[first.to] = true
			for _, m := range w.members(first.to) {
				for _, second := range w.hopsOf(m) {
					if w.leadsTo(leads, second.to, reach) {
						return true
					}
				}
			}
		}
	}
	return false
}

// leadsTo reports whether one of the functions that a pointer may refer to is in a set. Known has earlier results.
func (w *world) leadsTo(known map[target]bool, t target, reach functionSet) bool {
	found, ok := known[t]
	if !ok {
		found = slices.ContainsFunc(w.members(t), reach.has)
		known[t] = found
	}
	return found
}

// forward returns the ways to a function that have all paths from some functions. It is nil if these are not few, or if the
// answer depends on code that was not read.
func (w *world) forward(callees []function, to function) *ways {
	found := newHops()
	for range maxHops + 1 {
		if len(callees) > maxForward {
			return nil
		}
		for _, f := range callees {
			w.graph.wantFrom(f)
		}
		if w.graph.lacks() {
			return nil
		}
		callees = w.jumped(callees, &found)
	}
	return w.newWays(to, found)
}

// jumped adds the jumps of some functions, and of those that tail calls lead to from there. It returns where these may lead.
func (w *world) jumped(from []function, to *hops) (next []function) {
	met := map[function]bool{}
	for _, f := range from {
		for _, r := range w.known.edges.reached(f) {
			if met[r] {
				continue
			}
			met[r] = true
			_, known := to.of[r]
			for _, h := range w.hopsOf(r) {
				if !known {
					to.add(r, h)
				}
				next = append(next, w.members(h.to)...)
			}
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}

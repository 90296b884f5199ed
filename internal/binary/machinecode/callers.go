package machinecode

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// FunctionOf identifies a function of a Set.
type FunctionOf struct {
	Binary   *Binary
	Function int // index in its Functions
}

// Callers are the direct calls and tail calls of the functions of a set.
type Callers struct {
	set   *Set
	calls map[FunctionOf][]Ref        // by the function that is called, or jumped to after the call, ascending
	tails map[FunctionOf][]FunctionOf // functions that a function jumps to
	open  map[FunctionOf]bool         // functions with other callers: pointers to them, or other modules
}

// Callers returns the calls of functions. They are found when they are first needed.
func (s *Set) Callers() *Callers {
	s.callersOnce.Do(func() { s.callers = s.findCallers() })
	return s.callers
}

func (s *Set) findCallers() *Callers {
	c := &Callers{set: s, calls: map[FunctionOf][]Ref{}, tails: map[FunctionOf][]FunctionOf{}, open: map[FunctionOf]bool{}}
	for _, b := range s.binaries {
		s.ReadAll(b)
	}
	for i, sh := range s.shapes {
		if sh.class() != controlflow.Call {
			continue
		}
		r := firstRef + Ref(i)
		if to, ok := c.target(r); ok {
			c.calls[to] = append(c.calls[to], r)
		}
	}
	for _, r := range s.leaving {
		from, ok1 := s.FunctionOf(r)
		to, ok2 := c.target(r)
		if ok1 && ok2 && from != to && !slices.Contains(c.tails[from], to) {
			c.tails[from] = append(c.tails[from], to)
		}
	}
	for _, b := range s.binaries {
		opens := func(addr uint64) {
			if in := b.RangeAt(addr); in != nil {
				c.open[FunctionOf{b, in.Function}] = true
			}
		}
		for _, p := range b.pointers {
			opens(p.To)
		}
		for _, addr := range b.exports {
			opens(addr)
		}
		for _, addr := range b.Taken() {
			opens(addr)
		}
	}
	c.followTails()
	return c
}

// followTails adds the calls of functions that jump to another one to those of the latter: they
// are what its frame follows on a stack.
func (c *Callers) followTails() {
	jumpers := map[FunctionOf][]FunctionOf{}
	for from, to := range c.tails {
		for _, f := range to {
			jumpers[f] = append(jumpers[f], from)
		}
	}
	calls, open := map[FunctionOf][]Ref{}, map[FunctionOf]bool{}
	for f := range jumpers {
		all := reached(f, jumpers)
		for _, x := range all {
			calls[f] = append(calls[f], c.calls[x]...)
			open[f] = open[f] || c.open[x]
		}
		open[f] = open[f] || len(all) == maxReached
		slices.Sort(calls[f])
	}
	for f := range jumpers {
		c.calls[f], c.open[f] = slices.Compact(calls[f]), open[f]
	}
}

// maxReached is the maximum number of functions that are followed from one.
const maxReached = 64

// reached returns a function, and those that edges lead to from it.
func reached(from FunctionOf, edges map[FunctionOf][]FunctionOf) []FunctionOf {
	out := []FunctionOf{from}
	for i := 0; i < len(out); i++ {
		for _, to := range edges[out[i]] {
			if len(out) < maxReached && !slices.Contains(out, to) {
				out = append(out, to)
			}
		}
	}
	return out
}

// target returns the function that a direct branch enters.
func (c *Callers) target(r Ref) (FunctionOf, bool) {
	addr, ok := c.set.Target(r)
	if !ok {
		return FunctionOf{}, false
	}
	b := c.set.Binary(r)
	in := b.RangeAt(addr)
	if in == nil {
		return FunctionOf{}, false
	}
	return FunctionOf{b, in.Function}, true
}

// FunctionOf returns the function of an instruction, and whether there is one.
func (s *Set) FunctionOf(r Ref) (FunctionOf, bool) {
	b := s.Binary(r)
	if b == nil {
		return FunctionOf{}, false
	}
	in := b.RangeAt(s.Address(r))
	if in == nil {
		return FunctionOf{}, false
	}
	return FunctionOf{b, in.Function}, true
}

// Of returns the direct calls of a function and of those that jump to it, ascending, and whether
// there can be no others.
func (c *Callers) Of(f FunctionOf) (calls []Ref, all bool) { return c.calls[f], !c.open[f] }

// Called returns the functions that may run in the frame of a call: the one that it calls, and
// those that this one jumps to. It is nil if that is not known.
func (c *Callers) Called(call Ref) []FunctionOf {
	if c.set.Class(call) != controlflow.Call {
		return nil
	}
	first, ok := c.target(call)
	if !ok {
		return nil
	}
	if addr, _ := c.set.Target(call); first.Binary.InStub(addr) {
		return nil // it leads to another module
	}
	return reached(first, c.tails)
}

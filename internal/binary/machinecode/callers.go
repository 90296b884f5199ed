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
	calls map[FunctionOf][]Ref        // by the function that is called, ascending
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
	return c
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

// Of returns the direct calls of a function, ascending, and whether there can be no others.
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
	const most = 64
	out := []FunctionOf{first}
	for i := 0; i < len(out) && len(out) < most; i++ {
		for _, to := range c.tails[out[i]] {
			if !slices.Contains(out, to) {
				out = append(out, to)
			}
		}
	}
	return out
}

package tailcall

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: a query is made for every frame of every stack, and between nearly all frames
// nothing is missing: a call of a function is followed by a frame of that function.
//
// Choice: if no chain of tail calls leads from that function back to itself, nothing can be
// missing. The result is cached for each instruction that occurs on stacks, so that the
// check costs little.

// site is an instruction on a stack.
type site struct {
	in    function // that contains it
	calls function // that it calls directly, or none
}

func (f *Full) site(at machinecode.Ref) site {
	s, ok := f.sites[at]
	if !ok {
		s = site{in: f.graph.function(at), calls: none}
		if f.graph.code.Class(at) == controlflow.Call {
			s.calls = f.graph.target(at)
		}
		f.sites[at] = s
	}
	return s
}

// function returns the function that contains an instruction on stacks.
func (f *Full) function(at machinecode.Ref) function { return f.site(at).in }

// certain reports whether no frame can be missing between a call and the next entry of a
// stack.
func (f *Full) certain(call, next machinecode.Ref) bool {
	to := f.site(call).calls
	return to != none && !f.all.again[to] && to == f.site(next).in
}

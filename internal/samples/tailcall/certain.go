package tailcall

import "github.com/cairnprof/cairn/internal/binary/controlflow"

import "github.com/cairnprof/cairn/internal/binary/machinecode"

// Problem: stacks are asked about frame by frame, and between nearly all frames
// nothing is missing: a call of one function is followed by a frame of it.
//
// Choice: where no tail calls lead from that function back to it, nothing else can be
// the answer. What is known of each instruction on stacks is remembered, so that this
// costs little.

// site is an instruction on a stack.
type site struct {
	in function // that has it
	// calls is the function that it calls, if it is of one, and if that cannot come
	// back to itself by tail calls; else none.
	calls function
}

func (f *Full) site(at machinecode.Ref) site {
	s, ok := f.sites[at]
	if !ok {
		s = site{in: f.graph.function(at), calls: none}
		if f.graph.code.Class(at) == controlflow.Call {
			if to := f.graph.target(at); to != none && !f.all.again[to] {
				s.calls = to
			}
		}
		f.sites[at] = s
	}
	return s
}

// certain reports whether nothing can be missing between a call and what a stack has
// next.
func (f *Full) certain(call, next machinecode.Ref) bool {
	to := f.site(call).calls
	return to != none && to == f.site(next).in
}

package unwind

import "slices"

// Problem: in the prologue and the epilogue of a function, and at a tail jump, the frame
// pointer is the caller's, so that a stack of frame pointers has the caller's caller next.
// But stacks that were recorded otherwise may be whole there.
//
// Choice: the branches are undone to the call of the function. If that is not next on the
// stack, it is put there. Where the branches do not reach back so far, the stack is believed if
// the call that is next on it is a direct one of this very function. What is not seen is
// recursion: of a function that calls itself from one place a frame can be too few.

// complete makes a stack whole, and reports whether it is known to be.
func (u *Unwinder) complete() bool {
	call, ok := u.opener()
	switch {
	case !ok:
		return u.callsLeaf()
	case len(u.stack) > 1 && u.stack[1] == call, len(u.stack) == 1 && call == external:
	default:
		u.stack = slices.Insert(u.stack, 1, call)
		u.stats.Recovered += u.count
	}
	return true
}

// opener returns the call of the function that was sampled, if the branches have it.
func (u *Unwinder) opener() (call ref, ok bool) {
	end, inner := u.stack[0], 0
	for i := range u.taken {
		t := &u.taken[i]
		if !u.runs(t.to, end) {
			break
		}
		switch t.does {
		case calls:
			if inner == 0 {
				return t.from, true
			}
			inner--
		case returns:
			inner++
		}
		end = t.from
	}
	return 0, false
}

// callsLeaf reports whether the innermost call is a direct one of the function that was
// sampled.
func (u *Unwinder) callsLeaf() bool {
	if len(u.stack) < 2 || u.stack[1] == external {
		return false
	}
	b := u.code.Binary(u.stack[1])
	target, ok := u.code.Target(u.stack[1])
	if !ok || b != u.code.Binary(u.stack[0]) {
		return false
	}
	called, leaf := b.RangeAt(target), b.RangeAt(u.code.Address(u.stack[0]))
	return called != nil && leaf != nil && called.Function == leaf.Function
}

package unwind

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: where a function has no frame, in its prologue and epilogue, at a tail jump, and in
// functions without frames, the frame pointer is the caller's, so a walk of frame pointers
// continues with the caller's caller. But stacks that were recorded by other means are
// complete there.
//
// Choice: the unwind table shows where there is no frame, and the source whether its stacks
// are complete. The branches are reversed up to the call of the function, which is pushed on
// the stack. If the same call is already at the top of the stack, it is not pushed again,
// unless the call may also have created the caller: if a function calls itself, or is called
// through a pointer.
//
// Without a table, there is no frame where LLVM assumes it. If the branches do not reach back
// to the call, the stack is accepted there if the call at its top is a direct call of this
// function.

// complete completes a stack, and reports whether it is known to be complete.
func (u *Unwinder) complete() bool {
	if u.whole {
		return true
	}
	leaf := u.stack[0]
	frame := u.code.Frame(leaf)
	if frame == machinecode.FrameOwn {
		return true
	}
	departs := u.code.Departs(leaf)
	if frame == machinecode.FrameUnknown && !departs && !u.code.Dubious(leaf) {
		return true
	}
	call, ok := u.opener()
	switch {
	case !ok && frame == machinecode.FrameUnknown && u.callsLeaf():
	case !ok && u.opt.Moments:
		u.repair(0)
	case !ok && departs:
		u.stats.Departing += u.count
		return false
	case !ok:
		u.stats.NoFrame += u.count
		return false
	case len(u.stack) == 1 && call == external:
	case len(u.stack) > 1 && u.stack[1] == call && !(frame == machinecode.FrameCaller && u.again(call)):
		if frame == machinecode.FrameCaller {
			u.stats.Complete += u.count
		}
	default:
		u.stack = slices.Insert(u.stack, 1, call)
		u.mended = recovered
	}
	return true
}

// lacksFrame reports whether the frame pointer at an instruction is the caller's.
func (u *Unwinder) lacksFrame(at ref) bool {
	return u.code.Frame(at) == machinecode.FrameCaller || u.code.Departs(at)
}

// again reports whether a call that called the sampled function may also have called the
// caller: it calls its own function, or an unknown one.
func (u *Unwinder) again(call ref) bool {
	return u.code.Class(call) != controlflow.Call || u.code.SameFunction(call, u.stack[0])
}

// opener returns the call of the sampled function, if it is among the branches.
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

// callsLeaf reports whether the innermost call is a direct call of the sampled function.
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

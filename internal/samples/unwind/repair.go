package unwind

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Problem: compilers leave out the frames of functions that call nothing, whatever they are
// told. A walk of frame pointers from such a function misses its caller. If the branches do
// not show that caller, most samples of a program may lack it.
//
// Choice: the frame that the walk found first belongs to the function that the call after it
// on the stack called, or to one that this function jumped to. If that function calls the
// sampled one, it is the caller. Where the call is through a pointer or from another module,
// the caller is the only function with calls of the sampled one, if nothing takes its address.
// Callers without a frame of their own are found the same way. Otherwise the stack gets a
// mark that frames are missing: everything further out is still true.

// maxRepaired is the maximum number of callers without frames.
const maxRepaired = 8

// repair completes a stack whose frame at index k has no frame.
func (u *Unwinder) repair(k int) {
	if k+1 == len(u.stack) && !u.beyond {
		u.stats.Bare += u.count
		return // nothing is known of its callers
	}
	at, added := u.stack[k], u.added[:0]
	var frames []machinecode.FunctionOf // that the first frame may belong to; nil if not known
	if k+1 < len(u.stack) {
		frames = u.code.Callers().Called(u.stack[k+1])
	}
	gap := true
	for range maxRepaired {
		call, found := u.caller(at, frames)
		if !found {
			break
		}
		if call == machinecode.None { // nothing is missing
			gap = false
			break
		}
		added = append(added, u.shown(call, at))
		if u.code.Frame(call) != machinecode.FrameCaller {
			in, _ := u.code.FunctionOf(call)
			gap = frames != nil && !slices.Contains(frames, in)
			break
		}
		at = call
	}
	switch {
	case gap:
		added = append(added, machinecode.Missing)
		u.mended = withGap
	case len(added) > 0:
		u.mended = repaired
	default:
		u.stats.Complete += u.count
	}
	u.stack = slices.Insert(u.stack, k+1, added...)
	u.added = added
}

// shown returns how a caller that was found by a call is on the stack: by that call if it is
// the only one of its function, else by an instruction at its beginning, as it is not known
// which call was made.
func (u *Unwinder) shown(call, at ref) ref {
	in, _ := u.code.FunctionOf(call)
	of, _ := u.code.FunctionOf(at)
	calls, _ := u.code.Callers().Of(of)
	sites := 0
	for _, c := range calls {
		if f, ok := u.code.FunctionOf(c); ok && f == in {
			sites++
		}
	}
	if sites == 1 {
		return call
	}
	if b, r := in.Binary, u.code.Binary(call).RangeAt(u.code.Address(call)); r != nil {
		for at, most := b.From(r.Lo), 0; at < call && most < maxRepaired; at, most = at+1, most+1 {
			if class := u.code.Class(at); class == controlflow.Other || class >= controlflow.Nop {
				return at
			}
		}
	}
	return call
}

// caller returns the call of the function of an instruction where the frame pointer is that of
// one of some functions, or of any if frames is nil. It is None if the stack already has it.
func (u *Unwinder) caller(at ref, frames []machinecode.FunctionOf) (call ref, found bool) {
	callers := u.code.Callers()
	of, ok := u.code.FunctionOf(at)
	if !ok {
		return machinecode.None, false
	}
	calls, all := callers.Of(of)
	var direct, frameless ref // a call by a function of frames; by one without a frame
	one, others := machinecode.FunctionOf{}, false
	for _, c := range calls {
		in, ok := u.code.FunctionOf(c)
		if !ok {
			all = false
			continue
		}
		switch {
		case u.code.Frame(c) == machinecode.FrameCaller:
			if in == of {
				continue // it called itself: its own caller comes before
			}
			frameless = c
		case frames != nil && !slices.Contains(frames, in):
			continue
		case direct == machinecode.None:
			direct = c
		}
		others = others || one.Binary != nil && one != in
		one = in
	}
	switch {
	case others: // several functions
		return machinecode.None, false
	case direct != machinecode.None && (frames != nil || all):
		return direct, true
	case frameless != machinecode.None && all:
		return frameless, true
	case slices.Contains(frames, of):
		return machinecode.None, true // the stack has been completed by other means
	}
	return machinecode.None, false
}

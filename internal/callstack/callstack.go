// Package callstack is the stack of open calls of a thread, and the rules by which events change it. Accounting,
// the selection of calls, and the digest of what is before a selection use it, so that they agree about what is
// open, whatever else they know of a call.
//
// # Rules
//
// Logs may lack records, so an exit need not be one of the call on top:
//
//   - An exit ends the innermost call of its function. Those above it ended before, without an exit.
//   - A call that ended by a jump to the one above it stays on the stack with that, and has no exit any more.
//   - At an arrival, by an exception or a longjmp, the innermost call of the function goes on. Those above it
//     lasted until then.
//   - An exit of a function that is nowhere on the stack belongs to no call.
//   - But where a log's block begins, events may be missing. The first event after that border that belongs to a
//     call open at the border shows that the stack is still that one. If an exit belongs to none, and all calls
//     that began since have ended, the stack is another: a gap, which ends all calls.
//   - A stack has a limit. Calls beyond it are only counted, and as many exits are theirs.
//   - Where the stack at the beginning is not known, an exit that belongs to none of the calls that are may be one
//     of those below them, and what it means is decided when the stack is known.
//
// A thread may have several stacks; see Switches.
package callstack

import (
	"math"
	"slices"
)

// Frame is an open call. T is best a struct of one field, the struct of its owner: the compiler writes the
// fields of T into the names of all functions of a Stack, which would take 5 KB of the program.
type Frame[F ~uint32, T any] struct {
	Data T // what its owner knows of it
	Func F
	// Jumped says that it ended by a jump to the call above it.
	Jumped bool
}

// Stack is the open calls of a thread, the outermost first. Its owner ends calls, by Pop, as Exit says.
type Stack[F ~uint32, T any] struct {
	Frames []Frame[F, T]
	Limit  int    // of the number of frames
	Over   uint64 // open calls beyond the limit
	// Unknown says that the first frame is not known to be a call without a caller.
	Unknown bool
	// MaxLooked is the number of frames that are searched in vain before open counts the frames of each
	// function: searching for millions of exits on a deep stack would take too long.
	MaxLooked int
	looked    int
	open      map[F]int

	border  int
	ready   int // height up to which Push needs nothing
	watched int // height from which on Pop needs nothing
}

// MaxDepth is the usual Limit, and MaxLooked that number of frames.
const (
	MaxDepth  = 1 << 16
	MaxLooked = 1 << 20
)

// Special values of the Border of a stack.
const (
	Settled   = -1 // nothing is to be decided
	Inherited = -2 // of an unknown stack: as it was before
)

// New returns an empty stack.
func New[F ~uint32, T any]() Stack[F, T] {
	return Stack[F, T]{Limit: MaxDepth, MaxLooked: MaxLooked, border: Settled, watched: Settled}
}

// Clone returns a copy that shares no frames.
//
//go:noinline
func (s *Stack[F, T]) Clone() Stack[F, T] {
	c := *s
	c.Frames = slices.Clip(slices.Clone(s.Frames))
	c.looked, c.open, c.ready = 0, nil, 0
	c.SetBorder(s.border)
	return c
}

// Block begins a block of the log, before which events may be missing.
func (s *Stack[F, T]) Block() { s.SetBorder(len(s.Frames)) }

// Border is the height at which a block began, until an event shows whether the calls below it are still open;
// or Settled, or Inherited.
func (s *Stack[F, T]) Border() int { return s.border }

// SetBorder sets the Border.
func (s *Stack[F, T]) SetBorder(height int) {
	s.border, s.watched = height, height
	if s.open != nil {
		s.watched = math.MaxInt
	}
}

// Settle makes the stack one about which nothing is to be decided, as where a thread changes to it.
//
//go:noinline
func (s *Stack[F, T]) Settle() {
	s.looked, s.open, s.ready = 0, nil, 0
	s.SetBorder(Settled)
}

// Full reports whether the stack is at its limit.
func (s *Stack[F, T]) Full() bool { return len(s.Frames) >= s.Limit }

// Tight reports whether Ready must be called before Push.
func (s *Stack[F, T]) Tight() bool { return len(s.Frames) >= s.ready }

// Ready prepares a Push of fn, unless the stack is at its limit, which it reports. It does what few calls need,
// so that the rest is inlined in the loops of all followers.
//
//go:noinline
func (s *Stack[F, T]) Ready(fn F) bool {
	if s.Full() {
		return false
	}
	if n := len(s.Frames); n == cap(s.Frames) {
		s.Frames = slices.Grow(s.Frames, 1)
	}
	if s.open != nil {
		s.open[fn]++
		return true
	}
	s.ready = min(cap(s.Frames), s.Limit)
	return true
}

// Push begins a call, for which the stack must not be Tight, and returns its frame. The Data in it are those of
// an earlier call, and its owner sets them field by field: a frame that was composed elsewhere and is copied
// costs a replay a third of its time, as the copy waits for the preceding stores.
func (s *Stack[F, T]) Push(fn F) *Frame[F, T] {
	n, memory := len(s.Frames), s.Frames[:cap(s.Frames)]
	f := &memory[n]
	s.Frames = memory[:n+1]
	f.Func, f.Jumped = fn, false
	return f
}

// Pop ends the innermost call. Its frame is valid until the next Push.
func (s *Stack[F, T]) Pop() *Frame[F, T] {
	n := len(s.Frames) - 1
	f := &s.Frames[n]
	if s.Frames = s.Frames[:n]; n < s.watched {
		if n < s.border {
			s.border = Settled
		}
		if s.open == nil {
			s.watched = s.border
		} else if !f.Jumped {
			s.open[f.Func]--
		}
	}
	return f
}

// Jump says that a call ended by a jump to the one above it.
func (s *Stack[F, T]) Jump(at int) {
	f := &s.Frames[at]
	f.Jumped = true
	if s.open != nil {
		s.open[f.Func]--
	}
}

// OnTop reports whether an exit of fn ends the innermost call, without others above it.
func (s *Stack[F, T]) OnTop(fn F) bool {
	top := len(s.Frames) - 1
	return top >= 0 && s.Frames[top].Func == fn && s.Over == 0
}

// Meaning is what an exit or an arrival means.
type Meaning uint8

// The meanings of an exit.
const (
	Found   Meaning = iota // it is one of the innermost call that is kept
	Nowhere                // it belongs to no call
	Gap                    // it belongs to no call, and those that are open have ended: the stack is another
	Below                  // it may be one of an unknown call below the stack
	Beyond                 // it is one of a call beyond the limit
)

// Exit returns the meaning of an exit of fn, or of an arrival there, and how many calls it leaves open; an exit
// that was found ends one more, the last of those. An exit, though no arrival, of the innermost call can do
// without it: see OnTop.
func (s *Stack[F, T]) Exit(fn F, arrives bool) (keep int, means Meaning) {
	n := len(s.Frames)
	if s.Over > 0 {
		if !arrives { // it leaves some of them, it is not known how many
			s.Over--
		}
		return n, Beyond
	}
	if at := s.find(fn); at >= 0 {
		if arrives && at < s.border {
			s.SetBorder(Settled)
		}
		return at + 1, Found
	}
	switch {
	case s.Unknown:
		return n, Below
	case n == s.border:
		s.SetBorder(Settled)
		return 0, Gap
	}
	return n, Nowhere
}

// find returns the index of the innermost call of fn, -1 if there is none.
func (s *Stack[F, T]) find(fn F) int {
	if s.open != nil && s.open[fn] == 0 {
		return -1
	}
	for i := len(s.Frames) - 1; i >= 0; i-- {
		if f := &s.Frames[i]; f.Func == fn && !f.Jumped {
			return i
		}
	}
	if s.looked += len(s.Frames); s.looked > s.MaxLooked && s.open == nil {
		s.open, s.ready, s.watched = make(map[F]int), 0, math.MaxInt
		for i := range s.Frames {
			if f := &s.Frames[i]; !f.Jumped {
				s.open[f.Func]++
			}
		}
	}
	return -1
}

// Late reports whether the calls that an event leaves without an exit ended at that event, and not at the one
// before in the thread, which is the earliest time: latest says that the latest possible time is wanted.
func (m Meaning) Late(arrives, latest bool) bool { return latest || arrives && m == Found }

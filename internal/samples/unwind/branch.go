package unwind

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// effect is what a branch does to the stack.
type effect uint8

const (
	stays   effect = iota // in its function, as far as the stack shows
	calls                 // also of code that another binary calls
	returns               // also from another binary
	departs               // with a tail call
)

// taken is a branch.
type taken struct {
	from, to ref
	does     effect
	// made are the tail calls that the function which a return leaves had made, if
	// those were looked for.
	made chain
}

// classify returns the branch between two instructions.
func classify(code *machinecode.Set, from, to ref) taken {
	t := taken{from: from, to: to}
	switch class := code.Class(from); {
	case class.IsCall(), from == external && code.CallBefore(to) == machinecode.None:
		t.does = calls
	case class == controlflow.Return, from == external:
		t.does = returns
	case code.TailCall(from, to):
		t.does = departs
	}
	return t
}

// Problem: a sample has dozens of branches, and to find the instructions of their
// addresses is a good part of the work.
//
// Choice: what was found is remembered by the addresses, in a table without chains,
// where a branch takes the place of another with the same hash. Programs spend their
// time in a few thousand branches.

// memoBits is the binary logarithm of the slots of a branchMemo, of 32 bytes.
const memoBits = 14

// branchMemo remembers branches by their addresses.
type branchMemo []memoSlot

type memoSlot struct {
	branch sample.Branch
	layout uint32 // of the process; 0 in slots that are free
	from   ref
	to     ref
	does   effect
}

func newBranchMemo() branchMemo { return make(branchMemo, 1<<memoBits) }

// at returns the slot that a branch is remembered in, if it is.
func (m branchMemo) at(b sample.Branch) *memoSlot {
	h := (b.From*0x9e3779b97f4a7c15 ^ b.To) * 0xbf58476d1ce4e5b9
	return &m[h>>(64-memoBits)]
}

// readBranches leaves out what happened between other binaries.
func (u *Unwinder) readBranches(branches []sample.Branch) {
	u.taken, u.moves = u.taken[:0], u.moves[:0]
	layout := u.places.id
	for _, b := range branches {
		s := u.memo.at(b)
		if s.layout != layout || s.branch != b {
			t := classify(u.code, u.places.ref(b.From), u.places.ref(b.To))
			*s = memoSlot{b, layout, t.from, t.to, t.does}
		}
		if s.from == external && s.to == external {
			continue
		}
		if s.does != stays {
			u.moves = append(u.moves, len(u.taken))
		}
		u.taken = append(u.taken, taken{from: s.from, to: s.to, does: s.does})
	}
}

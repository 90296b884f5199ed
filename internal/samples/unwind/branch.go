package unwind

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// effect is the effect of a branch on the stack.
type effect uint8

const (
	stays   effect = iota // in its function, as far as the stack shows
	calls                 // also called by another binary
	returns               // also to another binary
	departs               // by a tail call
)

// taken is a branch.
type taken struct {
	from, to ref
	does     effect
	// made are the tail calls made by the function that a return leaves, if Options request
	// them.
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

// Problem: a sample has dozens of branches, and looking up the instructions at their addresses
// takes a large part of the time.
//
// Choice: the results are cached by address, in a hash table without chains, where a branch
// replaces another with the same hash. Programs spend their time in a few thousand branches.

// memoBits is the binary logarithm of the slots of a branchMemo, of 32 bytes.
const memoBits = 14

// branchMemo caches branches by address.
type branchMemo []memoSlot

type memoSlot struct {
	branch sample.Branch
	layout uint32 // of the process; 0 in free slots
	from   ref
	to     ref
	does   effect
}

func newBranchMemo() branchMemo { return make(branchMemo, 1<<memoBits) }

// at returns the slot of a branch in the cache.
func (m branchMemo) at(b sample.Branch) *memoSlot {
	h := (b.From*0x9e3779b97f4a7c15 ^ b.To) * 0xbf58476d1ce4e5b9
	return &m[h>>(64-memoBits)]
}

// once returns the branches of a sample without a newest one that is recorded twice, after which
// nothing would be known of the older ones. Counts without contexts have both, as those of LLVM.
func (u *Unwinder) once(s *sample.Sample) []sample.Branch {
	if u.opt.Flat || !s.Repeated() {
		return s.Branches
	}
	u.stats.Repeated += s.Count
	return s.Branches[1:]
}

// readBranches skips branches between other binaries.
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

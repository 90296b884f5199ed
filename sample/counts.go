package sample

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Counts are the executions in one calling context. Addresses are those of a binary, relative to an origin that
// the producer defines.
type Counts struct {
	// Context has the open calls, outermost first. It is empty if contexts are not distinguished.
	Context  []uint64
	Ranges   []RangeCount
	Branches []BranchCount
}

// RangeCount is how often code ran from one instruction to another without a taken branch in between.
type RangeCount struct {
	First, Last uint64 // addresses of instructions
	Count       uint64
}

// BranchCount is how often a branch was taken.
type BranchCount struct {
	Branch

	Count uint64
}

// Sort sorts the ranges and branches by address. Addresses are compared as signed numbers: a branch from
// outside of the binary, whose relative address is below zero, comes first.
func (c *Counts) Sort() {
	stablesort.Func(c.Ranges, func(a, b RangeCount) int {
		return cmp.Or(compare(a.First, b.First), compare(a.Last, b.Last))
	})
	stablesort.Func(c.Branches, func(a, b BranchCount) int {
		return cmp.Or(compare(a.From, b.From), compare(a.To, b.To))
	})
}

func compare(a, b uint64) int { return cmp.Compare(int64(a), int64(b)) }

package unwind

import "github.com/cairnprof/cairn/internal/samples/stackcopy"

// Stats counts samples by result, unless stated otherwise.
type Stats struct {
	Samples uint64 // of the selected process
	Used    uint64

	// Samples that were not used, each by the first reason that applies.
	OtherProcess uint64 // not in Samples
	NoStack      uint64 // although the input has stacks
	NoFrame      uint64 // in a prologue or epilogue, where the stack lacks a frame
	Departing    uint64 // at a tail jump, where the stack lacks a frame as well
	Recovered    uint64 // used, in one of these two cases, with the frame that the branches show
	Complete     uint64 // used, in code without a frame, because the stack already had that frame
	// Of stacks without branches that show the caller, with Options.Moments; used:
	Repaired uint64 // the code shows the caller
	Gaps     uint64 // frames are missing after the innermost ones, and the stack has a mark there
	Bare     uint64 // the sampled function has no frame, and nothing is known of its callers
	// Alone are stacks of one frame, of which some are Bare; Ended are those that were cut after
	// some calls.
	Alone, Ended uint64
	// Full are stacks with as many callers as a processor records: there may be more.
	Full uint64

	// Copies are stacks of which copies were recorded, by where their walk ended.
	Copies [stackcopy.Ends]uint64

	NoBranches uint64 // all branches are in other binaries, or there are none
	Elsewhere  uint64 // no frame is in the binaries; only with Options.Moments
	Foreign    uint64 // the same, used, with Options.Everywhere

	// For samples with stacks, used or not.
	ExternalLeaf uint64 // taken in another binary
	CutStacks    uint64 // truncated at an address that is not after a call

	Branches uint64 // of used samples, except those between other binaries
	// Of these branches:
	Outside    uint64 // followed by code in other binaries
	Unpaired   uint64 // to another binary without returning, or the reverse
	Impossible uint64 // followed by code that does not lead to the next one
	Mismatched uint64 // calls that differ from the stack

	Repeated uint64 // samples whose newest branch was recorded twice

	// StrangeBinaries are mapped files with the name of a binary and another build id.
	StrangeBinaries []string
	// OtherFiles are the first mapped files that are not named like a binary.
	OtherFiles []string
	// Mapped reports that a mapping of a binary was seen. Otherwise the addresses are assumed
	// to be link-time addresses.
	Mapped bool
	// Replaced reports that anonymous memory was found where code of a binary was or should
	// be, and taken for that code.
	Replaced bool
}

func (s *Stats) add(o *Stats) {
	s.Samples += o.Samples
	s.Used += o.Used
	s.OtherProcess += o.OtherProcess
	s.NoStack += o.NoStack
	s.NoFrame += o.NoFrame
	s.Departing += o.Departing
	s.Recovered += o.Recovered
	s.Complete += o.Complete
	s.Repaired += o.Repaired
	s.Gaps += o.Gaps
	s.Bare += o.Bare
	s.Alone += o.Alone
	for i, n := range o.Copies {
		s.Copies[i] += n
	}
	s.Ended += o.Ended
	s.Full += o.Full
	s.NoBranches += o.NoBranches
	s.Elsewhere += o.Elsewhere
	s.Foreign += o.Foreign
	s.ExternalLeaf += o.ExternalLeaf
	s.CutStacks += o.CutStacks
	s.Branches += o.Branches
	s.Outside += o.Outside
	s.Unpaired += o.Unpaired
	s.Impossible += o.Impossible
	s.Mismatched += o.Mismatched
	s.Repeated += o.Repeated
}

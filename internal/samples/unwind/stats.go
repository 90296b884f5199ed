package unwind

import "github.com/cairnprof/cairn/internal/samples/stackcopy"

// Stats counts samples by result, unless stated otherwise.
type Stats struct {
	Samples uint64 // of the selected process
	Used    uint64
	Unused
	Callers
	BranchCounts

	// For samples with stacks, used or not.
	ExternalLeaf uint64 // taken in another binary
	CutStacks    uint64 // truncated at an address that is not after a call

	Mappings
}

// Unused counts samples that were not used, each by the first reason that applies.
type Unused struct {
	OtherProcess uint64 // not in Samples
	NoStack      uint64 // although the input has stacks
	NoFrame      uint64 // in a prologue or epilogue, where the stack lacks a frame
	Departing    uint64 // at a tail jump, where the stack lacks a frame as well
	NoBranches   uint64 // all branches are in other binaries, or there are none
	Elsewhere    uint64 // no frame is in the binaries; only with Options.Moments
}

// Callers counts used samples by what is known of their callers.
type Callers struct {
	Recovered uint64 // in code without a frame, with the frame that the branches show
	Complete  uint64 // in code without a frame, because the stack already had that frame
	// Of stacks without branches that show the caller, with Options.Moments:
	Repaired uint64 // the code shows the caller
	Gaps     uint64 // frames are missing after the innermost ones, and the stack has a mark there
	Bare     uint64 // the sampled function has no frame, and nothing is known of its callers
	// Alone are stacks of one frame, of which some are Bare; Ended are those that were cut after
	// some calls.
	Alone, Ended uint64
	// Full are stacks with as many callers as a processor records: there may be more.
	Full uint64
	// Foreign are stacks of which no frame is in the binaries, with Options.Everywhere.
	Foreign uint64
	// Copies are stacks of which copies were recorded, by where their walk ended.
	Copies [stackcopy.Ends]uint64
}

// BranchCounts counts branches.
type BranchCounts struct {
	Branches uint64 // of used samples, except those between other binaries
	// Of these branches:
	Outside    uint64 // followed by code in other binaries
	Unpaired   uint64 // to another binary without returning, or the reverse
	Impossible uint64 // followed by code that does not lead to the next one
	Mismatched uint64 // calls that differ from the stack

	Repeated uint64 // samples whose newest branch was recorded twice
}

// Mappings says what was mapped while samples were taken.
type Mappings struct {
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

// add adds the counts of other, which do not include its mappings.
func (s *Stats) add(other *Stats) {
	s.Samples += other.Samples
	s.Used += other.Used
	s.Unused.add(&other.Unused)
	s.Callers.add(&other.Callers)
	s.BranchCounts.add(&other.BranchCounts)
	s.ExternalLeaf += other.ExternalLeaf
	s.CutStacks += other.CutStacks
}

func (s *Unused) add(other *Unused) {
	s.OtherProcess += other.OtherProcess
	s.NoStack += other.NoStack
	s.NoFrame += other.NoFrame
	s.Departing += other.Departing
	s.NoBranches += other.NoBranches
	s.Elsewhere += other.Elsewhere
}

func (s *Callers) add(other *Callers) {
	s.Recovered += other.Recovered
	s.Complete += other.Complete
	s.Repaired += other.Repaired
	s.Gaps += other.Gaps
	s.Bare += other.Bare
	s.Alone += other.Alone
	s.Ended += other.Ended
	s.Full += other.Full
	s.Foreign += other.Foreign
	for i, n := range other.Copies {
		s.Copies[i] += n
	}
}

func (s *BranchCounts) add(other *BranchCounts) {
	s.Branches += other.Branches
	s.Outside += other.Outside
	s.Unpaired += other.Unpaired
	s.Impossible += other.Impossible
	s.Mismatched += other.Mismatched
	s.Repeated += other.Repeated
}

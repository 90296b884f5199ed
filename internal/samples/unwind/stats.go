package unwind

// Stats counts what became of samples: moments, where nothing else is said.
type Stats struct {
	Samples uint64 // of the process in question
	Used    uint64

	// Samples that were not used, each by its first reason.
	OtherProcess uint64 // not in Samples
	NoStack      uint64 // although the input has stacks
	NoFrame      uint64 // in a prologue or epilogue, where the stack lacks a frame
	Departing    uint64 // at a tail jump, where the stack lacks a frame as well
	Recovered    uint64 // used, in one of the two places, with the frame that the branches show
	Complete     uint64 // used, in code without a frame, although the stack had what the branches show
	NoBranches   uint64 // all in other binaries, or none at all
	Elsewhere    uint64 // no frame is in the binaries; only with Options.Moments

	// Of samples with stacks, used or not.
	ExternalLeaf uint64 // taken in another binary
	CutStacks    uint64 // cut at an address that is not after a call

	Branches uint64 // of used samples, those between other binaries left out
	// Of these branches:
	Outside    uint64 // ran in other binaries until the next one
	Unpaired   uint64 // left for another binary and never came back, or the reverse
	Impossible uint64 // were followed by code that does not lead to the next one
	Mismatched uint64 // are calls that are not what the stack has

	// StrangeBinaries are mapped files with the name of a binary and the build id
	// of another.
	StrangeBinaries []string
	// OtherFiles are the first few files that were mapped and have the name of no
	// binary.
	OtherFiles []string
	// Mapped: a binary was seen to be mapped. If not, addresses were taken to be
	// those that the binaries were linked to.
	Mapped bool
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
	s.NoBranches += o.NoBranches
	s.Elsewhere += o.Elsewhere
	s.ExternalLeaf += o.ExternalLeaf
	s.CutStacks += o.CutStacks
	s.Branches += o.Branches
	s.Outside += o.Outside
	s.Unpaired += o.Unpaired
	s.Impossible += o.Impossible
	s.Mismatched += o.Mismatched
}

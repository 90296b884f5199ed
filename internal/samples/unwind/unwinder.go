package unwind

import (
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

const external = machinecode.External

// Options say how samples are unwound.
type Options struct {
	// Flat ignores stacks: everything is counted in one context.
	Flat bool
	// CheckStacks leaves out samples whose stacks cannot be believed although they are not
	// used, as LLVM does.
	CheckStacks bool
	// Inlining tells, for profiles that are keyed by lines, what was inlined
	// where. It is nil for those keyed by pseudo probes, which know it themselves.
	Inlining Inlining
	// MaxDepth cuts contexts to so many innermost frames, as Innermost does.
	MaxDepth int
	// Recursion is how long repetitions are that contexts are without, as
	// CompressRecursion has it.
	Recursion int
	// TailCalls puts frames of tail calls into contexts that were seen among the
	// branches. It does nothing for profiles that are keyed by lines.
	TailCalls bool
	// TrustDepartures believes the stacks of samples at tail jumps, as LLVM does,
	// although the caller's frame is off the stack already.
	TrustDepartures bool
	// Frameless uses samples of code without a frame, if their stacks are whole or can be
	// made so, and no others of it.
	Frameless bool
	// Moments also counts the stacks of the samples themselves. Samples without
	// branches are used then.
	Moments bool
	// Addresses counts the instructions that samples were taken at, and nothing else, as
	// moments without calls.
	Addresses bool
	// PID is the only process whose samples count, if OnePID. Samples that do not
	// tell their process are taken to be of it.
	PID    int32
	OnePID bool
}

// Inlining returns the stack of inlined functions that an instruction belongs to.
type Inlining interface {
	// Inlined returns a number for the stack: the same one for two instructions
	// whose functions and calls are the same. 0 says that nothing is known.
	Inlined(r machinecode.Ref) uint32
}

// Unwinder counts samples. It must not be used by several goroutines.
type Unwinder struct {
	code   *machinecode.Set
	opt    Options
	places *places

	frames   trie
	chains   chains
	steps    steps
	ranges   counter
	branches counter
	moments  counter // from is the instruction that ran, to None
	stats    Stats
	memo     branchMemo

	whole bool // sample.Info.Whole of what is read

	// Of the sample at hand. The walk is at the instruction leaf of a frame, which
	// the node parent called.
	stack  []ref   // innermost first
	taken  []taken // newest first
	moves  []int   // indexes of taken: those that do something to the stack
	last   uint32  // index of the slot of the last step
	parent uint32
	leaf   ref
	count  uint64
}

// New returns an unwinder for samples of these binaries.
func New(code *machinecode.Set, opt Options) *Unwinder {
	return &Unwinder{
		code: code, opt: opt, places: newPlaces(code),
		frames: newTrie(), steps: newSteps(), ranges: newCounter(), branches: newCounter(), moments: newCounter(),
		memo: newBranchMemo(),
	}
}

// Add counts a batch. Nothing of it is kept.
func (u *Unwinder) Add(b *sample.Batch) {
	u.Enter(b)
	for i := range b.Samples {
		s := &b.Samples[i]
		pid := s.PID
		if u.opt.OnePID {
			if pid != u.opt.PID && pid != sample.UnknownPID {
				u.stats.OtherProcess += s.Count
				continue
			}
			pid = u.opt.PID
		}
		u.places.enter(pid)
		u.sample(s)
	}
}

func (u *Unwinder) sample(s *sample.Sample) {
	u.count = s.Count
	u.stats.Samples += s.Count
	if u.opt.Addresses {
		u.address(s)
		return
	}
	u.readBranches(s.Branches)
	if (!u.opt.Flat || u.opt.CheckStacks) && !u.readStack(s.Stack) {
		return
	}
	switch {
	case u.opt.Moments && len(u.stack) == 1 && u.stack[0] == external:
		u.stats.Elsewhere += s.Count
		return
	case !u.opt.Moments && len(u.taken) == 0:
		u.stats.NoBranches += s.Count
		return
	}
	u.stats.Used += s.Count
	u.stats.Branches += s.Count * uint64(len(u.taken))
	if u.opt.Flat {
		u.flat()
		return
	}
	u.walk()
}

// readStack makes calls of return addresses, and reports whether the stack can be
// believed. The branches were read before.
func (u *Unwinder) readStack(addrs []uint64) bool {
	u.stack = u.stack[:0]
	for i, addr := range addrs {
		r := u.places.ref(addr)
		if r == external {
			if i == 0 {
				u.stats.ExternalLeaf += u.count
			}
			if i == 0 || u.stack[len(u.stack)-1] != external {
				u.stack = append(u.stack, external)
			}
			continue
		}
		if i > 0 {
			if r = u.code.CallBefore(r); r == machinecode.None {
				u.stats.CutStacks += u.count
				break
			}
		}
		u.stack = append(u.stack, r)
	}
	if n := len(u.stack); n > 1 && u.stack[n-1] == external {
		u.stack = u.stack[:n-1]
	}
	switch {
	case len(u.stack) == 0:
		u.stats.NoStack += u.count
		return false
	case u.stack[0] == external:
		return true
	case u.opt.Frameless:
		return u.complete()
	case u.code.Dubious(u.stack[0]):
		u.stats.NoFrame += u.count
		return false
	case !u.opt.TrustDepartures && u.code.Departs(u.stack[0]):
		u.stats.Departing += u.count
		return false
	}
	return true
}

// address counts where a sample was taken.
func (u *Unwinder) address(s *sample.Sample) {
	if len(s.Stack) == 0 {
		u.stats.NoStack += s.Count
		return
	}
	at := u.places.ref(s.Stack[0])
	if at == external {
		u.stats.Elsewhere += s.Count
		return
	}
	u.stats.Used += s.Count
	u.moments.add(edge{root, at, machinecode.None}, s.Count)
}

// flat counts the branches and what ran between them in the empty context.
func (u *Unwinder) flat() {
	end := external
	for _, t := range u.taken {
		if t.to != external {
			u.branches.add(edge{root, t.from, t.to}, u.count)
			if end != external && u.code.Runs(t.to, end) {
				u.ranges.add(edge{root, t.to, end}, u.count)
			}
		}
		end = t.from
	}
}

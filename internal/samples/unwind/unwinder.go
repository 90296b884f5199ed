package unwind

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

const external = machinecode.External

// Options specify how samples are unwound.
type Options struct {
	// Flat ignores stacks: everything is counted in one context.
	Flat bool
	// CheckStacks skips samples with invalid stacks even if the stacks are not used, as LLVM
	// does.
	CheckStacks bool
	// Inlining has the inlined functions, for profiles that are keyed by lines. It is nil for
	// those keyed by pseudo probes, which include this information.
	Inlining Inlining
	// MaxDepth is the maximum number of innermost frames in contexts, see Innermost.
	MaxDepth int
	// Recursion is the maximum length of repetitions that are removed from contexts, see
	// CompressRecursion.
	Recursion int
	// TailCalls adds the frames of tail calls that are among the branches to contexts. It has
	// no effect on profiles that are keyed by lines.
	TailCalls bool
	// TrustDepartures accepts the stacks of samples at tail jumps, as LLVM does, although the
	// caller's frame has already been removed.
	TrustDepartures bool
	// Frameless uses samples of code without a frame only if their stacks are complete or can
	// be completed.
	Frameless bool
	// Moments also counts the stacks of the samples themselves. Then samples without branches
	// are used as well.
	Moments bool
	// Addresses counts only the sampled instructions, as moments without calls.
	Addresses bool
	// PID is the only process whose samples count, if OnePID. Samples without a process are
	// assumed to belong to it.
	PID    int32
	OnePID bool
	// Everywhere also counts moments without a frame in the binaries, in the kernel or outside.
	Everywhere bool
	// Named says that all samples name their process.
	Named bool
	// Kernel names the functions of the kernel in moments. It is nil if the kernel is outside, like other code.
	Kernel *Kernel
	// Files say which files are the binaries.
	Files Files
	// Tables unwind copies of stacks. If it is nil, only the sampled address is used of these.
	Tables Tables
}

// Inlining returns the stack of inlined functions that an instruction belongs to.
type Inlining interface {
	// Inlined returns a number for the stack: equal for instructions with the same functions
	// and calls. 0 means unknown.
	Inlined(r machinecode.Ref) uint32
}

// mended is what was added to a stack.
type mended uint8

const (
	whole     mended = iota // nothing
	recovered               // the frame that the branches show
	repaired                // callers that the code shows
	withGap                 // the mark of missing frames
)

// Unwinder counts samples. It is not safe for concurrent use.
type Unwinder struct {
	code   *machinecode.Set
	opt    Options
	places *places

	counts
	copies
	current
}

// counts are the samples so far.
type counts struct {
	frames   trie
	chains   chains
	steps    steps
	ranges   counter
	branches counter
	moments  counter // from is the sampled instruction, to is None
	stats    Stats
	memo     branchMemo
}

// copies is what copies of stacks are walked with.
type copies struct {
	addrs     []uint64 // of a copy
	tables    map[*sample.Mapping]*stackcopy.Table
	lastTable mappedTable
}

// current is the current sample. The walk is at the instruction leaf of a frame, which the node
// parent called.
type current struct {
	whole   bool // sample.Info.Whole of the current batch
	exact   bool // the stack was not walked by frame pointers
	atCalls bool // sample.Sample.AtCalls
	inCalls bool // sample.Sample.InCalls, of the stack that is used

	stack  []ref // innermost first
	added  []ref // callers that were added to it
	beyond bool  // it continues in other binaries
	cut    bool  // it ended at an address that is none of a caller
	full   bool  // it may have more callers than the processor has recorded
	mended mended
	// interrupted is the index on the stack of the instruction at which the kernel took over,
	// if that is not a call; else 0.
	interrupted int
	taken       []taken // newest first
	moves       []int   // indexes of the elements of taken that affect the stack
	last        uint32  // index of the slot of the last step
	parent      uint32
	leaf        ref
	count       uint64
	kernel      ref // number of the stack's part in the kernel, None if there is none
}

// New returns an unwinder for samples of these binaries.
func New(code *machinecode.Set, opt Options) *Unwinder {
	places := newPlaces(code, opt.Files)
	if opt.Named {
		places.files.Spaces.Named()
	}
	return &Unwinder{
		code: code, opt: opt, places: places,
		counts: counts{
			frames: newTrie(), steps: newSteps(), ranges: newCounter(), branches: newCounter(), moments: newCounter(),
			memo: newBranchMemo(),
		},
	}
}

// Add counts a batch, without keeping references to it.
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
	u.readBranches(u.once(s))
	if (!u.opt.Flat || u.opt.CheckStacks) && !u.readStackOf(s) {
		return
	}
	switch {
	case u.opt.Moments && len(u.stack) == 1 && u.stack[0] == external && !u.everywhere(s):
		u.stats.Elsewhere += s.Count
		return
	case !u.opt.Moments && len(u.taken) == 0:
		u.stats.NoBranches += s.Count
		return
	}
	u.stats.Used += s.Count
	u.countCallers()
	u.stats.Branches += s.Count * uint64(len(u.taken))
	if u.opt.Flat {
		u.flat()
		return
	}
	u.walk()
}

// everywhere reports whether a moment without a frame in the binaries counts: there must be something
// to show for it.
func (u *Unwinder) everywhere(s *sample.Sample) bool {
	if !u.opt.Everywhere {
		return false
	}
	user := func(addr uint64) bool { return addr < kernelSpace }
	return u.opt.Kernel == nil || !u.opt.Kernel.Omit || s.User != nil || slices.ContainsFunc(s.Stack, user)
}

// countCallers counts what is known of the callers of the current sample, once.
func (u *Unwinder) countCallers() {
	n := u.count
	switch {
	case u.opt.Moments && len(u.stack) == 1 && u.stack[0] == external:
		u.stats.Foreign += n
	case u.opt.Moments && len(u.stack) == 1 && !u.beyond:
		u.stats.Alone += n
	case u.mended == withGap:
		u.stats.Gaps += n
	case u.opt.Moments && u.cut && len(u.stack) > 1:
		u.stats.Ended += n
	case u.opt.Moments && u.full:
		u.stats.Full += n
	case u.mended == recovered:
		u.stats.Recovered += n
	case u.mended == repaired:
		u.stats.Repaired += n
	}
}

// readStackOf sets the stack to that of a sample.
func (u *Unwinder) readStackOf(s *sample.Sample) bool {
	u.full = false
	if u.atCalls = s.AtCalls; u.atCalls {
		defer func(before bool) { u.whole, u.atCalls, u.exact = before, false, false }(u.whole)
		u.whole, u.exact = true, true // also where a function has no frame yet
		u.full = isFull(s.Stack)
		return u.readStack(s.Stack)
	}
	if s.User == nil || u.opt.Tables == nil {
		u.inCalls = s.InCalls
		defer func() { u.inCalls = false }()
		return u.readStack(s.Stack)
	}
	defer func(before bool) { u.whole, u.exact = before, false }(u.whole)
	stack, whole := u.walkCopy(s)
	u.whole, u.exact = true, true // tables hold at each instruction
	ok := u.readStack(stack)
	u.cut = u.cut || !whole
	return ok
}

// readStack converts return addresses to calls, and reports whether the stack is valid. The
// branches were read before.
func (u *Unwinder) readStack(addrs []uint64) bool {
	u.readCalls(addrs)
	u.mended = whole
	switch {
	case len(u.stack) == 0:
		u.stats.NoStack += u.count
		return false
	case u.stack[0] == external:
		if u.opt.Moments && !u.whole && u.interrupted > 0 && u.lacksFrame(u.stack[u.interrupted]) {
			u.repair(u.interrupted)
		}
		return true
	case u.opt.Frameless:
		return u.complete()
	case u.exact: // frame pointers were not used
	case u.code.Dubious(u.stack[0]):
		u.stats.NoFrame += u.count
		return false
	case !u.opt.TrustDepartures && u.code.Departs(u.stack[0]):
		u.stats.Departing += u.count
		return false
	}
	return true
}

// kernelSpace is the first address of the kernel.
const kernelSpace = 1 << 63

// readCalls sets the stack to the calls before some return addresses, and to the instruction
// at the first one, which was sampled.
func (u *Unwinder) readCalls(addrs []uint64) {
	u.stack, u.interrupted, u.beyond = u.stack[:0], 0, false
	u.readKernel(addrs)
	cut := false
	for i, addr := range addrs {
		r := u.places.ref(addr)
		whole := r != external
		if !whole && u.inCalls && i > 0 {
			r = u.within(addr)
		}
		if r == external {
			if cut = i > 0 && addr < kernelSpace && u.opt.Moments && u.places.nowhere(addr); cut {
				break
			}
			if i == 0 {
				u.stats.ExternalLeaf += u.count
			}
			if i == 0 || u.stack[len(u.stack)-1] != external {
				u.stack = append(u.stack, external)
			}
			continue
		}
		if i > 0 {
			call := u.callOf(r, whole)
			switch {
			case call != machinecode.None:
				r = call
			case u.opt.Moments && addrs[i-1] >= kernelSpace && addr < kernelSpace:
				u.interrupted = len(u.stack) // by the kernel, at this instruction
			default:
				cut = true
			}
			if cut {
				break
			}
		}
		u.stack = append(u.stack, r)
	}
	if cut {
		u.stats.CutStacks += u.count
	}
	if n := len(u.stack); n > 1 && u.stack[n-1] == external {
		u.stack, u.beyond = u.stack[:n-1], !cut
	}
	u.cut = cut
}

// callOf returns the call that the address of a caller shows, None if there is none. r is the instruction there; whole
// says that it begins at the address.
func (u *Unwinder) callOf(r ref, whole bool) ref {
	switch {
	case (u.atCalls || u.inCalls) && u.code.Class(r).IsCall():
		return r
	case !u.atCalls && whole:
		return u.code.CallBefore(r)
	}
	return machinecode.None
}

// within returns the instruction that has an address of the process among its bytes but the first.
func (u *Unwinder) within(addr uint64) ref {
	const longest = 15 // bytes, on x86-64
	for n := uint64(1); n < longest; n++ {
		if r := u.places.ref(addr - n); r != external {
			return r
		}
	}
	return external
}

// isFull reports whether a stack has as many callers as a processor records of those that are open: 8 of old ones, 16
// since Nehalem, 32 since Skylake.
func isFull(stack []uint64) bool {
	callers := -1 // without the sampled address
	for _, addr := range stack {
		if addr < kernelSpace {
			callers++
		}
	}
	return callers == 8 || callers == 16 || callers == 32
}

// address counts the sampled address.
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

// flat counts the branches and the code between them in the empty context.
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

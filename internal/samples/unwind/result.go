package unwind

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// Result is the sum of samples.
type Result struct {
	Contexts []Context // ascending by frames, then by Known
	Moments  []Moment  // ascending by frames, if Options request them
	Stats    Stats
}

// Context has the code that ran in a calling context.
type Context struct {
	// Frames are the open calls, outermost first, without repetitions of recursion. It is
	// empty if the callers are not known, and in flat profiles. In profiles that are keyed by
	// lines the last frame is not a call but an instruction of the function that ran. Jumps
	// among them are observed tail calls, if Options request them.
	Frames []machinecode.Ref
	// Known reports for a frame that no tail call is missing between it and the next. It is
	// nil unless Options request tail calls.
	Known    []bool
	Ranges   []Count // instructions [From, To] that ran without a taken branch
	Branches []Count // From may be External
}

// Count is the number of executions.
type Count struct {
	From, To machinecode.Ref
	Count    uint64
}

// Result returns the sums. The unwinder must not be used after it.
func (u *Unwinder) Result() *Result {
	u.settleSteps()
	c := contexts{u: u, index: map[string]int{}, ofNode: make([]int32, len(u.frames.nodes))}
	c.find(&u.ranges)
	c.find(&u.branches)
	ranges, branches := c.share(&u.ranges), c.share(&u.branches)
	for i := range c.list {
		x := &c.list[i]
		x.Ranges, x.Branches = Sum(ranges[i]), Sum(branches[i])
	}
	stablesort.Func(c.list, func(a, b Context) int {
		if c := slices.Compare(a.Frames, b.Frames); c != 0 {
			return c
		}
		return slices.CompareFunc(a.Known, b.Known, compareBools)
	})
	r := &Result{Contexts: c.list, Moments: u.sampled(), Stats: u.stats}
	files := u.places.files
	r.Stats.Mapped, r.Stats.Replaced = files.Seen, files.Replaced
	r.Stats.OtherFiles, r.Stats.StrangeBinaries = files.Others, files.OtherBuilds
	return r
}

// contexts converts the nodes of a trie to contexts. Several nodes can be the same context.
type contexts struct {
	u      *Unwinder
	list   []Context
	index  map[string]int // of list, by frames
	ofNode []int32        // index+1 of a node's context; 0 is not computed yet
	frames []ref
	key    []byte
	whole  bool // with all recursion
	// through reports that other binaries are frames as well, as External.
	through bool
}

// find makes the contexts for counts.
func (c *contexts) find(counts *counter) {
	for i := range counts.slots {
		if s := &counts.slots[i]; s.count != 0 {
			c.of(s.node)
		}
	}
}

// share distributes counts to their contexts.
func (c *contexts) share(from *counter) [][]Count {
	sizes := make([]int, len(c.list))
	for i := range from.slots {
		if s := &from.slots[i]; s.count != 0 {
			sizes[c.of(s.node)]++
		}
	}
	// One allocation for all: most contexts have few counts.
	all := make([]Count, from.used)
	out := make([][]Count, len(c.list))
	for x, n := range sizes {
		out[x], all = all[:0:n], all[n:]
	}
	for i := range from.slots {
		if s := &from.slots[i]; s.count != 0 {
			x := c.of(s.node)
			out[x] = append(out[x], Count{s.from, s.to, s.count})
		}
	}
	return out
}

// of returns the index of the context of a node.
func (c *contexts) of(n uint32) int {
	if i := c.ofNode[n]; i != 0 {
		return int(i - 1)
	}
	c.read(n)
	c.key = c.key[:0]
	for _, r := range c.frames {
		c.key = binary.LittleEndian.AppendUint32(c.key, uint32(r))
	}
	i, ok := c.index[string(c.key)]
	if !ok {
		i = len(c.list)
		c.index[string(c.key)] = i
		c.list = append(c.list, c.context())
	}
	c.ofNode[n] = int32(i + 1)
	return i
}

// context makes a context from frames.
func (c *contexts) context() Context {
	x := Context{Frames: slices.Clone(c.frames)}
	if c.u.tailCalls() {
		x.Known = make([]bool, len(x.Frames))
		for i, r := range x.Frames {
			x.Frames[i] = r &^ known
			x.Known[i] = r&known != 0 || !c.u.code.Class(x.Frames[i]).IsCall()
		}
	}
	return x
}

// read sets frames to those of a node. Callers of code outside of the binaries are not visible
// to compilers, so the stack starts again after it.
func (c *contexts) read(n uint32) {
	c.frames = c.frames[:0]
	for n != root {
		node := c.u.frames.nodes[n]
		if at := node.at &^ known; (at == external || at == machinecode.Missing) && !c.through {
			break
		}
		if node.at&^known != machinecode.None {
			c.frames = append(c.frames, node.at)
		}
		n = node.parent
	}
	slices.Reverse(c.frames)
	if c.u.opt.Inlining != nil || c.whole {
		return // recursion is removed from the names of frames, which include inlined functions
	}
	c.frames = CompressRecursion(c.frames, c.u.opt.Recursion)
	c.frames = Innermost(c.frames, c.u.opt.MaxDepth)
}

// Innermost returns the last n frames of a stack, outermost first: all of them if n is 0, and
// none if it is negative.
func Innermost[T any](stack []T, n int) []T {
	if n == 0 {
		return stack
	}
	return stack[len(stack)-min(max(n, 0), len(stack)):]
}

// key orders counts by source, then by target.
func (c *Count) key() uint64 { return uint64(c.From)<<32 | uint64(c.To) }

// Sum sorts counts and adds those with the same key. It modifies its argument.
func Sum(counts []Count) []Count {
	stablesort.Func(counts, func(a, b Count) int { return cmp.Compare(a.key(), b.key()) })
	kept := counts[:0]
	for _, c := range counts {
		if n := len(kept); n > 0 && kept[n-1].From == c.From && kept[n-1].To == c.To {
			kept[n-1].Count = saturate.Add(kept[n-1].Count, c.Count)
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// CompressRecursion removes repetitions from a stack: of consecutive equal sequences one is
// kept, first for sequences of one frame, then of two, and so on, up to longest: 0 is no
// limit, and a negative value removes none. It modifies the stack and returns the result.
func CompressRecursion[T comparable](stack []T, longest int) []T {
	if longest == 0 {
		longest = len(stack)
	}
	for width := 1; width <= min(len(stack)/2, longest); width++ {
		kept, i := width, width
		for i+width <= len(stack) {
			if slices.Equal(stack[kept-width:kept], stack[i:i+width]) {
				i += width
				continue
			}
			stack[kept] = stack[i]
			kept++
			i++
		}
		stack = append(stack[:kept], stack[i:]...)
	}
	return stack
}

// merge adds the counts of another unwinder.
func (u *Unwinder) merge(o *Unwinder) {
	o.settleSteps()
	same := make([]uint32, len(o.frames.nodes)) // nodes of u by those of o
	for n := 1; n < len(o.frames.nodes); n++ {
		x := o.frames.nodes[n]
		same[n] = u.frames.child(same[x.parent], x.at)
	}
	for from, to := range map[*counter]*counter{&o.ranges: &u.ranges, &o.branches: &u.branches, &o.moments: &u.moments} {
		for i := range from.slots {
			if s := &from.slots[i]; s.count != 0 {
				to.add(edge{same[s.node], s.from, s.to}, s.count)
			}
		}
	}
	u.stats.add(&o.stats)
	u.places.files.Replaced = u.places.files.Replaced || o.places.files.Replaced
}

// Counts returns the contexts in the form of unsymbolized profiles: with addresses relative to
// base, which is meaningful only for a single binary.
func (r *Result) Counts(code *machinecode.Set, base uint64) []sample.Counts {
	at := func(r ref) uint64 {
		if !r.IsInstruction() {
			return uint64(r) - base // LLVM's representation of external addresses
		}
		return code.Address(r) - base
	}
	out := make([]sample.Counts, len(r.Contexts))
	for i := range r.Contexts {
		from, to := &r.Contexts[i], &out[i]
		for _, f := range from.Frames {
			to.Context = append(to.Context, at(f))
		}
		for _, c := range from.Ranges {
			to.Ranges = append(to.Ranges, sample.RangeCount{First: at(c.From), Last: at(c.To), Count: c.Count})
		}
		for _, c := range from.Branches {
			to.Branches = append(to.Branches, sample.BranchCount{Branch: sample.Branch{From: at(c.From), To: at(c.To)}, Count: c.Count})
		}
	}
	return out
}

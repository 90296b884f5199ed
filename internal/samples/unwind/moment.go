package unwind

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// Moment is a sampled stack.
type Moment struct {
	// Context has the calls with all recursion and no counts. Calls from other binaries are
	// External, one for any number in a row.
	Context
	Leaf  machinecode.Ref // the sampled instruction; External in another binary
	Count uint64          // samples
	// Kernel is what runs in the kernel, inside of the leaf, which is External then; nil without Options.Kernel.
	Kernel *KernelPart
}

// sampled returns the stacks of the samples.
func (u *Unwinder) sampled() []Moment {
	x := contexts{u: u, whole: true, through: true}
	out := make([]Moment, 0, u.moments.used)
	ranks := u.frames.ranks()
	order := make([]ranked, 0, u.moments.used)
	for i := range u.moments.slots {
		s := &u.moments.slots[i]
		if s.count == 0 {
			continue
		}
		x.read(s.node)
		r := ranked{leaf: s.from, at: int32(len(out))}
		if ranks != nil {
			r.node = ranks[s.node]
		}
		order = append(order, r)
		out = append(out, Moment{x.context(), s.from, s.count, u.opt.Kernel.at(s.to)})
	}
	compare := func(a, b ranked) int { return compareMoments(&out[a.at], &out[b.at]) }
	if ranks != nil {
		compare = func(a, b ranked) int {
			if a.node != b.node || a.leaf != b.leaf {
				return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.leaf, b.leaf))
			}
			return compareParts(out[a.at].Kernel, out[b.at].Kernel)
		}
	}
	slices.SortFunc(order, compare)
	sorted := make([]Moment, len(out))
	for i, r := range order {
		sorted[i] = out[r.at]
	}
	return sorted
}

// ranked is a moment, by which these are sorted: they are larger, and begin with the same frames for long.
type ranked struct {
	node uint32 // rank of its stack, 0 if stacks have none
	leaf ref
	at   int32
}

// ranks numbers stacks in ascending order of their frames. It is nil where the frames of several nodes may be equal: those of
// which something is known of tail calls, and those that are no frames.
func (t *trie) ranks() []uint32 {
	first := make([]uint32, len(t.nodes)+1) // of the children of each node among all
	for i := range t.nodes[1:] {
		n := &t.nodes[i+1]
		if n.at&known != 0 || n.at == machinecode.None {
			return nil
		}
		first[n.parent+1]++
	}
	for i := range len(t.nodes) {
		first[i+1] += first[i]
	}
	next := slices.Clone(first)
	children := make([]uint32, len(t.nodes)-1)
	for i := range t.nodes[1:] {
		p := t.nodes[i+1].parent
		children[next[p]] = uint32(i + 1)
		next[p]++
	}
	ranks := make([]uint32, len(t.nodes))
	stack := append(make([]uint32, 0, len(t.nodes)), root)
	for rank := uint32(1); len(stack) > 0; rank++ {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ranks[n] = rank
		own := children[first[n]:first[n+1]]
		slices.SortFunc(own, func(a, b uint32) int { return cmp.Compare(t.nodes[b].at, t.nodes[a].at) })
		stack = append(stack, own...)
	}
	return ranks
}

func compareMoments(a, b *Moment) int {
	if c := slices.Compare(a.Frames, b.Frames); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Leaf, b.Leaf); c != 0 {
		return c
	}
	return cmp.Or(slices.CompareFunc(a.Known, b.Known, compareBools), compareParts(a.Kernel, b.Kernel))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Moment returns the stack of a sample as a context, calls outermost first and with all
// recursion, with the tail calls that its branches show if Options request them, and the
// sampled instruction. Calls from other binaries are frames if Options request moments. The
// sample is not counted. There is no result if the stack is not
// valid.
func (u *Unwinder) Moment(s *sample.Sample) (c Context, leaf ref, ok bool) {
	u.places.enter(s.PID)
	u.readBranches(u.once(s))
	if !u.readStackOf(s) || u.stack[0] == external {
		return c, leaf, false
	}
	x := contexts{u: u, whole: true, through: u.opt.Moments}
	x.read(u.stacked())
	return x.context(), u.stack[0], true
}

// Instruction returns the instruction at an address of a process, or External if it is in none
// of the binaries.
func (u *Unwinder) Instruction(pid int32, addr uint64) machinecode.Ref {
	u.places.enter(pid)
	return u.places.ref(addr)
}

// Enter applies the events of a batch and the kind of its stacks.
func (u *Unwinder) Enter(b *sample.Batch) {
	u.apply(b.Events)
	u.whole = b.Whole
}

// apply applies events.
func (u *Unwinder) apply(events []sample.Event) {
	if len(events) > 0 {
		u.places.apply(events)
		u.lastTable = mappedTable{}
	}
}

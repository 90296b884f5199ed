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
	var out []Moment
	for i := range u.moments.slots {
		if s := &u.moments.slots[i]; s.count != 0 {
			x.read(s.node)
			out = append(out, Moment{x.context(), s.from, s.count, u.opt.Kernel.at(s.to)})
		}
	}
	return sorted(out)
}

// sorted returns moments in ascending order. Their places are sorted, which are smaller.
func sorted(moments []Moment) []Moment {
	order := make([]*Moment, len(moments))
	for i := range moments {
		order[i] = &moments[i]
	}
	slices.SortFunc(order, compareMoments)
	out := make([]Moment, len(moments))
	for i, m := range order {
		out[i] = *m
	}
	return out
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

package perfdata

import (
	"slices"

	"github.com/cairnprof/cairn/sample"
)

// With --call-graph fp,defer the kernel records the stack of the program when it returns to it, once for all samples
// since it was entered. These samples have the functions of the kernel and a number; a later record has the number and
// the rest of the stack.

// held are samples whose stack is not complete.
type held struct {
	samples map[uint64][]sample.Sample // by number, in the order of the file
	order   []uint64                   // of the numbers
	n       int
}

// maxHeld bounds the samples that wait: a thread has few before it returns.
const maxHeld = 1 << 14

const badDeferred = "the kernel did not record the deferred part of a stack: it has no functions of the program"

// hold takes the last sample of the batch out of it until the rest of its stack comes.
func (s *session) hold(number uint64, x *sample.Sample) {
	if s.held.n >= maxHeld {
		s.flushHeld()
	}
	if s.held.samples == nil {
		s.held.samples = map[uint64][]sample.Sample{}
	}
	c := *x
	c.Stack, c.Branches = slices.Clone(x.Stack), slices.Clone(x.Branches)
	if u := x.User; u != nil {
		c.User = &sample.UserState{Mask: u.Mask, Regs: slices.Clone(u.Regs), Stack: slices.Clone(u.Stack)}
	}
	s.batch.Samples = s.batch.Samples[:len(s.batch.Samples)-1]
	if len(s.held.samples[number]) == 0 {
		s.held.order = append(s.held.order, number)
	}
	s.held.samples[number] = append(s.held.samples[number], c)
	s.held.n++
}

// complete reads the rest of the stack of samples.
func (s *session) complete(r record) {
	f := fields{data: r.body(), big: s.big}
	number := f.u64()
	n := f.u64()
	if f.short || n > uint64(len(f.data))/8 {
		s.bad(badRecord, r.offset)
		return
	}
	rest := f.next(8 * n)
	list := s.held.samples[number]
	if len(list) == 0 {
		return
	}
	delete(s.held.samples, number)
	s.held.order = slices.DeleteFunc(s.held.order, func(v uint64) bool { return v == number })
	s.held.n -= len(list)
	for i := range list {
		s.put(&list[i], rest)
	}
}

// put adds a sample with the rest of its stack.
func (s *session) put(x *sample.Sample, rest []byte) {
	for _, addr := range x.Stack {
		s.batch.Frame(addr)
	}
	for ; len(rest) > 0; rest = rest[8:] {
		if addr := number64(rest, s.big); addr < contextMarkers {
			s.batch.Frame(addr)
		}
	}
	for i, b := range x.Branches {
		s.batch.Branch(b.From, b.To, x.Mispredicted>>i&1 != 0)
	}
	if u := x.User; u != nil {
		s.batch.Copy(u.Mask, u.Regs, u.Stack)
	}
	s.stats.Add(s.batch.End(*x))
	if s.batch.Size() > batchSize {
		s.give()
	}
}

// flushHeld adds the samples whose stack will not be completed.
func (s *session) flushHeld() {
	for _, number := range s.held.order {
		if s.stopped {
			break
		}
		for i := range s.held.samples[number] {
			s.bad(badDeferred, s.in.pos)
			s.put(&s.held.samples[number][i], nil)
		}
	}
	s.held = held{}
}

package sampleprof

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Merger sums profiles.
type Merger struct {
	sum   File
	index contextIndex // of the contexts of sum
	files int
}

// Errors of Merger.Add.
var (
	ErrContexts = errors.New("some profiles have contexts, others do not")
	ErrKeys     = errors.New("some profiles are keyed by pseudo probes, others by lines")
	ErrNames    = errors.New("some profiles have names, others MD5 hashes")
)

// Add adds a profile and takes over its samples. Functions with a different checksum than before are left out;
// Add returns their number. Attributes are those of the first profile that has the function.
func (m *Merger) Add(f *File) (differ int, err error) {
	switch {
	case m.files == 0:
		m.index = newContextIndex()
	case len(f.Contexts) == 0 || len(m.sum.Contexts) == 0: // one of the two is empty
	case f.HasContexts != m.sum.HasContexts:
		return 0, ErrContexts
	case f.HasProbes() != m.sum.HasProbes():
		return 0, ErrKeys
	case f.MD5 != m.sum.MD5:
		return 0, ErrNames
	}
	m.files++
	if len(m.sum.Contexts) == 0 {
		m.sum.HasContexts, m.sum.MD5 = f.HasContexts, f.MD5
	}
	m.sum.FS, m.sum.PreInlined = m.sum.FS || f.FS, m.sum.PreInlined || f.PreInlined
	for _, c := range f.Contexts {
		if i, fresh := m.index.find(c.Frames); !fresh {
			differ += m.sum.Contexts[i].Samples.Add(c.Samples)
			continue
		}
		m.sum.Contexts = append(m.sum.Contexts, c)
	}
	return differ, nil
}

// Sum returns the sum of what was added.
func (m *Merger) Sum() *File { return &m.sum }

// Scale multiplies all counts by n.
func (f *File) Scale(n uint64) {
	for _, c := range f.Contexts {
		c.Samples.scale(n)
	}
}

func (s *Samples) scale(n uint64) {
	s.Head, s.Sum = multiply(s.Head, n), multiply(s.Sum, n)
	for _, l := range s.Body {
		l.Count = multiply(l.Count, n)
		for name, calls := range l.Callees {
			l.Callees[name] = multiply(calls, n)
		}
	}
	for _, copies := range s.Inlined {
		for _, c := range copies {
			c.scale(n)
		}
	}
}

// multiply saturates at the greatest number.
func multiply(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

// contextIndex numbers contexts in the order in which it finds them.
type contextIndex struct {
	names map[string]uint32
	known map[string]int
	key   []byte
}

func newContextIndex() contextIndex {
	return contextIndex{names: map[string]uint32{}, known: map[string]int{}}
}

// look returns the number of a context that was found before. Keys have numbers instead of names, which are
// long and numerous in deep contexts.
func (x *contextIndex) look(frames []Frame) (i int, known bool) {
	x.key = x.key[:0]
	for k, f := range frames {
		id, ok := x.names[f.Func]
		if !ok {
			id = uint32(len(x.names))
			x.names[f.Func] = id
		}
		if k == len(frames)-1 {
			f.Call = Place{} // means nothing
		}
		for _, v := range []uint32{id, f.Call.Offset, f.Call.Discriminator} {
			x.key = binary.LittleEndian.AppendUint32(x.key, v)
		}
	}
	i, known = x.known[string(x.key)]
	return i, known
}

// find returns the number of a context, a fresh one if it was not found before.
func (x *contextIndex) find(frames []Frame) (i int, fresh bool) {
	i, known := x.look(frames)
	if !known {
		i = len(x.known)
		x.known[string(x.key)] = i
	}
	return i, !known
}

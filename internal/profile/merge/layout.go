// Package merge sums the records of the runs of a module: images of its raw section into the
// counts of a profile, and profiles into one another. Sums depend neither on the order of the
// files nor on their distribution among accumulators.
package merge

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Problem: a profile may be the sum of a hundred thousand images with ten thousand flags each,
// nearly all of them valid.
//
// Flags are summed eight at a time: an image is added to an array of uint64 lanes in which
// each byte counts one flag. After 255 images, before a byte can overflow, the lanes are added
// to 64-bit sums and cleared. Most of a section with only flags is one run of lanes; where
// flags share eight bytes with counters or with the record of a function that the linker
// dropped, a mask separates them. Lanes exist only for flags, so their number is limited by
// the length of the map and not by the section size that it claims.
//
// Counters are decoded one by one, but most functions of most programs never run, and each of
// these costs one load.

// minRun is the length from which a run of whole lanes is worth its loop.
const minRun = 4

// Layout describes the raw section of a module before an image is read. It is immutable and
// may be shared.
type Layout struct {
	m         *prof.Map
	odd       *oddFlags // the values of flags besides 0 and 1, or nil
	lanes     int
	runs      []run        // ascending, whole lanes of flags
	scattered []lane       // ascending, all other lanes
	counters  []counter    // ascending by offset
	slots     []slotRecord // ascending by record
	flags     []int        // by function: its first flag in the sums, or -1
	unions    []union      // ascending by function, then by block
	windows   []window     // of all unions
	groups    []unionGroup // ascending by function
	low, high uint64       // code is in (low, high) according to the map
}

// run is a number of adjacent chunks of eight bytes with only flags.
type run struct{ chunk, lane, n int }

// lane is a chunk of eight bytes, some of them flags.
type lane struct {
	chunk, lane int
	mask        uint64 // 0xff for each byte that is a flag
}

// counter has the words of a record that counts calls.
type counter struct {
	off  int // in the section
	size int // wire.CountSize or wire.FullHeaderSize
	fn   int

	atomic bool // counted by locked instructions

	plan *edges.Plan // how the blocks follow from the counters after the record, in mode edge
}

// oddFlags has the values that probes of Armv7 write, by chunk. They repeat after 256 bytes.
type oddFlags [32]uint64

func newOddFlags(rawAddr uint64) *oddFlags {
	o := new(oddFlags)
	for i := range len(o) * 8 {
		o[i/8] |= uint64(wire.OddFlag(rawAddr+uint64(i))) << (i % 8 * 8)
	}
	return o
}

// invalid returns 0 if each flag of a chunk is 0, 1 or its odd value. Most that are set have the odd value.
func (o *oddFlags) invalid(chunk int, flags uint64) uint64 {
	odd := o[chunk%len(o)]
	if flags == flags&flagMask*0xff&odd {
		return 0
	}
	return invalid(flags, odd)
}

// invalid returns 0 if each of eight flags is 0, 1 or equal to that of odd.
func invalid(flags, odd uint64) uint64 {
	const sevens = 0x7f * flagMask
	high := flags &^ flagMask
	set := (high>>1 + sevens) >> 7 & flagMask // a one for each flag above 1: no sum carries into the next byte
	return high ^ odd&^flagMask&(set*0xff) | set&^flags
}

// NewLayout returns the layout of m, which must obey the rules that package mip
// checks.
func NewLayout(m *prof.Map) *Layout {
	l := &Layout{m: m, flags: make([]int, len(m.Funcs)), low: math.MaxUint64}
	if m.Machine == machine.Arm.String() {
		l.odd = newOddFlags(m.RawAddr)
	}
	var chunks []lane
	for i := range m.Funcs {
		f := &m.Funcs[i]
		l.addCode(f)
		if f.Mode.HasCalls() && !f.Mode.Estimated() {
			c := counter{off: int(f.Record), size: wire.CountSize, fn: i, atomic: f.Atomic}
			if f.Mode == prof.ModeFull {
				c.size = wire.FullHeaderSize
			}
			if f.Mode.HasEdges() && f.NumBlocks() > 1 {
				c.plan = edges.NewPlan(f)
			}
			l.counters = append(l.counters, c)
		}
		start, n := flagsOf(f)
		chunks = appendChunks(chunks, start, n)
	}
	l.addUnions()
	l.addSlotRecords()
	stablesort.Func(l.counters, func(a, b counter) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.fn, b.fn)) })
	chunks = joinChunks(chunks)
	l.lanes = len(chunks)
	l.split(chunks)
	for i := range m.Funcs {
		l.flags[i] = -1
		if start, n := flagsOf(&m.Funcs[i]); n > 0 {
			k, _ := slices.BinarySearchFunc(chunks, start/8, func(c lane, chunk int) int { return cmp.Compare(c.chunk, chunk) })
			l.flags[i] = k*8 + start%8
		}
	}
	return l
}

// Counts reports whether calls are counted.
func (l *Layout) Counts() bool { return len(l.counters) > 0 }

// Map returns the map that the layout was made from.
func (l *Layout) Map() *prof.Map { return l.m }

// addCode widens the range of addresses that can be in the module.
func (l *Layout) addCode(f *prof.Func) {
	for k := range f.Fragments {
		fr := &f.Fragments[k]
		l.low = min(l.low, fr.Addr)
		l.high = max(l.high, fr.Addr+uint64(fr.Size))
	}
}

// site returns the return address for a displacement from the record of function fn, or 0 for one outside the
// module. A call may be the last instruction of the last function, and then returns to its end.
func (l *Layout) site(fn int, displacement int32) uint64 {
	addr := l.m.RawAddr + l.m.Funcs[fn].Record + uint64(int64(displacement))
	if displacement == wire.CallerOutside || addr <= l.low || addr > l.high {
		return 0
	}
	return addr
}

// flagsOf returns where in the section the flags of f are.
func flagsOf(f *prof.Func) (start, n int) {
	size := int(mip.RecordSize(f))
	start = int(f.Record)
	switch {
	case f.Mode == prof.ModeFull:
		return start + wire.FullHeaderSize, size - wire.FullHeaderSize
	case f.Mode.HasCalls():
		return start, 0
	}
	return start, size
}

// appendChunks appends the chunks that n flags at start touch.
func appendChunks(chunks []lane, start, n int) []lane {
	for end := start + n; start < end; {
		c := lane{chunk: start / 8}
		for ; start < end && start/8 == c.chunk; start++ {
			c.mask |= 0xff << (start % 8 * 8)
		}
		if last := len(chunks) - 1; last >= 0 && chunks[last].chunk == c.chunk {
			chunks[last].mask |= c.mask
		} else {
			chunks = append(chunks, c)
		}
	}
	return chunks
}

// joinChunks sorts chunks, merges equal ones, and numbers their lanes.
func joinChunks(chunks []lane) []lane {
	stablesort.Func(chunks, func(a, b lane) int { return cmp.Compare(a.chunk, b.chunk) })
	joined := chunks[:0]
	for _, c := range chunks {
		if last := len(joined) - 1; last >= 0 && joined[last].chunk == c.chunk {
			joined[last].mask |= c.mask
			continue
		}
		c.lane = len(joined)
		joined = append(joined, c)
	}
	return joined
}

// split sorts chunks into runs and the rest.
func (l *Layout) split(chunks []lane) {
	for i := 0; i < len(chunks); {
		n := 0
		for i+n < len(chunks) && chunks[i+n].mask == math.MaxUint64 && chunks[i+n].chunk == chunks[i].chunk+n {
			n++
		}
		if n >= minRun {
			l.runs = append(l.runs, run{chunk: chunks[i].chunk, lane: i, n: n})
			i += n
			continue
		}
		n = max(n, 1)
		l.scattered = append(l.scattered, chunks[i:i+n]...)
		i += n
	}
}

package merge

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// Problem: the number of runs of a block without a probe does not follow from the sums of the
// flags that imply it, if there are several: it ran in an image if any of them is set there.
// SQLite has 10,000 such blocks, implied by 28,000 others, and an image has 30,000 flags that
// are summed eight at a time.
//
// The flags that imply a block are mostly near it. So the flags of a union are read together
// if they are within eight bytes, with a load and a mask for each such window, and functions
// that did not run in the image are skipped. A block that a single other one implies needs no
// count of its own.

// union is a block that ran in an image if one of its windows is not zero.
type union struct{ from, to int } // into windows

// window is the part of eight bytes at an offset in the section that mask
// selects.
type window struct {
	off  int
	mask uint64
}

// unionGroup is the unions of one function.
type unionGroup struct {
	off, end int // of its record
	from, to int // into unions
}

// addUnions collects the unions of all functions.
func (l *Layout) addUnions() {
	for i := range l.m.Funcs {
		f := &l.m.Funcs[i]
		g := unionGroup{off: int(f.Record), from: len(l.unions)}
		for k := range f.Implied {
			if im := &f.Implied[k]; len(im.By) > 1 {
				from := len(l.windows)
				for _, by := range im.By {
					l.addEvidence(f, int(by), from)
				}
				l.unions = append(l.unions, union{from, len(l.windows)})
			}
		}
		if g.to = len(l.unions); g.to > g.from {
			g.end = g.off + int(mip.RecordSize(f))
			l.groups = append(l.groups, g)
		}
	}
}

// addEvidence adds to the windows, from the given one on, the flags of which one is set if a
// block with a probe ran. Blocks come in ascending order. The entry block of a function that
// counts its calls has a counter instead of a flag.
func (l *Layout) addEvidence(f *prof.Func, block, from int) {
	off := int(f.Record)
	if f.Mode == prof.ModeFull {
		if block == 0 {
			l.windows = append(l.windows, window{off, math.MaxUint64})
			return
		}
		off += wire.FullHeaderSize - 1
	}
	off += probeIndex(f, block)
	last := len(l.windows) - 1
	if last < from || off >= l.windows[last].off+8 {
		l.windows = append(l.windows, window{off: off})
		last++
	}
	w := &l.windows[last]
	w.mask |= 0xff << (8 * (off - w.off))
}

// probeIndex returns how many of the blocks before a block have a probe.
func probeIndex(f *prof.Func, block int) int {
	bare, _ := slices.BinarySearchFunc(f.Implied, block, func(im prof.Implied, block int) int { return int(im.Block) - block })
	return block - bare
}

// addUnions adds the unions of an image to the sums.
func (a *Accumulator) addUnions(data []byte) {
	for _, g := range a.l.groups {
		if g.off >= len(data) || isZero(data[g.off:min(g.end, len(data))]) {
			continue
		}
		sums := a.unions[g.from:g.to]
		for i, u := range a.l.unions[g.from:g.to] {
			ran := uint64(0)
			for _, w := range a.l.windows[u.from:u.to] {
				ran |= load(data, w.off) & w.mask
			}
			sums[i] += (ran | -ran) >> 63 // 1 unless ran is 0: a branch would often be predicted wrong
		}
	}
}

// load returns the eight bytes at off, zeros after the end of the data.
func load(data []byte, off int) uint64 {
	if off <= len(data)-8 {
		return binary.LittleEndian.Uint64(data[off:])
	}
	var b [8]byte
	copy(b[:], data[min(off, len(data)):])
	return binary.LittleEndian.Uint64(b[:])
}

func isZero(data []byte) bool {
	for ; len(data) >= 8; data = data[8:] {
		if binary.LittleEndian.Uint64(data) != 0 {
			return false
		}
	}
	for _, v := range data {
		if v != 0 {
			return false
		}
	}
	return true
}

// blockSums returns the sums of the non-entry blocks of f. flags are the sums of its flags,
// entry is that of its entry block, and unions are those of the unions from this function on;
// it returns the remaining unions.
func blockSums(f *prof.Func, flags []uint64, entry uint64, unions []uint64) (sums, rest []uint64) {
	n := f.NumBlocks()
	if n == 1 {
		return nil, unions
	}
	of := func(block int) uint64 {
		switch {
		case block == 0:
			return entry
		case f.Mode == prof.ModeFull:
			return flags[probeIndex(f, block)-1]
		}
		return flags[probeIndex(f, block)]
	}
	sums = make([]uint64, n-1)
	implied := f.Implied
	for b := 1; b < n; b++ {
		switch {
		case len(implied) == 0 || int(implied[0].Block) != b:
			sums[b-1] = of(b)
			continue
		case len(implied[0].By) == 1:
			sums[b-1] = of(int(implied[0].By[0]))
		default:
			sums[b-1], unions = unions[0], unions[1:]
		}
		implied = implied[1:]
	}
	return sums, unions
}

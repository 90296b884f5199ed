package objfile

import "github.com/cairnprof/cairn/internal/bytecur"

// firstRange returns the start of the first range of a function, which contains its entry.
func (r *entryReader) firstRange(u *entryUnit, v attrValue) (first uint64, ok bool) {
	r.eachRange(u, v, func(lo, _ uint64) bool {
		first, ok = lo, true
		return false
	})
	return first, ok
}

// maxRangeSteps limits the entries of range lists that are read: all entries of a damaged file
// may refer to one long list.
const maxRangeSteps = 1 << 26

// eachRange calls visit with the non-empty ranges that an attribute refers to, until visit
// returns false, or the list ends or is invalid.
func (r *entryReader) eachRange(u *entryUnit, v attrValue, visit func(lo, hi uint64) bool) {
	if v.form == 0 {
		return
	}
	form, at := r.raw(u, v)
	if u.version < 5 {
		r.ranges4(u, at, visit)
		return
	}
	if form == formRnglistx {
		if at > uint64(len(r.rnglists)) {
			return
		}
		b := bytesAt(r.rnglists, u.rangesBase+at*u.offsetSize(), u.offsetSize())
		if b == nil {
			return
		}
		at = u.rangesBase + little(b)
	}
	r.ranges5(u, at, visit)
}

// ranges4 reads the list at an offset of .debug_ranges (DWARF 4, 2.17.3).
func (r *entryReader) ranges4(u *entryUnit, at uint64, visit func(lo, hi uint64) bool) {
	base, size := u.lowPC, uint64(u.addrSize)
	for at += u.rangesBase; ; at += 2 * size {
		b := bytesAt(r.ranges, at, 2*size)
		if b == nil {
			return
		}
		lo, hi := little(b[:size]), little(b[size:])
		r.rangeSteps++
		switch {
		case lo == 0 && hi == 0 || r.rangeSteps > maxRangeSteps:
			return
		case lo == 1<<(8*size)-1:
			base = hi
		case base+lo < base+hi && !visit(base+lo, base+hi):
			return
		}
	}
}

// Kinds of entries of lists of ranges (DWARF 5, 7.25).
const (
	rangeBaseIndex   = 1
	rangeIndexes     = 2
	rangeIndexLength = 3
	rangeOffsets     = 4
	rangeBase        = 5
	rangeAddresses   = 6
	rangeLength      = 7
)

// ranges5 reads the list at an offset of .debug_rnglists.
func (r *entryReader) ranges5(u *entryUnit, at uint64, visit func(lo, hi uint64) bool) {
	if at >= uint64(len(r.rnglists)) {
		return
	}
	base := u.lowPC
	c := bytecur.New(r.rnglists[at:], int64(at))
	indexed := func() uint64 {
		addr, ok := r.indexedAddress(u, c.Uvarint())
		if !ok {
			c.Failf("an address that is not in .debug_addr")
		}
		return addr
	}
	for ; r.rangeSteps <= maxRangeSteps; r.rangeSteps++ {
		var lo, hi uint64
		switch kind := c.U8(); kind {
		case rangeBaseIndex:
			base = indexed()
			continue
		case rangeBase:
			base = fixed(c, u.addrSize)
			continue
		case rangeIndexes:
			lo, hi = indexed(), indexed()
		case rangeIndexLength:
			lo = indexed()
			hi = lo + c.Uvarint()
		case rangeOffsets:
			lo, hi = base+c.Uvarint(), base+c.Uvarint()
		case rangeAddresses:
			lo, hi = fixed(c, u.addrSize), fixed(c, u.addrSize)
		case rangeLength:
			lo = fixed(c, u.addrSize)
			hi = lo + c.Uvarint()
		default: // the end, or damage
			return
		}
		if c.Err() != nil || lo < hi && !visit(lo, hi) {
			return
		}
	}
}

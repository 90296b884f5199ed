package pseudoprobe

import "github.com/cairnprof/cairn/internal/stablesort"

// Kind is the kind of a probe's place.
type Kind uint8

// The kinds.
const (
	Block Kind = iota
	IndirectCall
	DirectCall
)

// Probe maps an address to a block or a call of a function.
type Probe struct {
	Addr uint64
	// ID is the number of the block or call in its function, 1 for the entry.
	ID            uint32
	Discriminator uint32 // distinguishes copies of a block
	Copy          uint32 // index into Table.Copies: of which function, and inlined where
	Kind          Kind
}

// IsCall reports whether the probe is of a call.
func (p *Probe) IsCall() bool { return p.Kind == IndirectCall || p.Kind == DirectCall }

// IsEntry reports whether the probe is of the block that its function begins with.
func (p *Probe) IsEntry() bool { return p.Kind == Block && p.ID == 1 }

// TopLevel is the Parent of a copy that was not inlined.
const TopLevel = ^uint32(0)

// Copy is a function in the code, or one that was inlined.
type Copy struct {
	GUID   uint64
	Parent uint32 // index of the copy it was inlined into, or TopLevel
	Site   uint32 // ID of the call in Parent, 0 if that was lost
	// Its own probes are Table.Probes[First:First+Count].
	First, Count uint32
}

// Inlined reports whether the copy is one that was inlined.
func (c *Copy) Inlined() bool { return c.Parent != TopLevel }

// Table are the probes of a binary.
type Table struct {
	Probes []Probe // in the order of the section
	Copies []Copy  // parents before what was inlined into them

	byAddr []uint32 // indexes of Probes, ascending by address, then as they are
}

// index makes byAddr.
func (t *Table) index() {
	t.byAddr = make([]uint32, len(t.Probes))
	for i := range t.byAddr {
		t.byAddr[i] = uint32(i)
	}
	stablesort.Func(t.byAddr, func(a, b uint32) int {
		x, y := t.Probes[a].Addr, t.Probes[b].Addr
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a) - int(b)
	})
}

// Between returns the indexes of the probes in [lo, hi], ascending by address, and
// at one address in the order of the section.
func (t *Table) Between(lo, hi uint64) []uint32 {
	from := t.search(lo)
	to := len(t.byAddr)
	if hi < ^uint64(0) {
		to = t.search(hi + 1)
	}
	if to < from {
		return nil
	}
	return t.byAddr[from:to]
}

// search returns the position in byAddr of the first probe at addr or above.
func (t *Table) search(addr uint64) int {
	i, end := 0, len(t.byAddr)
	for i < end {
		if mid := int(uint(i+end) / 2); t.Probes[t.byAddr[mid]].Addr < addr {
			i = mid + 1
		} else {
			end = mid
		}
	}
	return i
}

// CallAt returns the index of the call probe at an address, and whether there is one. If there are several, it
// is the first.
func (t *Table) CallAt(addr uint64) (uint32, bool) {
	for k := t.search(addr); k < len(t.byAddr) && t.Probes[t.byAddr[k]].Addr == addr; k++ {
		if i := t.byAddr[k]; t.Probes[i].IsCall() {
			return i, true
		}
	}
	return 0, false
}

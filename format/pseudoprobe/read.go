package pseudoprobe

import (
	"math"

	"github.com/cairnprof/cairn/internal/bytecur"
)

const (
	maxInlining = 1 << 12 // copies inside each other
	minCopy     = 10      // bytes of a copy, 11 of an inlined one
	minProbe    = 3       // bytes of a probe

	kindMask         = 0x0f
	attrSentinel     = 2 << 4
	attrDiscriminant = 4 << 4
	relative         = 0x80
)

// Options describe the binary to Read.
type Options struct {
	// Start returns the address of the symbol whose name has this GUID, 0 if there
	// is none.
	Start func(guid uint64) uint64
	// Keep reports which functions to read, with all that was inlined into them. nil is all.
	Keep func(guid uint64) bool
}

// Read reads the contents of .pseudo_probe.
func Read(section []byte, o Options) (*Table, error) {
	if len(section) > math.MaxUint32 {
		return nil, errTooLarge
	}
	// The first pass counts, so that the arrays are allocated once in their final size.
	r := reader{Options: o, cur: bytecur.New(section, 0), counting: true}
	if err := r.read(); err != nil {
		return nil, err
	}
	t := &Table{Probes: make([]Probe, 0, r.probes), Copies: make([]Copy, 0, r.copies)}
	r = reader{Options: o, cur: bytecur.New(section, 0), table: t}
	if err := r.read(); err != nil {
		return nil, err
	}
	t.index()
	return t, nil
}

type reader struct {
	Options

	cur      *bytecur.Cursor
	counting bool // the first pass: no table is filled
	table    *Table
	probes   int // number of probes found so far
	copies   int

	keep bool // the function that is being read is wanted
	// last is the address that the next one is relative to.
	last uint64
	// absolute: the section has addresses, of an old compiler, and none is
	// relative to a symbol.
	absolute bool
	open     []openCopy
}

// openCopy is a copy of which not all inlinees were read.
type openCopy struct {
	index    uint32
	inlinees int
}

// read reads all records.
func (r *reader) read() error {
	for r.cur.Len() > 0 {
		r.copy(TopLevel, 0)
		for len(r.open) > 0 && r.cur.Err() == nil {
			in := &r.open[len(r.open)-1]
			if in.inlinees == 0 {
				r.open = r.open[:len(r.open)-1]
				continue
			}
			in.inlinees--
			site := r.id()
			r.copy(in.index, site)
		}
	}
	return r.cur.Err()
}

// copy reads a function, except for its inlinees.
func (r *reader) copy(parent, site uint32) {
	c := r.cur
	if len(r.open) == maxInlining {
		c.Failf("functions are inlined more than %d deep", maxInlining)
		return
	}
	guid := c.U64()
	if parent == TopLevel {
		r.keep = r.Keep == nil || r.Keep(guid)
		if addr := r.start(guid); addr != 0 && !r.absolute {
			r.last = addr
		}
	}
	probes := c.Count("probes", math.MaxUint32, minProbe)
	inlinees := c.Count("inlined functions", math.MaxUint32, minCopy+1)
	if c.Err() != nil {
		return
	}
	index := uint32(r.copies)
	if r.keep {
		r.copies++
		if !r.counting {
			r.table.Copies = append(r.table.Copies, Copy{GUID: guid, Parent: parent, Site: site, First: uint32(r.probes)})
		}
	}
	for range probes {
		if r.probe(index); c.Err() != nil {
			return
		}
	}
	r.open = append(r.open, openCopy{index, inlinees})
}

// probe reads a probe of a copy.
func (r *reader) probe(of uint32) {
	c := r.cur
	p := Probe{ID: r.id(), Copy: of}
	packed := c.U8()
	p.Kind = Kind(packed & kindMask)
	sentinel := packed&attrSentinel != 0
	switch {
	case packed&relative != 0:
		p.Addr = r.last + uint64(c.Sleb())
	case sentinel:
		symbol := c.U64()
		if p.Addr = r.start(symbol); p.Addr == 0 {
			p.Addr = symbol // no address of this program: its probes are found nowhere
		}
	default:
		p.Addr = c.U64()
		r.absolute = true
	}
	r.last = p.Addr
	if packed&attrDiscriminant != 0 {
		p.Discriminator = r.id()
	}
	if !r.keep || sentinel {
		return
	}
	r.probes++
	if !r.counting {
		r.table.Probes = append(r.table.Probes, p)
		r.table.Copies[of].Count++
	}
}

// id reads a number that has 32 bits at most.
func (r *reader) id() uint32 {
	off := r.cur.Off()
	n := r.cur.Uvarint()
	if n > math.MaxUint32 {
		r.cur.FailAt(off, "the number %d exceeds 32 bits", n)
	}
	return uint32(n)
}

func (r *reader) start(guid uint64) uint64 {
	if r.Start == nil {
		return 0
	}
	return r.Start(guid)
}

// Package datatrace orders the variables and constants of a program by first access, and
// counts the pages of data that a run touches. Accesses come from a trace of valgrind's tool
// lackey:
//
//	valgrind --tool=lackey --trace-mem=yes --log-file=TRACE ./app
//
// A trace has a line for each instruction and each access, with its address and size:
//
//	I  0010f040,4
//	 L 1ffefff8d8,8
//	 S 0012a018,4
//
// The trace does not contain the load address. It is determined from the first instructions of
// the program, which are found in the trace by their lengths and by the offset of the entry
// point in its page.
package datatrace

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// PageSize is the size of the pages that are counted.
const PageSize = 4096

// Object is a variable or constant.
type Object struct {
	Name    string
	Addr    uint64 // link-time address
	Size    uint64
	Section int // index in the sections of the program
}

// Section is a section with data.
type Section struct {
	Name       string
	Addr, Size uint64
}

// Program describes the traced program.
type Program struct {
	Sections []Section
	Objects  []Object // in the sections, in any order
	Entry    uint64
	Lengths  []int // of the instructions from Entry on
}

// granule is the number of bytes in one unit of the recording.
const granule = 8

// Recorder records the traces of a program.
type Recorder struct {
	program  *Program
	objects  []Object // by address
	lo, hi   uint64   // of the sections
	seen     []uint8  // by granule from lo on: 1 more than the offset of the first access in it, 0 if there was none
	touched  []int32  // objects by their first access
	byObject []bool
}

// maxData limits the sections of a program together with the space between them.
const maxData = 1 << 30

// New returns a Recorder for a program.
func New(p *Program) (*Recorder, error) {
	if len(p.Sections) == 0 || len(p.Objects) == 0 {
		return nil, errors.New("no symbols of data: give the unstripped program")
	}
	r := &Recorder{program: p, objects: slices.Clone(p.Objects), lo: ^uint64(0)}
	for _, s := range p.Sections {
		if s.Size > maxData || s.Addr > ^uint64(0)-s.Size {
			return nil, errors.New("invalid section " + s.Name)
		}
		r.lo, r.hi = min(r.lo, s.Addr), max(r.hi, s.Addr+s.Size)
	}
	r.lo &^= granule - 1
	if r.hi-r.lo > maxData {
		return nil, errors.New("sections of data are more than 1 GiB apart")
	}
	stablesort.Func(r.objects, func(a, b Object) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Size, a.Size)) })
	r.seen = make([]uint8, (r.hi-r.lo+granule-1)/granule)
	r.byObject = make([]bool, len(r.objects))
	return r, nil
}

// access records an access at a link-time address.
func (r *Recorder) access(addr, size uint64) {
	if addr >= r.hi || addr+size <= r.lo || addr+size < addr {
		return
	}
	for g := max(addr, r.lo) &^ (granule - 1); g < min(addr+size, r.hi); g += granule {
		i := (g - r.lo) / granule
		if r.seen[i] != 0 {
			continue
		}
		from := max(addr, g, r.lo)
		r.seen[i] = uint8(from-g) + 1
		r.note(from, min(addr+size, g+granule))
	}
}

// note records accesses to the objects in a range.
func (r *Recorder) note(lo, hi uint64) {
	for i := r.objectAt(lo); i < len(r.objects) && r.objects[i].Addr < hi; i++ {
		if o := &r.objects[i]; o.Addr+o.Size > lo && !r.byObject[i] {
			r.byObject[i] = true
			r.touched = append(r.touched, int32(i))
		}
	}
}

// objectAt returns the last object that begins at or before an address, or the first object;
// if several are at one address, the first of them.
func (r *Recorder) objectAt(addr uint64) int {
	i, _ := slices.BinarySearchFunc(r.objects, addr, func(o Object, addr uint64) int {
		if o.Addr <= addr {
			return -1
		}
		return 1
	})
	for i = max(0, i-1); i > 0 && r.objects[i-1].Addr == r.objects[i].Addr; {
		i--
	}
	return i
}

// Order returns the objects by first access, one for each name.
func (r *Recorder) Order() []Object {
	var out []Object
	names := map[string]bool{}
	for _, i := range r.touched {
		if o := r.objects[i]; !names[o.Name] {
			names[o.Name] = true
			out = append(out, o)
		}
	}
	return out
}

// Pages returns how many pages of data were touched, and an estimate for a layout in which the
// touched objects come first in their sections, in order of first access, followed by all
// others.
func (r *Recorder) Pages() (now, ordered int) {
	before, after := map[uint64]bool{}, map[uint64]bool{}
	moved := r.layout()
	for i, seen := range r.seen {
		if seen == 0 {
			continue
		}
		addr := r.lo + uint64(i)*granule + uint64(seen-1)
		before[addr/PageSize] = true
		after[moved.address(addr)/PageSize] = true
	}
	return len(before), len(after)
}

// layout maps addresses to new ones: addresses between one move and the next stay together.
type layout []move

type move struct{ from, to uint64 }

func (l layout) address(addr uint64) uint64 {
	i, _ := slices.BinarySearchFunc(l, addr, func(m move, addr uint64) int {
		if m.from <= addr {
			return -1
		}
		return 1
	})
	if i == 0 {
		return addr
	}
	return addr - l[i-1].from + l[i-1].to
}

// layout places the touched objects first in each section.
func (r *Recorder) layout() layout {
	const align = 16
	up := func(v uint64) uint64 { return (v + align - 1) &^ (align - 1) }
	place := map[int]uint64{}
	next := make([]uint64, len(r.program.Sections))
	for i, s := range r.program.Sections {
		next[i] = s.Addr
	}
	for _, i := range r.touched {
		o := &r.objects[i]
		if r.objectAt(o.Addr) == int(i) { // not an alias
			place[int(i)] = up(next[o.Section])
			next[o.Section] = place[int(i)] + o.Size
		}
	}
	var l layout
	for i, s := range r.program.Sections {
		at, rest := s.Addr, up(next[i]) // the beginning of data that is not moved to the front, and its new address
		for k := r.objectAt(s.Addr); k < len(r.objects) && r.objects[k].Addr < s.Addr+s.Size; k++ {
			o := &r.objects[k]
			to, ok := place[k]
			if !ok || o.Section != i || o.Addr < at { // an object within another is moved with it
				continue
			}
			l = append(l, move{at, rest}, move{o.Addr, to})
			rest += o.Addr - at
			at = o.Addr + o.Size
		}
		l = append(l, move{at, rest})
	}
	stablesort.Func(l, func(a, b move) int { return cmp.Compare(a.from, b.from) })
	return l
}

// Bytes returns the size of the objects that were touched.
func (r *Recorder) Bytes() (n uint64) {
	for _, i := range r.touched {
		n += r.objects[i].Size
	}
	return n
}

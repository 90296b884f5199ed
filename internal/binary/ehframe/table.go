package ehframe

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: a walk of copied stacks needs the rules of some hundred functions, and .eh_frame of the C library has those of
// four thousand, of a C++ library of ten thousand. To execute all instructions takes longer than such walks.
//
// Choice: only the ranges of functions are read at first. Where they do not overlap, as in all tables but damaged ones, the rules
// of a function do not depend on others, and are made when they are first needed.

// Table is .eh_frame of a module. It is safe for concurrent use. A nil Table is empty.
type Table struct {
	section []byte
	addr    uint64
	of      machine.Kind

	all  sync.Once
	rows []Row

	read   sync.Once
	frames []lazyFrame // ascending; nil if ranges overlap
	// blocks has, for each block of 1<<shift bytes of the code, the last frame that does not begin after the block does.
	blocks []uint32
	shift  uint
}

// lazyFrame is a function, and its rules if they have been needed.
type lazyFrame struct {
	lo, hi     uint64
	from, size uint32 // of its instructions in the section
	cie        *cie
	rows       atomic.Pointer[[]Row]
}

// NewTable returns the table in a section, which is at addr, of a program for a machine.
func NewTable(section []byte, addr uint64, of machine.Kind) *Table {
	return &Table{section: section, addr: addr, of: of}
}

// TableOf returns a table with rows in ascending order of addresses.
func TableOf(rows []Row) *Table {
	t := &Table{rows: rows}
	t.all.Do(func() {})
	t.read.Do(func() {})
	return t
}

// Rows returns all rows, as the function Rows does, as far as they can be read.
func (t *Table) Rows() []Row {
	if t == nil {
		return nil
	}
	t.all.Do(func() { t.rows, _ = Rows(t.section, t.addr, t.of) })
	return t.rows
}

// Lazy reports whether At can be used.
func (t *Table) Lazy() bool {
	if t == nil {
		return false
	}
	t.read.Do(t.readFrames)
	return len(t.frames) > 0
}

// At returns the row at a link-time address of a table that is Lazy, nil if no function has it. Its PC may be that of a later row
// than the same one of Rows, where that is equal to the row before.
func (t *Table) At(addr uint64) *Row {
	k := t.frame(addr)
	if k < 0 || addr >= t.frames[k].hi {
		return nil
	}
	rows := t.load(&t.frames[k])
	i := len(rows) - 1
	for i > 0 && rows[i].PC > addr {
		i--
	}
	if i < 0 || rows[i].PC > addr {
		return nil
	}
	return &rows[i]
}

// BeforeStart reports whether there is no rule at an address of a table that is Lazy, and the first rule after it is that of code
// without a caller, with which programs and threads begin.
func (t *Table) BeforeStart(addr uint64) bool {
	k := t.frame(addr)
	if k < 0 {
		return false
	}
	if at := t.At(addr); at != nil && at.CFA != CFAUnknown {
		return false
	}
	for ; k < len(t.frames); k++ {
		for _, row := range t.load(&t.frames[k]) {
			if row.PC > addr && row.CFA != CFAUnknown {
				return row.Return == ReturnNone
			}
		}
	}
	return false
}

// load returns the rules of a function.
func (t *Table) load(f *lazyFrame) []Row {
	rows := f.rows.Load()
	if rows == nil {
		rows = t.rowsOf(f)
		f.rows.Store(rows)
	}
	return *rows
}

// frame returns the index of the last function that begins at or before an address, -1 if there is none.
func (t *Table) frame(addr uint64) int {
	first := t.frames[0].lo
	if addr < first {
		return -1
	}
	block := min((addr-first)>>t.shift, uint64(len(t.blocks)-1))
	i, end := int(t.blocks[block]), len(t.frames)-1
	if block+1 < uint64(len(t.blocks)) {
		end = int(t.blocks[block+1])
	}
	for i < end {
		if mid := (i + end + 1) / 2; t.frames[mid].lo <= addr {
			i = mid
		} else {
			end = mid - 1
		}
	}
	return i
}

// rowsOf executes the instructions of a function.
func (t *Table) rowsOf(f *lazyFrame) *[]Row {
	var rows []Row
	m := unwinder{of: registersOf(t.of), cie: f.cie, state: f.cie.start, pc: f.lo}
	m.run(bytecur.New(t.section[f.from:][:f.size], int64(t.addr)+int64(f.from)), func() {
		if m.pc < f.hi {
			rows = append(rows, m.row())
		}
	})
	if !slices.IsSortedFunc(rows, func(a, b Row) int { return cmp.Compare(a.PC, b.PC) }) {
		stablesort.Func(rows, func(a, b Row) int { return cmp.Compare(a.PC, b.PC) })
	}
	rows = compact(rows)
	return &rows
}

// readFrames reads the ranges of functions.
func (t *Table) readFrames() {
	const perFrame = 32 // bytes of a section for each function, or more
	shared, of := map[uint64]*cie{}, registersOf(t.of)
	found := make([]lazyFrame, 0, len(t.section)/perFrame)
	_ = entries(t.section, t.addr, false, func(at uint64, c *bytecur.Cursor) {
		shared[at] = readStart(c, of)
	}, func(_, of uint64, c *bytecur.Cursor) {
		common := shared[of]
		if common == nil {
			return
		}
		if lo, hi, ok := readRange(c, common); ok {
			from := uint64(c.Off()) - t.addr
			found = append(found, lazyFrame{lo: lo, hi: hi, from: uint32(from), size: uint32(c.Len()), cie: common})
		}
	})
	order := make([]int32, len(found))
	for i := range order {
		order[i] = int32(i)
	}
	byLo := func(a, b int32) int { return cmp.Compare(found[a].lo, found[b].lo) }
	if !slices.IsSortedFunc(order, byLo) {
		slices.SortFunc(order, byLo)
	}
	frames := make([]lazyFrame, len(found))
	for i, k := range order {
		f := &found[k]
		if i > 0 && frames[i-1].hi > f.lo {
			return
		}
		frames[i].lo, frames[i].hi, frames[i].from, frames[i].size, frames[i].cie = f.lo, f.hi, f.from, f.size, f.cie
	}
	t.frames = frames
	t.index()
}

// index makes the blocks.
func (t *Table) index() {
	if len(t.frames) == 0 {
		return
	}
	first := t.frames[0].lo
	span := t.frames[len(t.frames)-1].lo - first
	t.shift = uint(bits.Len64(span / uint64(len(t.frames))))
	t.blocks = make([]uint32, span>>t.shift+1)
	frame := 0
	for i := range t.blocks {
		for begin := first + uint64(i)<<t.shift; frame+1 < len(t.frames) && t.frames[frame+1].lo <= begin; {
			frame++
		}
		t.blocks[i] = uint32(frame)
	}
}

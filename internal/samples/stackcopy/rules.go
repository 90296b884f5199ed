package stackcopy

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// Rules are the unwind rules of a module. They are immutable, and safe for concurrent use.
type Rules struct {
	rows []ehframe.Row // ascending
	// blocks has, for each block of 1<<shift bytes of the code, the last row that does not begin
	// after the block does. A block has few rows, as there are about as many blocks as rows.
	blocks []uint32
	shift  uint

	lazy *ehframe.Table // in place of them, if it is not nil
	full func() *Rules  // of lazy
}

// LazyRules returns the rules of a table, those of a function when they are first needed.
func LazyRules(t *ehframe.Table) *Rules {
	if !t.Lazy() {
		return NewRules(t.Rows())
	}
	return &Rules{lazy: t, full: sync.OnceValue(func() *Rules { return NewRules(t.Rows()) })}
}

// NewRules returns the rules of rows in ascending order of addresses, which it keeps.
func NewRules(rows []ehframe.Row) *Rules {
	r := &Rules{rows: rows}
	if len(rows) == 0 {
		return r
	}
	span := rows[len(rows)-1].PC - rows[0].PC
	r.shift = uint(bits.Len64(span / uint64(len(rows))))
	r.blocks = make([]uint32, span>>r.shift+1)
	row := 0
	for i := range r.blocks {
		begin := rows[0].PC + uint64(i)<<r.shift
		for row+1 < len(rows) && rows[row+1].PC <= begin {
			row++
		}
		r.blocks[i] = uint32(row)
	}
	return r
}

// At returns the rule at a link-time address, nil if there is none. Where it begins is not known of lazy rules.
func (r *Rules) At(addr uint64) *ehframe.Row {
	if r.lazy != nil {
		return r.lazy.At(addr)
	}
	return r.exactly(addr)
}

// all returns the rules with all rows.
func (r *Rules) all() *Rules {
	if r.lazy != nil {
		return r.full()
	}
	return r
}

// exactly is At for rules with all rows.
func (r *Rules) exactly(addr uint64) *ehframe.Row {
	if len(r.rows) == 0 || addr < r.rows[0].PC {
		return nil
	}
	block := (addr - r.rows[0].PC) >> r.shift
	if block >= uint64(len(r.blocks)) {
		return &r.rows[len(r.rows)-1]
	}
	i, end := int(r.blocks[block]), len(r.rows)-1
	if block+1 < uint64(len(r.blocks)) {
		end = int(r.blocks[block+1])
	}
	const few = 8
	if end-i > few {
		n, found := slices.BinarySearchFunc(r.rows[i:end+1], addr, func(row ehframe.Row, at uint64) int { return cmp.Compare(row.PC, at) })
		if !found {
			n--
		}
		return &r.rows[i+n]
	}
	for i < end && r.rows[i+1].PC <= addr {
		i++
	}
	return &r.rows[i]
}

// beforeStart reports whether an address is in a gap of the table before the code with which threads begin.
func (r *Rules) beforeStart(addr uint64) bool {
	if r.lazy != nil {
		return r.lazy.BeforeStart(addr)
	}
	n, found := slices.BinarySearchFunc(r.rows, addr, func(row ehframe.Row, at uint64) int { return cmp.Compare(row.PC, at) })
	if found {
		n++
	}
	return 0 < n && n < len(r.rows) && r.rows[n-1].CFA == ehframe.CFAUnknown && r.rows[n].Return == ehframe.ReturnNone
}

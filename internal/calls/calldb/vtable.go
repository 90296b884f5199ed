package calldb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"modernc.org/sqlite/vtab"
)

// A virtual table makes rows of type R while a query runs.
type virtual[R any] struct {
	live   *live
	schema string
	// numbers are the columns whose conditions scan is given: whole numbers, never NULL.
	// name is the column with the name of a function, -1 for none.
	numbers []int
	name    int
	// cost estimates a scan.
	cost func(*vtab.IndexInfo, *plan)
	// scan yields the rows that w wants, and possibly others, until yield returns false.
	scan   func(w *want, row func(*R) bool) error
	number func(*R, int) int64
	value  func(*R, int) driver.Value
	rowid  func(*R) int64
}

// plan lists the conditions on a table: columns by their kind of bound.
type plan struct{ equal, below, above map[int]bool }

// want describes the rows of a scan. Bounds are inclusive.
type want struct {
	none   bool // no row can be wanted
	bounds []bound
	name   *string // of a function, folded
}

type bound struct {
	column int
	lo, hi int64
}

// of returns the bounds of a column.
func (w *want) of(column int) (lo, hi int64) {
	for _, b := range w.bounds {
		if b.column == column {
			return b.lo, b.hi
		}
	}
	return math.MinInt64, math.MaxInt64
}

// bounded reports whether one of some columns has a bound.
func (w *want) bounded(columns ...int) bool {
	for _, c := range columns {
		if lo, hi := w.of(c); lo != math.MinInt64 || hi != math.MaxInt64 {
			return true
		}
	}
	return false
}

// A module gives SQLite a table.
type module[R any] struct{ table *virtual[R] }

func (m *module[R]) release() { m.table = nil }

func (m *module[R]) Create(c vtab.Context, _ []string) (vtab.Table, error) {
	if m.table == nil {
		return nil, errors.New("the logs are closed")
	}
	return m.table, c.Declare(m.table.schema)
}

func (m *module[R]) Connect(c vtab.Context, args []string) (vtab.Table, error) {
	return m.Create(c, args)
}

func (*virtual[R]) Disconnect() error { return nil }
func (*virtual[R]) Destroy() error    { return nil }

func (t *virtual[R]) Open() (vtab.Cursor, error) { return &cursor[R]{table: t}, nil }

// operators are the conditions that are passed on, as the plan writes them.
var operators = map[vtab.ConstraintOp]byte{
	vtab.OpEQ: '=', vtab.OpIS: '=', vtab.OpLT: '<', vtab.OpLE: 'l', vtab.OpGT: '>', vtab.OpGE: 'g',
}

// BestIndex accepts the conditions that narrow a scan. SQLite checks them again, so its rules of comparison are
// not repeated here.
func (t *virtual[R]) BestIndex(info *vtab.IndexInfo) error {
	p := &plan{make(map[int]bool), make(map[int]bool), make(map[int]bool)}
	var text strings.Builder
	args := 0
	for i := range info.Constraints {
		c := &info.Constraints[i]
		op, ok := operators[c.Op]
		if !ok || !c.Usable || !t.filters(c.Column, op) {
			continue
		}
		c.ArgIndex = args
		args++
		fmt.Fprintf(&text, "%c%d ", op, c.Column)
		switch op {
		case '=':
			p.equal[c.Column] = true
		case '<', 'l':
			p.below[c.Column] = true
		default:
			p.above[c.Column] = true
		}
	}
	info.IdxStr = text.String()
	t.cost(info, p)
	return nil
}

func (t *virtual[R]) filters(column int, op byte) bool {
	if column == t.name {
		return op == '='
	}
	for _, n := range t.numbers {
		if n == column {
			return true
		}
	}
	return false
}

// wanted returns the conditions of a plan as a want.
func (t *virtual[R]) wanted(text string, args []vtab.Value) *want {
	w := &want{}
	for i, word := range strings.Fields(text) {
		column, err := strconv.Atoi(word[1:])
		if err != nil || i >= len(args) {
			continue
		}
		if args[i] == nil {
			w.none = true // nothing is equal to NULL, less, or greater
			continue
		}
		if column == t.name {
			if s, ok := args[i].(string); ok {
				s = folded(s)
				w.none = w.none || w.name != nil && *w.name != s
				w.name = &s
			}
			continue
		}
		if lo, hi, ok := interval(word[0], args[i]); ok {
			w.narrow(column, lo, hi)
		}
	}
	return w
}

// narrow adds a bound.
func (w *want) narrow(column int, lo, hi int64) {
	at := -1
	for i, b := range w.bounds {
		if b.column == column {
			at = i
		}
	}
	if at < 0 {
		at = len(w.bounds)
		w.bounds = append(w.bounds, bound{column, math.MinInt64, math.MaxInt64})
	}
	b := &w.bounds[at]
	b.lo, b.hi = max(b.lo, lo), min(b.hi, hi)
	w.none = w.none || b.lo > b.hi
}

// interval returns the integers for which a comparison with v holds. It is not ok if v is not a number: SQLite
// may convert it to one.
func interval(op byte, v vtab.Value) (lo, hi int64, ok bool) {
	lo, hi = math.MinInt64, math.MaxInt64
	switch v := v.(type) {
	case int64:
		switch {
		case op == '=':
			return v, v, true
		case op == 'l':
			return lo, v, true
		case op == 'g':
			return v, hi, true
		case op == '<' && v == lo, op == '>' && v == hi:
			return 1, 0, true
		case op == '<':
			return lo, v - 1, true
		default:
			return v + 1, hi, true
		}
	case float64:
		below, above := math.Floor(v), math.Ceil(v)
		if math.IsNaN(v) || below < -(1<<62) || above > 1<<62 {
			return lo, hi, false
		}
		whole := below == above
		switch {
		case op == '=' && !whole:
			return 1, 0, true
		case op == '=', op == 'l' && whole, op == 'g' && whole:
			return interval(op, int64(v))
		case op == '<' && whole, op == '>' && whole:
			return interval(op, int64(v))
		case op == '<', op == 'l':
			return lo, int64(below), true
		default:
			return int64(above), hi, true
		}
	}
	return lo, hi, false
}

// folded returns a form of a name that is the same for all names that any collation of SQLite considers equal.
func folded(s string) string { return strings.ToLower(strings.TrimRight(s, " ")) }

// A cursor iterates over the rows of a scan. A separate goroutine reads the log, some blocks of rows ahead.
type cursor[R any] struct {
	table *virtual[R]
	scan  *scan[R] // nil if no row can be wanted
	block []R
	at    int
}

// Blocks grow, so that a query with LIMIT 1 reads little in excess.
const (
	firstBlock  = 4
	mostBlock   = 512
	blocksAhead = 2
)

// scan is a goroutine that makes rows.
type scan[R any] struct {
	full chan []R // closed at the end, when err is set
	free chan []R // blocks whose rows were taken
	stop chan struct{}
	err  error
}

func (c *cursor[R]) Filter(_ int, text string, args []vtab.Value) error {
	if err := c.Close(); err != nil {
		return err
	}
	c.block, c.at = nil, 0
	w := c.table.wanted(text, args)
	if w.none {
		return nil
	}
	c.scan = &scan[R]{full: make(chan []R, blocksAhead), free: make(chan []R, blocksAhead+2), stop: make(chan struct{})}
	go c.scan.run(c.table, w)
	return c.fill()
}

// run yields the rows that w wants, until the scan is stopped.
func (s *scan[R]) run(t *virtual[R], w *want) {
	defer close(s.full)
	block, most := make([]R, 0, firstBlock), firstBlock
	s.err = t.scan(w, func(r *R) bool {
		for _, b := range w.bounds {
			if n := t.number(r, b.column); n < b.lo || n > b.hi {
				return true
			}
		}
		if block = append(block, *r); len(block) < most {
			return true
		}
		most = min(2*most, mostBlock)
		more := s.give(block)
		block = s.another()
		return more
	})
	if len(block) > 0 {
		s.give(block)
	}
}

// give passes on a block. It reports whether to continue.
func (s *scan[R]) give(block []R) bool {
	select {
	case s.full <- block:
		return true
	case <-s.stop:
		return false
	}
}

// another returns an empty block, a used one if possible.
func (s *scan[R]) another() []R {
	select {
	case block := <-s.free:
		return block[:0]
	default:
		return nil
	}
}

// fill takes the next block.
func (c *cursor[R]) fill() error {
	if c.block != nil {
		select {
		case c.scan.free <- c.block:
		default:
		}
	}
	block, more := <-c.scan.full
	c.block, c.at = block, 0
	if !more && c.scan.err != nil {
		c.table.live.err = c.scan.err
		return c.scan.err
	}
	return nil
}

func (c *cursor[R]) Next() error {
	if c.at++; c.at < len(c.block) {
		return nil
	}
	return c.fill()
}

func (c *cursor[R]) Eof() bool { return c.at >= len(c.block) }

func (c *cursor[R]) Column(i int) (vtab.Value, error) {
	return c.table.value(&c.block[c.at], i), nil
}

func (c *cursor[R]) Rowid() (int64, error) { return c.table.rowid(&c.block[c.at]), nil }

// Close ends the scan, and waits until it no longer reads the log.
func (c *cursor[R]) Close() error {
	if c.scan == nil {
		return nil
	}
	close(c.scan.stop)
	for range c.scan.full {
		continue
	}
	c.scan = nil
	return nil
}

package objfile

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/format/inlined"
	"github.com/cairnprof/cairn/internal/binary/pdb"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// pdbPart is code of a line. Depth is the number of inlined calls that it is in; deeper parts hide others.
type pdbPart struct {
	lo, hi uint64
	depth  int
	row    row
}

type pdbParts []pdbPart

func (p *pdbParts) add(lo, hi uint64, depth int, file, line uint32) {
	if lo < hi || lo == hi && depth == 0 {
		*p = append(*p, pdbPart{lo, hi, depth, row{lo, file, line}})
	}
}

// rows adds the lines of the deepest parts to a table. Where a range ends, so does a sequence. A part without code is a row in front
// of another one, as where the place of a function begins. Of parts of one depth, one that reaches farther than the one before hides
// it, and others are hidden by it: as many are open as are nested, whatever a damaged file has.
func (p pdbParts) rows(b *builder, ends []uint64) {
	stablesort.Func(p, func(x, y pdbPart) int { return cmp.Or(cmp.Compare(x.lo, y.lo), cmp.Compare(x.depth, y.depth)) })
	w := pdbRows{table: &b.table, closed: -1}
	for _, x := range p {
		for len(ends) > 0 && ends[0] <= x.lo {
			w.end(b, ends[0])
			ends = ends[1:]
		}
		w.closeUntil(x.lo)
		if x.lo == x.hi {
			w.put(x.lo, x.row)
			continue
		}
		at := len(w.open)
		for at > 0 && w.open[at-1].depth >= x.depth {
			at--
		}
		same := at < len(w.open) && w.open[at].depth == x.depth
		switch {
		case same && x.hi <= w.open[at].hi:
			continue // as in functions that the linker folded
		case same:
			w.open[at] = x
		default:
			w.open = slices.Insert(w.open, at, x)
		}
		if at == len(w.open)-1 {
			w.put(x.lo, x.row)
		}
	}
	for _, end := range ends {
		w.end(b, end)
	}
}

// pdbRows adds rows to a table as parts begin and end.
type pdbRows struct {
	table  *LineTable
	first  int       // row of the current sequence
	closed int       // the row behind the part that ended last
	open   []pdbPart // each deeper than the one before
}

func (w *pdbRows) put(addr uint64, r row) {
	r.addr = addr
	rows := w.table.rows
	if n := len(rows) - 1; n >= w.first && n == w.closed && rows[n].addr == addr {
		rows = rows[:n]
	}
	w.table.rows = append(rows, r)
}

// closeUntil ends the open parts that end up to an address, in the order of their ends.
func (w *pdbRows) closeUntil(addr uint64) {
	for len(w.open) > 0 {
		n := len(w.open) - 1
		next := addr // the first end of an open part
		at := -1
		for i := n; i >= 0; i-- {
			if w.open[i].hi <= next {
				next, at = w.open[i].hi, i
			}
		}
		if at < 0 {
			return
		}
		w.open = slices.Delete(w.open, at, at+1)
		if at == n && n > 0 {
			w.put(next, w.open[n-1].row)
			w.closed = len(w.table.rows) - 1
		}
	}
}

// end ends the current sequence.
func (w *pdbRows) end(b *builder, addr uint64) {
	w.closeUntil(addr)
	b.endSequence(w.first, addr)
	w.first = len(w.table.rows)
}

// addInlinedLines adds the lines of inlined code.
func (f *File) addInlinedLines(p *pdb.File, b *builder, parts *pdbParts) error {
	calls, err := p.Inlined()
	if err != nil {
		return err
	}
	depths := make([]int, len(calls))
	for i := range calls {
		c := &calls[i]
		if depths[i] = 1; c.Parent >= 0 {
			depths[i] = depths[c.Parent] + 1
		}
		for _, x := range c.Parts {
			if addr, rest, ok := f.pdbAddress(c.Section, x.Offset); ok && x.End > x.Offset && uint64(x.End-x.Offset) <= rest {
				parts.add(addr, addr+uint64(x.End-x.Offset), depths[i], b.file(strings.ReplaceAll(x.File, `\`, "/")), x.Line)
			}
		}
	}
	return nil
}

// pdbFiles are the files of calls, as a table of numbers that scopes refer to.
type pdbFiles struct {
	unit  unit
	index map[string]int32
}

func (p *pdbFiles) number(path string) int32 {
	n, ok := p.index[path]
	if !ok {
		n = int32(len(p.unit.names))
		p.index[path] = n
		p.unit.names = append(p.unit.names, entry{name: []byte(strings.ReplaceAll(path, `\`, "/"))})
	}
	return n
}

// pdbScopes reads the functions of a file, and what was inlined into them.
type pdbScopes struct {
	file      *File
	table     ScopeTable
	ranges    []scopeRange
	files     pdbFiles
	functions map[uint64]int // the scope of each, by address
	lines     pdbParts       // of functions, ascending
}

// loadPDBScopes returns the functions of a file, and what was inlined into them.
func (f *File) loadPDBScopes() (*ScopeTable, error) {
	s := pdbScopes{file: f, table: ScopeTable{unlisted: true, listed: &inlined.List{}}, files: pdbFiles{index: map[string]int32{}}, functions: map[uint64]int{}}
	if err := withPDB(f.pdb, s.read); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; %w", f.pdb, err, ErrNoScopes)
	}
	if len(s.table.scopes) == 0 {
		return nil, ErrNoScopes
	}
	s.table.pieces = flatten(s.ranges)
	return &s.table, nil
}

func (s *pdbScopes) read(p *pdb.File) error {
	functions, err := p.Functions()
	if err != nil {
		return err
	}
	t := &s.table
	for _, fn := range functions {
		if addr, rest, ok := s.file.pdbAddress(fn.Section, fn.Offset); ok && fn.Size > 0 && uint64(fn.Size) <= rest {
			s.functions[addr] = len(t.scopes)
			s.ranges = append(s.ranges, scopeRange{addr, addr + uint64(fn.Size), len(t.scopes), 0})
			t.functions = append(t.functions, ScopeRange{fn.Name, addr, addr + uint64(fn.Size)})
			t.scopes = append(t.scopes, Scope{Name: fn.Name, Parent: -1})
		}
	}
	err = p.Lines(func(r pdb.Range) {
		if addr, rest, ok := s.file.pdbAddress(r.Section, r.Offset); ok && uint64(r.Size) <= rest {
			for _, x := range r.Rows {
				s.lines = append(s.lines, pdbPart{lo: addr + uint64(x.Offset), row: row{file: uint32(s.files.number(x.File)), line: x.Line}})
			}
		}
	})
	if err != nil {
		return err
	}
	stablesort.Func(s.lines, func(x, y pdbPart) int { return cmp.Compare(x.lo, y.lo) })
	calls, err := p.Inlined()
	if err != nil {
		return err
	}
	return s.addCalls(calls)
}

// addCalls adds inlined calls. Where one is called is the line that the code around it has there.
func (s *pdbScopes) addCalls(calls []pdb.Inlined) error {
	scopes := make([]int, len(calls)) // of each call; -1: none
	for i := range calls {
		c := &calls[i]
		stablesort.Func(c.Parts, func(x, y pdb.Part) int { return cmp.Compare(x.Offset, y.Offset) })
		scopes[i] = -1
		addr, _, ok := s.file.pdbAddress(c.Section, c.Function)
		parent, known := s.functions[addr]
		if c.Parent >= 0 {
			parent = scopes[c.Parent]
		}
		if !ok || !known || parent < 0 || len(c.Parts) == 0 || c.Parts[0].Offset < c.Function {
			continue
		}
		file, line := s.around(calls, c, addr)
		n := len(s.table.scopes)
		scopes[i] = n
		s.table.scopes = append(s.table.scopes, Scope{Name: c.Name, Line: int(c.Line), Parent: parent, CallLine: int(line), CallFile: file, files: &s.files.unit})
		depth := 1
		for j := c.Parent; j >= 0; j = calls[j].Parent {
			depth++
		}
		for _, x := range c.Parts {
			s.addPart(scopeRange{addr + uint64(x.Offset-c.Function), addr + uint64(max(x.End, c.Function)-c.Function), n, depth})
		}
		if len(s.table.scopes) > maxScopes || len(s.ranges) > maxScopeRanges {
			return fmt.Errorf("more than %d functions or %d ranges", maxScopes, maxScopeRanges)
		}
	}
	return nil
}

// addPart adds code of a scope, which may go on where the last ends.
func (s *pdbScopes) addPart(r scopeRange) {
	switch n := len(s.ranges) - 1; {
	case r.lo >= r.hi: // damaged, or nothing
	case s.ranges[n].scope == r.scope && s.ranges[n].hi == r.lo:
		s.ranges[n].hi = r.hi
	default:
		s.ranges = append(s.ranges, r)
	}
}

// around returns the line that the code around a call has where the call begins. addr is that of its function.
func (s *pdbScopes) around(calls []pdb.Inlined, c *pdb.Inlined, addr uint64) (file int32, line uint32) {
	at := c.Parts[0].Offset
	if c.Parent >= 0 {
		parts := calls[c.Parent].Parts
		if i := sort.Search(len(parts), func(i int) bool { return parts[i].Offset > at }) - 1; i >= 0 {
			return s.files.number(parts[i].File), parts[i].Line
		}
		return s.files.number(""), 0
	}
	addr += uint64(at - c.Function)
	if i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].lo > addr }) - 1; i >= 0 {
		return int32(s.lines[i].row.file), s.lines[i].row.line
	}
	return s.files.number(""), 0
}

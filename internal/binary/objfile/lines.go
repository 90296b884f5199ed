package objfile

import (
	"iter"
	"sort"
)

// LineTable maps addresses of a module to source lines. It is immutable.
type LineTable struct {
	files []string
	rows  []row
	seqs  []sequence // ascending, disjoint
	discs []discriminator
	left  bool // rows where no statement begins are left out
}

// row states that the instructions from addr to the next row's address come from a line. Two
// rows may have the same address; then the later one is used.
type row struct {
	addr uint64
	file uint32
	line uint32 // 0: no line
}

// discriminator is the discriminator of a row. Most rows have none, so they are stored
// separately, ascending by row.
type discriminator struct{ row, value uint32 }

// sequence is a contiguous group of rows that describes the addresses [lo, hi).
type sequence struct {
	lo, hi     uint64
	first, end uint32 // rows[first:end]
}

// Row is a range of instructions that come from one source line.
type Row struct {
	Addr, End uint64 // End is Addr for a line without instructions
	File      string
	Line      int
	// Discriminator distinguishes the blocks of one line, as in DWARF; 0 is none.
	Discriminator uint32
}

// Lookup returns the source line of the instruction at addr.
func (t *LineTable) Lookup(addr uint64) (file string, line int, ok bool) {
	s, ok := t.sequence(addr)
	if !ok {
		return "", 0, false
	}
	r := t.rows[t.after(s, addr)-1]
	return t.files[r.file], int(r.line), r.line != 0
}

// Begins reports whether a row begins at addr.
func (t *LineTable) Begins(addr uint64) bool {
	s, ok := t.sequence(addr)
	return ok && t.rows[t.after(s, addr)-1].addr == addr
}

// Starts yields file and line of each row that begins in [lo, hi).
func (t *LineTable) Starts(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		k := sort.Search(len(t.seqs), func(k int) bool { return t.seqs[k].hi > lo })
		for ; k < len(t.seqs) && t.seqs[k].lo < hi; k++ {
			rows := t.rows[t.seqs[k].first:t.seqs[k].end]
			for i := sort.Search(len(rows), func(i int) bool { return rows[i].addr >= lo }); i < len(rows) && rows[i].addr < hi; i++ {
				if rows[i].line != 0 && !yield(t.files[rows[i].file], int(rows[i].line)) {
					return
				}
			}
		}
	}
}

// Entry returns the source line of the function that starts at addr. It differs from Lookup in
// optimised code, where the line of the function and that of its first statement have the same
// address: Entry returns the former.
func (t *LineTable) Entry(addr uint64) (file string, line int, ok bool) {
	s, ok := t.sequence(addr)
	if !ok {
		return "", 0, false
	}
	for i := t.at(s, addr); i < int(s.end); i++ {
		if r := t.rows[i]; r.line != 0 {
			return t.files[r.file], int(r.line), true
		}
	}
	return "", 0, false
}

// Rows yields the rows of [lo, hi) in address order, clipped to that range. Instructions
// without a line are omitted.
func (t *LineTable) Rows(lo, hi uint64) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		k := sort.Search(len(t.seqs), func(k int) bool { return t.seqs[k].hi > lo })
		for ; k < len(t.seqs) && t.seqs[k].lo < hi; k++ {
			s := t.seqs[k]
			for i := t.at(s, max(lo, s.lo)); i < int(s.end) && t.rows[i].addr < hi; i++ {
				r, end := t.rows[i], s.hi
				if i+1 < int(s.end) {
					end = t.rows[i+1].addr
				}
				if r.line == 0 {
					continue
				}
				if !yield(Row{max(r.addr, lo), min(end, hi), t.files[r.file], int(r.line), t.discriminator(i)}) {
					return
				}
			}
		}
	}
}

// Lines yields file and line of each row of [lo, hi).
func (t *LineTable) Lines(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for r := range t.Rows(lo, hi) {
			if !yield(r.File, r.Line) {
				return
			}
		}
	}
}

// Len returns the number of rows.
func (t *LineTable) Len() int { return len(t.rows) }

// sequence returns the sequence that contains addr.
func (t *LineTable) sequence(addr uint64) (sequence, bool) {
	k := sort.Search(len(t.seqs), func(k int) bool { return t.seqs[k].hi > addr })
	if k == len(t.seqs) || t.seqs[k].lo > addr {
		return sequence{}, false
	}
	return t.seqs[k], true
}

// after returns the index of the first row of s after addr, which is in s.
func (t *LineTable) after(s sequence, addr uint64) int {
	rows := t.rows[s.first:s.end]
	return int(s.first) + sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr })
}

// at returns the index of the first row that applies at addr: the first of those that start
// there, or else the one that contains addr.
func (t *LineTable) at(s sequence, addr uint64) int {
	i := t.after(s, addr) - 1
	for ; i > int(s.first) && t.rows[i].addr == addr && t.rows[i-1].addr == addr; i-- {
	}
	return i
}

// discriminator returns that of row i, 0 if it has none.
func (t *LineTable) discriminator(i int) uint32 {
	k := sort.Search(len(t.discs), func(k int) bool { return int(t.discs[k].row) >= i })
	if k < len(t.discs) && int(t.discs[k].row) == i {
		return t.discs[k].value
	}
	return 0
}

// setDiscriminator sets the discriminator of the last row.
func (t *LineTable) setDiscriminator(value uint32) {
	if value != 0 {
		t.discs = append(t.discs, discriminator{uint32(len(t.rows) - 1), value})
	}
}

// cut drops the rows from n on.
func (t *LineTable) cut(n int) {
	t.rows = t.rows[:n]
	for k := len(t.discs); k > 0 && int(t.discs[k-1].row) >= n; k-- {
		t.discs = t.discs[:k-1]
	}
}

// builder collects the sequences of all units.
type builder struct {
	code       []span
	table      LineTable
	fileIDs    map[string]uint32
	columns    bool // rows have columns, not lines
	statements bool // only rows where statements begin
}

func (b *builder) file(path string) uint32 {
	id, ok := b.fileIDs[path]
	if !ok {
		id = uint32(len(b.table.files))
		b.fileIDs[path] = id
		b.table.files = append(b.table.files, path)
	}
	return id
}

// endSequence keeps the rows from first on as one sequence that ends at hi, or drops them if
// they do not describe code: linkers set the addresses of dropped functions to a value where
// there is no code.
func (b *builder) endSequence(first int, hi uint64) {
	t := &b.table
	if first == len(t.rows) {
		return
	}
	lo := t.rows[first].addr
	if hi <= lo || t.rows[len(t.rows)-1].addr > hi || !b.isCode(lo) {
		t.cut(first)
		return
	}
	t.seqs = append(t.seqs, sequence{lo, hi, uint32(first), uint32(len(t.rows))})
}

func (b *builder) isCode(addr uint64) bool {
	for _, s := range b.code {
		if s.lo <= addr && addr < s.hi {
			return true
		}
	}
	return false
}

// finish sorts the sequences. If some overlap (identical functions that the linker folded),
// the first in the file is kept.
func (b *builder) finish() *LineTable {
	t := &b.table
	sort.SliceStable(t.seqs, func(i, j int) bool { return t.seqs[i].lo < t.seqs[j].lo })
	kept := t.seqs[:0]
	for _, s := range t.seqs {
		if n := len(kept); n == 0 || kept[n-1].hi <= s.lo {
			kept = append(kept, s)
		}
	}
	t.seqs = kept
	return t
}

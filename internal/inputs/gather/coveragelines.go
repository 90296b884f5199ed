package gather

import (
	"bytes"
	"iter"
	"os"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// coverageLines are the lines of a binary. Columns and sources are read when they are first needed, which they rarely
// are.
type coverageLines struct {
	*objfile.LineTable
	columns    func() *objfile.LineTable // nil if they are not known
	statements func() *objfile.LineTable // nil if it is not known where they begin
	sources    map[string][][]byte       // lines of files
}

func newCoverageLines(t *objfile.LineTable, path string) *coverageLines {
	table := func(read func(*objfile.File) (*objfile.LineTable, error)) func() *objfile.LineTable {
		return sync.OnceValue(func() *objfile.LineTable {
			bin, err := objfile.Open(path)
			if err != nil {
				return nil
			}
			defer bin.Close()
			t, err := read(bin)
			if err != nil {
				return nil
			}
			return t
		})
	}
	return &coverageLines{t, table((*objfile.File).Columns), table((*objfile.File).Statements), map[string][][]byte{}}
}

// Statements returns the lines of statements that begin in [lo, hi).
func (l *coverageLines) Statements(lo, hi uint64) iter.Seq2[string, int] {
	if t := l.statements(); t != nil {
		return t.Starts(lo, hi)
	}
	return func(func(string, int) bool) {}
}

// Begins reports whether a row of the line table begins at addr.
func (l *coverageLines) Begins(addr uint64) (begins, known bool) {
	columns := l.columns()
	return columns != nil && columns.Begins(addr), columns != nil
}

// Line returns the text before and after the place in the source where an instruction is from, in its line.
func (l *coverageLines) Line(addr uint64) (before, after string, known bool) {
	at, ok := l.place(addr)
	if !ok {
		return "", "", false
	}
	return string(at.text[:at.column-1]), string(at.text[at.column-1:]), true
}

// Between returns the text between the places in one source where two instructions are from. That the second is ahead is
// known by the lines, without the source, too.
func (l *coverageLines) Between(from, to uint64) (text string, ahead, known bool) {
	fromFile, fromLine, ok := l.Lookup(from)
	toFile, toLine, ok2 := l.Lookup(to)
	if ok && ok2 && fromFile == toFile && fromLine > toLine {
		return "", true, true
	}
	a, ok := l.place(from)
	if !ok {
		return "", false, false
	}
	b, ok := l.place(to)
	switch {
	case !ok || a.file != b.file:
		return "", false, false
	case a.line == b.line && a.column > b.column:
		return "", true, true
	case a.line == b.line:
		return string(a.text[a.column-1 : b.column-1]), false, true
	}
	lines := append([][]byte{a.text[a.column-1:]}, l.sources[a.file][a.line:b.line-1]...)
	return string(bytes.Join(append(lines, b.text[:b.column-1]), []byte("\n"))), false, true
}

// sourcePlace is a place in a source.
type sourcePlace struct {
	file         string
	line, column int // from 1
	text         []byte
}

// place returns where an instruction is from; it reads the source.
func (l *coverageLines) place(addr uint64) (at sourcePlace, ok bool) {
	columns := l.columns()
	if columns == nil {
		return at, false
	}
	if at.file, at.line, ok = l.Lookup(addr); !ok {
		return at, false
	}
	lines, seen := l.sources[at.file]
	if !seen {
		if text, err := os.ReadFile(at.file); err == nil {
			lines = bytes.Split(text, []byte("\n"))
		}
		l.sources[at.file] = lines
	}
	if _, at.column, ok = columns.Lookup(addr); !ok || at.line > len(lines) || at.column > len(lines[at.line-1])+1 {
		return at, false
	}
	at.text = lines[at.line-1]
	return at, true
}

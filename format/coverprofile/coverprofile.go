// Package coverprofile writes the text format of coverage profiles of Go, which go tool cover and the coverage
// services for Go read.
//
// The format is that of cmd/cover and golang.org/x/tools/cover: a line with the mode, and a line for each unit of
// statements, with its first line and column, its last line and the column after it, the number of its
// statements, and how often it ran. In mode set this is 1 or 0.
//
//	mode: set
//	example.com/m/a.go:4.24,5.11 1 1
//	example.com/m/a.go:5.11,7.3 1 0
//
// A file is an import path and a base name; go tool cover also opens absolute paths.
package coverprofile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Mode is what the counts of a profile are.
type Mode string

// The modes.
const (
	Set   Mode = "set"   // whether the statements ran
	Count Mode = "count" // how often
)

// Unit is statements that run one after the other. Columns are those of bytes, from 1.
type Unit struct {
	File                                   string
	FromLine, FromColumn, ToLine, ToColumn int // ToColumn is after the last
	Statements                             int
}

// Row is a unit with its count.
type Row struct {
	Unit
	Count uint64
}

// Write writes a profile. It sorts the rows by file and place.
func Write(w io.Writer, mode Mode, rows []Row) error {
	stablesort.Func(rows, func(a, b Row) int { return a.compare(&b.Unit) })
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "mode: %s\n", mode)
	for i := range rows {
		r := &rows[i]
		count := r.Count
		if mode == Set {
			count = min(count, 1)
		}
		fmt.Fprintf(b, "%s:%d.%d,%d.%d %d %d\n", oneLine(r.File), r.FromLine, r.FromColumn, r.ToLine, r.ToColumn, r.Statements, count)
	}
	return b.Flush()
}

func (u *Unit) compare(v *Unit) int {
	return cmp.Or(cmp.Compare(u.File, v.File), cmp.Compare(u.FromLine, v.FromLine), cmp.Compare(u.FromColumn, v.FromColumn),
		cmp.Compare(u.ToLine, v.ToLine), cmp.Compare(u.ToColumn, v.ToColumn), cmp.Compare(u.Statements, v.Statements))
}

// oneLine prevents a name from a file of unknown origin from adding rows.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return '?'
		}
		return r
	}, s)
}

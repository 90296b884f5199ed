// Package golines reads and writes the section .debug.cairn.go of Go programs: which lines
// of which source file each block of an instrumented function has. The lines are those of
// the source, so that they are exact also where the compiler inlined the function.
//
// All numbers are little-endian; uv is an unsigned LEB128 number, sv a signed one in
// zigzag order, str a string after its length as uv:
//
//	u8   version, 1
//	uv   number of files; each:
//	str    name
//	uv   number of places, ascending by address; each:
//	uv     address, from that of the place before, at first from 0
//	uv     bytes of code; 0 if the function has none of its own
//	uv     file, a number from 0
//	uv     number of ranges of lines, at least 1; each:
//	sv       first line, from the last line of the range before, at first from 0
//	uv       number of lines after the first
//
// Example: one place, 16 bytes at 0x401000, with the lines 3 to 5 and 9 of a.go.
//
//	01 01 04 61 2e 67 6f 01 80 a0 80 02 10 00 02 06 02 08 00
package golines

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Section is the name of the section.
const Section = ".debug.cairn.go"

// MachOSection is its place in Mach-O files: the segment and the name in it.
const MachOSection = "__CAIRN,__cairn_lines"

const (
	version   = 1
	maxFiles  = 1 << 20
	maxPlaces = 1 << 24
	maxRanges = 1 << 16
	maxName   = 1 << 12
	maxLine   = 1 << 30
)

// Range is a range of lines, both ends included.
type Range struct{ From, To int }

// Place is the code of a block, and its lines.
type Place struct {
	Addr, Size uint64
	File       string
	Lines      []Range // at least one
}

// Table is the content of a section.
type Table struct {
	Places []Place // ascending by Addr
}

// Append appends the section to b.
func (t *Table) Append(b []byte) []byte {
	b = append(b, version)
	index := map[string]uint64{}
	var files []string
	for i := range t.Places {
		f := t.Places[i].File
		if _, ok := index[f]; !ok {
			index[f] = uint64(len(files))
			files = append(files, f)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(files)))
	for _, f := range files {
		b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Places)))
	last := uint64(0)
	for i := range t.Places {
		p := &t.Places[i]
		b = binary.AppendUvarint(b, p.Addr-last)
		b = binary.AppendUvarint(b, p.Size)
		b = binary.AppendUvarint(b, index[p.File])
		b = binary.AppendUvarint(b, uint64(len(p.Lines)))
		line := 0
		for _, r := range p.Lines {
			b = binary.AppendVarint(b, int64(r.From-line))
			b = binary.AppendUvarint(b, uint64(r.To-r.From))
			line = r.To
		}
		last = p.Addr
	}
	return b
}

// Read reads a section.
func Read(data []byte) (*Table, error) {
	c := bytecur.New(data, 0)
	if v := c.U8(); c.Err() == nil && v != version {
		return nil, fmt.Errorf("%s: version %d, this cairn reads version %d", Section, v, version)
	}
	files := make([]string, c.Count("files", maxFiles, 1))
	for i := range files {
		files[i] = string(c.String("file", maxName))
	}
	n := c.Count("places", maxPlaces, 6)
	t := &Table{Places: make([]Place, 0, n)}
	addr := uint64(0)
	for range n {
		off := c.Off()
		addr += c.Uvarint()
		p := Place{Addr: addr, Size: c.Uvarint()}
		file := c.Uvarint()
		p.Lines = readLines(c)
		switch {
		case c.Err() != nil:
		case file >= uint64(len(files)):
			c.FailAt(off, "file %d of %d", file, len(files))
		case len(p.Lines) == 0:
			c.FailAt(off, "a place without lines")
		case p.Addr+p.Size < p.Addr:
			c.FailAt(off, "%d bytes at %#x exceed the address space", p.Size, p.Addr)
		case len(t.Places) > 0 && p.Addr < t.Places[len(t.Places)-1].Addr:
			c.FailAt(off, "a place out of order")
		default:
			p.File = files[file]
			t.Places = append(t.Places, p)
		}
	}
	if c.Len() > 0 {
		c.Failf("%d bytes after the end", c.Len())
	}
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", Section, err)
	}
	return t, nil
}

func readLines(c *bytecur.Cursor) []Range {
	var lines []Range
	last := int64(0)
	for range c.Count("ranges of lines", maxRanges, 2) {
		off := c.Off()
		from := last + c.Varint()
		n := c.Uvarint()
		if c.Err() == nil && (from < 1 || from > maxLine || n > maxLine) {
			c.FailAt(off, "%d lines from line %d", n, from)
		}
		if c.Err() != nil {
			return nil
		}
		last = from + int64(n)
		lines = append(lines, Range{int(from), int(last)})
	}
	return lines
}

// find returns the index of the first place at addr or above.
func (t *Table) find(addr uint64) int {
	return sort.Search(len(t.Places), func(i int) bool { return t.Places[i].Addr >= addr })
}

// Entry returns where the function that starts at addr is defined.
func (t *Table) Entry(addr uint64) (file string, line int, ok bool) {
	i := t.find(addr)
	if i == len(t.Places) || t.Places[i].Addr != addr {
		return "", 0, false
	}
	return t.Places[i].File, t.Places[i].Lines[0].From, true
}

// Lines yields the lines of the places that start in [lo, hi), and of those at lo if the
// range is empty.
func (t *Table) Lines(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := t.find(lo); i < len(t.Places); i++ {
			p := &t.Places[i]
			if p.Addr >= hi && p.Addr != lo {
				return
			}
			for _, r := range p.Lines {
				for line := r.From; line <= r.To; line++ {
					if !yield(p.File, line) {
						return
					}
				}
			}
		}
	}
}

// Sort brings the places into the order of a section.
func (t *Table) Sort() {
	slices.SortStableFunc(t.Places, func(a, b Place) int {
		switch {
		case a.Addr < b.Addr:
			return -1
		case a.Addr > b.Addr:
			return 1
		}
		return 0
	})
}

// Package golines reads and writes the section .debug.cairn.go of Go programs: which lines
// of which source file each block of an instrumented function has. The lines are those of
// the source, so that they are exact also where the compiler inlined the function.
//
// It also has the statements of each function, in the division of go tool cover, with columns. Of
// functions that the linker dropped it has only these.
//
// All numbers are little-endian; uv is an unsigned LEB128 number, sv a signed one in
// zigzag order, str a string after its length as uv:
//
//	u8   version, 2
//	uv   number of files; each:
//	str    name
//	str    name in Go's coverage profiles: import path and base name; empty if it is the same
//	uv   number of places, ascending by address; each:
//	uv     address, from that of the place before, at first from 0
//	uv     bytes of code; 0 if the function has none of its own
//	uv     file, a number from 0
//	uv     number of ranges of lines, at least 1; each:
//	sv       first line, from the last line of the range before, at first from 0
//	uv       number of lines after the first
//	uv     number of ranges of other lines, of which the record does not show whether they ran;
//	       each as above, the first from 0
//	uv   number of functions, ascending by address; each:
//	uv     address, from that of the function before, at first from 0; 0 if the program lacks it
//	u8     1 if it has a record, or none because it is not linked; 0 if it was compiled without
//	uv     file, a number from 0
//	uv     number of units of statements; each:
//	sv       first line, from that of the unit before, at first from 0
//	uv       first column
//	sv       last line, from the first: line directives may make it less
//	uv       column after the last
//	uv       number of statements
//	uv       number of the function's block that they begin with, from 1; 0 if the record does
//	         not show whether they ran, unless the function did not
//
// Version 1 lacks the names in coverage profiles, the other lines, and the functions.
//
// Example: one place, 16 bytes at 0x401000, with the lines 3 to 5 and 9 of a.go, and line 7, which
// may not run. Its function has two statements in lines 3 to 5, and one in line 7.
//
//	02 01 04 61 2e 67 6f 08 78 2e 79 2f 61 2e 67 6f
//	01 80 a0 80 02 10 00 02 06 02 08 00 01 0e 00
//	01 80 a0 80 02 01 00 02 06 0c 04 08 02 01 08 03 00 09 01 00
package golines

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Section is the name of the section.
const Section = ".debug.cairn.go"

// COFFSection is its name in programs for Windows.
const COFFSection = ".crnline"

// MachOSection is its place in Mach-O files: the segment and the name in it.
const MachOSection = "__CAIRN,__cairn_lines"

const (
	version   = 2
	maxFiles  = 1 << 20
	maxUnits  = 1 << 20
	maxColumn = 1 << 20
	maxPlaces = 1 << 24
	maxFuncs  = 1 << 24
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
	// Rest are lines of which the record does not show whether they ran, if the block did.
	Rest []Range
}

// Func has the statements of a function.
type Func struct {
	Addr uint64 // 0 if the program does not have it
	// Unprobed reports that the function was compiled without a probe: nothing is known about it.
	Unprobed bool
	File     string
	Units    []Unit
}

// NoBlock is the block of units of which the record does not show whether they ran.
const NoBlock = -1

// Unit is statements that run one after the other, and their place: the columns are those of bytes, from 1;
// ToColumn is after the last.
type Unit struct {
	FromLine, FromColumn, ToLine, ToColumn int
	Statements                             int
	Block                                  int // of the function, or NoBlock
}

// Table is the content of a section.
type Table struct {
	Places []Place // ascending by Addr
	Funcs  []Func  // ascending by Addr
	// Profile has the names of files in Go's coverage profiles, of those that have another.
	Profile map[string]string
	// Old reports that the section is of version 1, which has no statements.
	Old bool
}

// Append appends the section to b, in the present version.
func (t *Table) Append(b []byte) []byte {
	b = append(b, version)
	index := map[string]uint64{}
	var files []string
	add := func(f string) {
		if _, ok := index[f]; !ok {
			index[f] = uint64(len(files))
			files = append(files, f)
		}
	}
	for i := range t.Places {
		add(t.Places[i].File)
	}
	for i := range t.Funcs {
		add(t.Funcs[i].File)
	}
	b = binary.AppendUvarint(b, uint64(len(files)))
	for _, f := range files {
		b = appendString(appendString(b, f), t.Profile[f])
	}
	b = binary.AppendUvarint(b, uint64(len(t.Places)))
	last := uint64(0)
	for i := range t.Places {
		p := &t.Places[i]
		b = binary.AppendUvarint(b, p.Addr-last)
		b = binary.AppendUvarint(b, p.Size)
		b = binary.AppendUvarint(b, index[p.File])
		b = appendLines(appendLines(b, p.Lines), p.Rest)
		last = p.Addr
	}
	b = binary.AppendUvarint(b, uint64(len(t.Funcs)))
	last = 0
	for i := range t.Funcs {
		f := &t.Funcs[i]
		b = binary.AppendUvarint(b, f.Addr-last)
		last = f.Addr
		probed := byte(1)
		if f.Unprobed {
			probed = 0
		}
		b = appendUnits(binary.AppendUvarint(append(b, probed), index[f.File]), f.Units)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendLines(b []byte, lines []Range) []byte {
	b = binary.AppendUvarint(b, uint64(len(lines)))
	line := 0
	for _, r := range lines {
		b = binary.AppendVarint(b, int64(r.From-line))
		b = binary.AppendUvarint(b, uint64(r.To-r.From))
		line = r.To
	}
	return b
}

func appendUnits(b []byte, units []Unit) []byte {
	b = binary.AppendUvarint(b, uint64(len(units)))
	line := 0
	for i := range units {
		u := &units[i]
		b = binary.AppendVarint(b, int64(u.FromLine-line))
		b = binary.AppendUvarint(b, uint64(u.FromColumn))
		b = binary.AppendVarint(b, int64(u.ToLine-u.FromLine))
		b = binary.AppendUvarint(b, uint64(u.ToColumn))
		b = binary.AppendUvarint(b, uint64(u.Statements))
		b = binary.AppendUvarint(b, uint64(u.Block+1))
		line = u.FromLine
	}
	return b
}

// Read reads a section of this version or an earlier one.
func Read(data []byte) (*Table, error) {
	c := bytecur.New(data, 0)
	v := c.U8()
	if c.Err() == nil && (v < 1 || v > version) {
		return nil, fmt.Errorf("%s: version %d, this cairn reads versions 1 to %d", Section, v, version)
	}
	t := &Table{Old: v == 1}
	files := make([]string, c.Count("files", maxFiles, 1))
	for i := range files {
		files[i] = string(c.String("file", maxName))
		if t.Old {
			continue
		}
		if name := string(c.String("file", maxName)); name != "" {
			if t.Profile == nil {
				t.Profile = map[string]string{}
			}
			t.Profile[files[i]] = name
		}
	}
	t.readPlaces(c, files)
	if !t.Old {
		t.readFuncs(c, files)
	}
	if c.Len() > 0 {
		c.Failf("%d bytes after the end", c.Len())
	}
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", Section, err)
	}
	return t, nil
}

// readFile reads the number of a file.
func readFile(c *bytecur.Cursor, files []string) string {
	off := c.Off()
	n := c.Uvarint()
	if c.Err() == nil && n >= uint64(len(files)) {
		c.FailAt(off, "file %d of %d", n, len(files))
	}
	if c.Err() != nil {
		return ""
	}
	return files[n]
}

func (t *Table) readPlaces(c *bytecur.Cursor, files []string) {
	n := c.Count("places", maxPlaces, 6)
	t.Places = make([]Place, 0, n)
	addr := uint64(0)
	for range n {
		off := c.Off()
		addr += c.Uvarint()
		p := Place{Addr: addr, Size: c.Uvarint(), File: readFile(c, files), Lines: readLines(c)}
		if !t.Old {
			p.Rest = readLines(c)
		}
		switch {
		case c.Err() != nil:
			return
		case len(p.Lines) == 0:
			c.FailAt(off, "a place without lines")
		case p.Addr+p.Size < p.Addr:
			c.FailAt(off, "%d bytes at %#x exceed the address space", p.Size, p.Addr)
		case len(t.Places) > 0 && p.Addr < t.Places[len(t.Places)-1].Addr:
			c.FailAt(off, "a place out of order")
		default:
			t.Places = append(t.Places, p)
		}
	}
}

func (t *Table) readFuncs(c *bytecur.Cursor, files []string) {
	n := c.Count("functions", maxFuncs, 4)
	if n == 0 {
		return
	}
	t.Funcs = make([]Func, 0, n)
	addr := uint64(0)
	for range n {
		off := c.Off()
		next := addr + c.Uvarint()
		probed := c.U8()
		f := Func{Addr: next, Unprobed: probed == 0, File: readFile(c, files), Units: readUnits(c)}
		switch {
		case c.Err() != nil:
			return
		case next < addr:
			c.FailAt(off, "a function out of order")
		case probed > 1:
			c.FailAt(off, "a function with the mark %d", probed)
		default:
			t.Funcs = append(t.Funcs, f)
		}
		addr = next
	}
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

func readUnits(c *bytecur.Cursor) []Unit {
	var units []Unit
	line := int64(0)
	for range c.Count("units", maxUnits, 6) {
		off := c.Off()
		line += c.Varint()
		from, last, to, statements, block := c.Uvarint(), line+c.Varint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
		if c.Err() == nil && (min(line, last) < 0 || max(line, last) > maxLine || max(from, to) > maxColumn || statements > maxUnits || block > maxUnits) {
			c.FailAt(off, "%d statements in lines %d to %d, columns %d to %d, block %d", statements, line, last, from, to, block)
		}
		if c.Err() != nil {
			return nil
		}
		units = append(units, Unit{int(line), int(from), int(last), int(to), int(statements), int(block) - 1})
	}
	return units
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
			if !p.each(p.Lines, yield) || !p.each(p.Rest, yield) {
				return
			}
		}
	}
}

// Doubtful yields those lines of Lines(lo, hi) of which the record does not show whether they ran, if
// the block did.
func (t *Table) Doubtful(lo, hi uint64) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := t.find(lo); i < len(t.Places); i++ {
			p := &t.Places[i]
			doubtful := func(file string, line int) bool {
				sure := slices.ContainsFunc(p.Lines, func(r Range) bool { return r.From <= line && line <= r.To })
				return sure || yield(file, line)
			}
			if p.Addr >= hi && p.Addr != lo || !p.each(p.Rest, doubtful) {
				return
			}
		}
	}
}

// each yields lines of a place, and reports whether yield accepted all.
func (p *Place) each(lines []Range, yield func(string, int) bool) bool {
	for _, r := range lines {
		for line := r.From; line <= r.To; line++ {
			if !yield(p.File, line) {
				return false
			}
		}
	}
	return true
}

// Sort brings the places and functions into the order of a section.
func (t *Table) Sort() {
	stablesort.Func(t.Places, func(a, b Place) int { return cmp.Compare(a.Addr, b.Addr) })
	stablesort.Func(t.Funcs, func(a, b Func) int { return cmp.Compare(a.Addr, b.Addr) })
}

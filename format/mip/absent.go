package mip

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// Bits of the first byte of an absent function; the lowest are its prof.Absence.
const (
	absentWhyMask = 7
	absentShared  = 1 << 3
	absentNote    = 1 << 4
	absentPlace   = 1 << 5 // it has the place of its definition
	absentLines   = 1 << 6
	absentInlined = 1 << 7

	minAbsent    = 1 + 1 + 1 // bytes of an absent function
	minLineRange = 1 + 1 + 1
)

// appendAbsent writes functions that a map lacks, with a table of their strings.
func appendAbsent(b []byte, list []prof.Absent) ([]byte, error) {
	if len(list) == 0 {
		return append(b, 0, 0), nil // no strings, no functions
	}
	table, index := absentTable(list)
	b, err := appendTable(b, table)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	file := uint64(0)
	for i := range list {
		a := &list[i]
		bits := byte(a.Why)
		for _, has := range []struct {
			on  bool
			bit byte
		}{{a.Shared, absentShared}, {a.Inlined, absentInlined}, {a.Note != "", absentNote}, {a.Line > 0, absentPlace}, {len(a.Lines) > 0, absentLines}} {
			if has.on {
				bits |= has.bit
			}
		}
		b = binary.AppendUvarint(append(b, bits), index[a.Name])
		b = appendDelta(b, index[a.File], file)
		file = index[a.File]
		if a.Note != "" {
			b = binary.AppendUvarint(b, index[a.Note])
		}
		if a.Line > 0 {
			b = appendDelta(b, index[a.Source], file)
			b = binary.AppendUvarint(b, uint64(a.Line))
		}
		if len(a.Lines) > 0 {
			b = appendRanges(b, a, index)
		}
	}
	return b, nil
}

// appendRanges writes the lines of a function. The first is near its definition.
func appendRanges(b []byte, a *prof.Absent, index map[string]uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(a.Lines)))
	file, last := index[a.Source], uint64(a.Line)
	for _, r := range a.Lines {
		b = appendDelta(b, index[r.File], file)
		b = appendDelta(b, uint64(r.From), last)
		b = binary.AppendUvarint(b, uint64(r.To-r.From))
		file, last = index[r.File], uint64(r.To)
	}
	return b
}

// absentTable is tableOf for functions that a map lacks.
func absentTable(list []prof.Absent) (table []string, index map[string]uint64) {
	index = map[string]uint64{"": 0}
	for i := range list {
		a := &list[i]
		index[a.Name], index[a.File], index[a.Note], index[a.Source] = 0, 0, 0, 0
		for _, r := range a.Lines {
			index[r.File] = 0
		}
	}
	table = slices.Sorted(maps.Keys(index))
	for i, s := range table {
		index[s] = uint64(i)
	}
	return table, index
}

// readAbsent reads what appendAbsent wrote.
func readAbsent(c *bytecur.Cursor) []prof.Absent {
	table := readTable(c)
	n := c.Count("absent functions", MaxFuncs, minAbsent)
	if n == 0 {
		return nil
	}
	list := make([]prof.Absent, 0, n)
	file := uint64(0)
	for range n {
		var a prof.Absent
		bits := c.U8()
		a.Why, a.Shared, a.Inlined = prof.Absence(bits&absentWhyMask), bits&absentShared != 0, bits&absentInlined != 0
		a.Name = lookup(c, table, c.Uvarint())
		file = readDelta(c, file)
		a.File = lookup(c, table, file)
		if bits&absentNote != 0 {
			a.Note = lookup(c, table, c.Uvarint())
		}
		source := uint64(0)
		if bits&absentPlace != 0 {
			source = readDelta(c, file)
			a.Source = lookup(c, table, source)
			a.Line = readU32(c, "line")
		}
		if bits&absentLines != 0 {
			a.Lines = readRanges(c, table, source, uint64(a.Line))
		}
		if c.Err() != nil {
			return nil
		}
		list = append(list, a)
	}
	return list
}

func readRanges(c *bytecur.Cursor, table []string, file, last uint64) []prof.LineRange {
	n := c.Count("ranges of lines", MaxFuncs, minLineRange)
	if n == 0 {
		return nil
	}
	ranges := make([]prof.LineRange, n)
	for i := range ranges {
		file = readDelta(c, file)
		from := readDelta(c, last)
		last = from + uint64(readU32(c, "number of lines"))
		if from == 0 || last > math.MaxUint32 || last < from {
			c.Failf("lines %d to %d", from, last)
			return nil
		}
		ranges[i] = prof.LineRange{File: lookup(c, table, file), From: uint32(from), To: uint32(last)}
	}
	return ranges
}

// readMapAbsent reads the absent functions of m.
func readMapAbsent(c *bytecur.Cursor, m *prof.Map) {
	off := c.Off()
	m.Absent = readAbsent(c)
	if err := checkMapAbsent(m); c.Err() == nil && err != nil {
		c.FailAt(off, "%v", err)
	}
}

// checkMapAbsent reports the first rule that the absent functions of m break.
func checkMapAbsent(m *prof.Map) error {
	if len(m.Absent) > MaxFuncs {
		return fmt.Errorf("%d absent functions, at most %d are allowed", len(m.Absent), MaxFuncs)
	}
	lines := uint64(0)
	for i := range m.Absent {
		a := &m.Absent[i]
		if !a.Why.Valid() {
			return fmt.Errorf("function %q is absent for reason %d, which is unknown", a.Name, a.Why)
		}
		if err := checkAbsent(a); err != nil {
			return fmt.Errorf("absent function %q: %w", a.Name, err)
		}
		if i > 0 && m.Absent[i-1].Compare(a) >= 0 {
			return fmt.Errorf("absent function %q: out of order", a.Name)
		}
		for _, r := range a.Lines {
			if lines += uint64(r.To-r.From) + 1; lines > MaxLines {
				return fmt.Errorf("absent functions of more than %d lines", MaxLines)
			}
		}
	}
	return nil
}

// checkAbsent reports the first rule that a breaks, other than that of its reason.
func checkAbsent(a *prof.Absent) error {
	for _, name := range []struct{ what, text string }{
		{"function name", a.Name}, {"source file", a.File}, {"reason", a.Note}, {"source file", a.Source},
	} {
		if err := checkName(name.what, name.text); err != nil {
			return err
		}
	}
	if (a.Line == 0) != (a.Source == "") {
		return fmt.Errorf("defined at line %d of file %q", a.Line, a.Source)
	}
	for i, r := range a.Lines {
		if err := checkName("source file", r.File); err != nil {
			return err
		}
		if r.From == 0 || r.To < r.From || r.To == math.MaxUint32 || r.File == "" {
			return fmt.Errorf("lines %d to %d of file %q", r.From, r.To, r.File)
		}
		if i == 0 {
			continue
		}
		if last := a.Lines[i-1]; r.File < last.File || r.File == last.File && r.From <= last.To+1 {
			return fmt.Errorf("lines from %d on after those to %d: out of order", r.From, last.To)
		}
	}
	return nil
}

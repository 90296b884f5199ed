package mip

import (
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// runsSketch is set if the runs that follow are a sketch.
const runsSketch = 1

// sketchShift is the number of zero bits of an ID in a sketch.
const sketchShift = 64 - prof.SketchBits

// appendRuns writes the runs that a module holds, as distances.
func appendRuns(b []byte, s *prof.RunSet) []byte {
	bits, shift := byte(0), 0
	if s.Sketch {
		bits, shift = runsSketch, sketchShift
	}
	b = append(b, bits)
	b = binary.AppendUvarint(b, uint64(len(s.IDs)))
	last := uint64(0)
	for _, id := range s.IDs {
		b = binary.AppendUvarint(b, (id-last)>>shift)
		last = id
	}
	return b
}

// readRuns reads what appendRuns wrote.
func readRuns(c *bytecur.Cursor, m *prof.Module) {
	off := c.Off()
	bits := c.U8()
	if bits&^runsSketch != 0 {
		c.FailAt(off, "runs with unknown bits %#02x", bits)
		return
	}
	shift := 0
	if bits&runsSketch != 0 {
		m.Held.Sketch, shift = true, sketchShift
	}
	n := c.Count("runs", prof.MaxRuns, 1)
	if n == 0 {
		return
	}
	m.Held.IDs = make([]uint64, n)
	last := uint64(0)
	for i := range m.Held.IDs {
		v := c.Uvarint()
		id := last + v<<shift
		if v == 0 && i > 0 || id>>shift-last>>shift != v {
			c.FailAt(off, "run %d: out of order", i)
			return
		}
		m.Held.IDs[i], last = id, id
	}
	if err := checkRuns(m); c.Err() == nil && err != nil {
		c.FailAt(off, "%v", err)
	}
}

// checkRuns reports the first rule that the runs of m break.
func checkRuns(m *prof.Module) error {
	s := &m.Held
	switch {
	case len(s.IDs) > prof.MaxRuns, !s.Sketch && len(s.IDs) > prof.MaxExactRuns:
		return fmt.Errorf("%d run ids, at most %d are allowed", len(s.IDs), prof.MaxExactRuns)
	case uint64(len(s.IDs)) > m.Raws:
		return fmt.Errorf("%d run ids for %d raw files", len(s.IDs), m.Raws)
	}
	for i, id := range s.IDs {
		switch {
		case id == 0 && !s.Sketch:
			return fmt.Errorf("run id 0 is invalid")
		case i > 0 && id <= s.IDs[i-1]:
			return fmt.Errorf("run %#x: out of order", id)
		case s.Sketch && id<<prof.SketchBits != 0:
			return fmt.Errorf("run %#x has more than the %d bits of a sketch", id, prof.SketchBits)
		}
	}
	return nil
}

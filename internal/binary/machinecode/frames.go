package machinecode

import (
	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Frame is the owner of the frame that the frame pointer points to at an instruction.
type Frame uint8

// The frames.
const (
	FrameUnknown Frame = iota // no unwind table describes it
	FrameOwn                  // the function's own: a walk of frame pointers finds all callers
	FrameCaller               // the caller's, or one further out: a walk of frame pointers misses a caller
)

// Problem: functions create their frames late, on paths that call others, and remove them
// early. The distance of an instruction from the beginning or the end of its function does not
// show whether there is a frame.
//
// Choice: .eh_frame has, for each address, the register by which the frame is found. This is
// the frame pointer exactly where it points to the function's own frame.

// On AArch64 it is rarely the frame pointer, even in functions with frames. There, the
// function's own frame is in place from the instruction that sets the frame pointer, after the
// row in which the caller's is saved, up to the row in which it is restored.

// markFrames evaluates the unwind table of a binary for its instructions.
func (s *Set) markFrames(b *Binary) {
	if s.machine == machine.AArch64 {
		s.markRecords(b, b.unwind.Rows())
		return
	}
	for rows := b.unwind.Rows(); len(rows) > 0; {
		marks, n := s.marksOf(&rows[0]), 1
		for n < len(rows) && s.marksOf(&rows[n]) == marks {
			n++
		}
		if marks != nil {
			end := b.End
			if n < len(rows) {
				end = b.From(rows[n].PC)
			}
			marks.setRange(uint32(b.From(rows[0].PC)-firstRef), uint32(end-firstRef))
		}
		rows = rows[n:]
	}
}

// markRecords is markFrames for AArch64.
func (s *Set) markRecords(b *Binary, rows []ehframe.Row) {
	m := records{i: -1, rows: rows}
	for r := b.First; r < b.End; r++ {
		addr, t := s.Address(r), b.textOf(r)
		if !m.in.has(addr) {
			m.in, m.ever, m.put = b.span(addr), false, false
		}
		switch m.frame(addr, aarch64.Decode(t.data[s.offsets[r-firstRef]:])) {
		case FrameOwn:
			s.framed.set(uint32(r - firstRef))
		case FrameCaller:
			s.frameless.set(uint32(r - firstRef))
		}
	}
}

// records is the state while the instructions are processed in order.
type records struct {
	rows []ehframe.Row
	i    int // of the row
	in   span
	last aarch64.Inst
	put  bool // the caller's frame pointer is saved
	made bool // and the function's own is set
	ever bool // it was set before, in this function
}

// frame returns whose frame the frame pointer points to at the next instruction.
func (m *records) frame(addr uint64, in aarch64.Inst) Frame {
	for m.i+1 < len(m.rows) && m.rows[m.i+1].PC <= addr {
		m.i++
	}
	if m.i < 0 {
		return FrameUnknown
	}
	row := &m.rows[m.i]
	put := row.Frame == ehframe.FrameAtCFA && row.CFA != ehframe.CFAUnknown
	if put && !m.put {
		// After a return in the middle of a function, the frame is the same as before.
		m.made = m.ever && !(m.last.Stores() && m.last.Rd() == aarch64.FP)
	}
	if put && row.CFA == ehframe.CFAFrame { // clang's form
		m.made, m.ever = true, true
	}
	m.put, m.last = put, in
	out := FrameUnknown
	switch {
	case put && m.made:
		out = FrameOwn
	case row.CFA != ehframe.CFAUnknown:
		out = FrameCaller
	}
	switch {
	case put && in.MakesFrame():
		m.made, m.ever = true, true
	case in.RestoresFrame(): // the row may follow later
		m.made = false
	}
	return out
}

func (s *Set) marksOf(row *ehframe.Row) *bitset {
	const saved = 16 // the frame pointer and the return address
	switch {
	case row.CFA == ehframe.CFAFrame && row.Offset == saved, row.CFA == ehframe.CFAAtFrame:
		return &s.framed
	case row.CFA == ehframe.CFAStack, row.CFA == ehframe.CFAPLT:
		return &s.frameless
	}
	return nil
}

// Frame returns whose frame the frame pointer points to at an instruction.
func (s *Set) Frame(r Ref) Frame {
	s.framesOnce.Do(func() { // stacks that were copied do not need them
		s.framed, s.frameless = newBitset(len(s.shapes)), newBitset(len(s.shapes))
		for _, b := range s.binaries {
			s.markFrames(b)
		}
	})
	switch i := uint32(r - firstRef); {
	case s.framed.has(i):
		return FrameOwn
	case s.frameless.has(i):
		return FrameCaller
	}
	return FrameUnknown
}

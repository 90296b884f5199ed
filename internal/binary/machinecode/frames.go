package machinecode

import (
	"sort"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Frame says whose frame the frame pointer shows at an instruction.
type Frame uint8

// The frames.
const (
	FrameUnknown Frame = iota // no unwind table tells
	FrameOwn                  // the function's: a walk of frame pointers finds all callers
	FrameCaller               // the caller's, or another's further out: such a walk has no caller
)

// Problem: functions make their frames late, where only some ways through them call others,
// and take them down early. Which instructions have none cannot be told by their distance
// from the beginning or the end.
//
// Choice: .eh_frame says, for each address, by which register the frame is found. It is the
// frame pointer exactly where that shows the function's own frame.

// markFrames notes what the unwind table of a program says of its instructions.
func (s *Set) markFrames(b *Binary, p *objfile.Program) {
	rows := p.Unwind
	for r := b.First; r < b.End; {
		addr := s.Address(r)
		i := sort.Search(len(rows), func(i int) bool { return rows[i].PC > addr })
		end := b.End
		if i < len(rows) {
			end = max(b.From(rows[i].PC), r+1)
		}
		var marks *bitset
		if i > 0 {
			marks = s.marksOf(&rows[i-1])
		}
		for ; r < end; r++ {
			if marks != nil {
				marks.set(uint32(r - firstRef))
			}
		}
	}
}

func (s *Set) marksOf(row *ehframe.Row) *bitset {
	const saved = 16 // the frame pointer and the return address
	switch {
	case row.CFA == ehframe.CFAFrame && row.Offset == saved, row.CFA == ehframe.CFAAtFrame:
		return &s.framed
	case row.CFA == ehframe.CFAStack:
		return &s.frameless
	}
	return nil
}

// Frame returns whose frame the frame pointer shows at an instruction.
func (s *Set) Frame(r Ref) Frame {
	switch i := uint32(r - firstRef); {
	case s.framed.has(i):
		return FrameOwn
	case s.frameless.has(i):
		return FrameCaller
	}
	return FrameUnknown
}

package xray

import (
	"bytes"
	"math"

	"github.com/cairnprof/cairn/calllog"
)

// part is a piece of a log that can be read separately: a block of an FDR log, or a run of a thread's records
// in a basic one. There is one for each 16 KiB of a log; no other data grows with it.
type part struct {
	off   int64  // of the block, with its preamble
	size  int64  // bytes in the file
	first uint64 // the first time in it
	wall  uint64 // FDR: microseconds since boot when it began
	owner int32  // index of the thread
	cut   bool   // the file ends inside
	lost  bool   // basic: something before it was skipped
	timed bool   // first is known
}

// owner is a thread.
type owner struct{ pid, tid uint32 }

// block is the content of a block's preamble.
type block struct {
	part
	owner
	lack  string // what the preamble lacks
	body  bool   // something follows the preamble
	call  calllog.FuncID
	empty bool // padding
}

// blocks iterates over the blocks of an FDR log in the order of the file.
type blocks struct {
	h   *header
	win window
	pos int64
	cur block // what next returns
}

// How much is read at once.
const (
	chunk   = 256 << 10
	preview = 512  // the preamble of a block, and some of its calls
	smaller = 4096 // several preambles, if blocks are small
)

// next returns the next block, whose memory is reused, or the damage before it. At the end it returns neither.
func (s *blocks) next() (*block, *calllog.Damage, error) {
	for s.pos < s.win.size {
		var b *block
		var err error
		if s.h.version == 1 {
			b, err = s.fixed()
		} else {
			b, err = s.extents()
		}
		switch {
		case err != nil:
			return nil, nil, err
		case b == nil:
			damage, err := s.skip()
			if damage != nil || err != nil {
				return nil, damage, err
			}
		case b.empty:
			s.pos += b.size
		default:
			s.pos += b.size
			return b, nil, nil
		}
	}
	return nil, nil, nil
}

// peek returns some bytes at an offset. Where blocks are small it reads more.
func (s *blocks) peek(pos int64) ([]byte, error) {
	ahead := int64(preview)
	if pos-s.win.off < smaller {
		ahead = smaller
	}
	return s.win.at(pos, preview, ahead)
}

// fixed returns the block of version 1 that is at s.pos. All blocks have the same size,
// with filler after their end. If the size is unknown, the file is one block.
func (s *blocks) fixed() (*block, error) {
	size := s.win.size - s.pos
	const least = 3 * metadataSize
	known := s.h.buffer >= least
	if known && s.h.buffer < uint64(size) {
		size = int64(s.h.buffer)
	}
	p, err := s.peek(s.pos)
	if err != nil {
		return nil, err
	}
	p = p[:min(int64(len(p)), size)]
	b := s.preamble(p)
	if b == nil {
		return nil, nil
	}
	if !known {
		b.lack = "the header has no buffer size: blocks after the first cannot be found"
	}
	b.off, b.size, b.cut = s.pos, size, uint64(size) < s.h.buffer
	return b, nil
}

// extents returns the block of version 2 or later that is at s.pos.
func (s *blocks) extents() (*block, error) {
	p, err := s.peek(s.pos)
	if err != nil || len(p) < metadataSize {
		return nil, err
	}
	if kind, meta := (&walker{h: s.h}).metadata(p[0]); !meta || kind != Extents {
		return nil, nil
	}
	size := s.h.order().Uint64(p[1:])
	rest := s.win.size - s.pos - metadataSize
	if size == 0 {
		s.cur = block{part: part{off: s.pos, size: metadataSize}, empty: true}
		return &s.cur, nil
	}
	over := s.h.buffer > 0 && size > s.h.buffer
	cut := size > uint64(rest)
	switch {
	case over && cut, size > math.MaxInt64/2:
		return nil, nil
	case cut:
		size = uint64(rest)
	case over:
		if ok, err := s.begins(s.pos + metadataSize + int64(size)); !ok || err != nil {
			return nil, err
		}
	}
	end := metadataSize + int64(size)
	b := s.preamble(p[:min(int64(len(p)), end)])
	if b == nil {
		return nil, nil
	}
	b.off, b.size, b.cut = s.pos, end, cut
	return b, nil
}

// begins reports whether the file ends at pos, or a block begins there.
func (s *blocks) begins(pos int64) (bool, error) {
	if pos == s.win.size {
		return true, nil
	}
	near := window{r: s.win.r, name: s.win.name, size: s.win.size}
	p, err := near.at(pos, metadataSize, 0)
	if err != nil {
		return false, err
	}
	kind, meta := (&walker{h: s.h}).metadata(p[0])
	return meta && kind == Extents, nil
}

// preamble parses the beginning p of a block. It returns nil if it is not a block of a known thread.
func (s *blocks) preamble(p []byte) *block {
	w := walker{h: s.h}
	b := &s.cur
	*b = block{}
	var wall, process bool
	for pos := 0; pos < len(p); {
		n, trouble := w.step(p[pos:], false)
		if n == 0 && trouble == "" || trouble == badNested {
			b.body = true
			break
		}
		switch r := &w.rec; {
		case trouble != "":
			b.body = true
		case r.Kind == WallTime:
			wall = true
			b.wall = uint64(r.Seconds)*1e6 + uint64(r.Micros)
		case r.Kind == Process:
			process = true
		case r.Kind == NewCPU, r.Kind == ClockWrap:
			if !b.timed {
				b.first, b.timed = r.Time, true
			}
		case r.Kind == Call:
			b.body = true
			if r.Func.Object() > b.call.Object() {
				b.call = r.Func
			}
		case r.Kind == EndBuffer:
			pos = len(p)
		case r.Kind > NewBuffer && r.Kind != Extents:
			b.body = true
		}
		if !w.begun && w.rec.Kind != Extents {
			return nil
		}
		pos += n
	}
	if !w.begun {
		return nil
	}
	switch {
	case !wall:
		b.lack = "the block has no wall-clock time"
	case !process && s.h.version >= 3:
		b.lack = "the block has no process id"
	case !b.timed:
		b.lack = "the block does not begin with a time"
	}
	b.owner = owner{w.pid, w.tid}
	return b
}

// skip advances to the next block after invalid data, and returns the damage: none if it is zeros up to the end
// of the file.
func (s *blocks) skip() (*calllog.Damage, error) {
	from := s.pos
	zeros, err := s.win.zeros(from, s.win.size)
	if err != nil {
		return nil, err
	}
	if from+zeros == s.win.size {
		s.pos = s.win.size
		return nil, nil
	}
	if s.h.version == 1 {
		s.pos = s.win.size
		if s.h.buffer > 0 && s.h.buffer < uint64(s.win.size-from) {
			s.pos = from + int64(s.h.buffer)
		}
		if zeros >= s.pos-from {
			return nil, nil // a buffer that was never used
		}
	} else if err := s.search(from + max(zeros, 1)); err != nil {
		return nil, err
	}
	what := "no block begins here"
	switch rest := s.pos - from; {
	case rest < 5*metadataSize && s.pos == s.win.size:
		what = "the file ends before a block has begun"
	case zeros == rest:
		what = badZeros
	}
	return &calllog.Damage{File: s.win.name, Offset: from, Size: s.pos - from, What: what}, nil
}

// search moves s.pos to the next offset from pos on at which a block seems to
// begin, or to the end of the file.
func (s *blocks) search(pos int64) error {
	first := byte(Extents<<1 | 1)
	if s.h.big {
		first = byte(Extents | 0x80)
	}
	for pos < s.win.size {
		p, err := s.win.at(pos, 6*metadataSize, chunk)
		if err != nil {
			return err
		}
		i := bytes.IndexByte(p, first)
		switch {
		case i < 0:
			pos += int64(len(p))
			continue
		case len(p)-i < 5*metadataSize && pos+int64(len(p)) < s.win.size:
			pos += int64(i) // the rest of it is not here yet, so i is not 0
			continue
		case s.promising(p[i:], s.win.size-pos-int64(i)):
			s.pos = pos + int64(i)
			return nil
		}
		pos += int64(i) + 1
	}
	s.pos = s.win.size
	return nil
}

// promising reports whether p looks like the whole preamble of a block, rest bytes before the end of the file.
func (s *blocks) promising(p []byte, rest int64) bool {
	o, w := s.h.order(), walker{h: s.h}
	kinds := []RecordKind{Extents, NewBuffer, WallTime, Process, NewCPU}
	if s.h.version < 3 {
		kinds = []RecordKind{Extents, NewBuffer, WallTime, NewCPU}
	}
	if len(p) < len(kinds)*metadataSize {
		return false
	}
	for i, want := range kinds {
		if kind, meta := w.metadata(p[i*metadataSize]); !meta || kind != want {
			return false
		}
	}
	size := o.Uint64(p[1:])
	if s.h.buffer > 0 {
		return size <= s.h.buffer
	}
	return size <= uint64(rest)
}

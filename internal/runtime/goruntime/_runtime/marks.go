package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// cairnMark is what package mark said of a call that goes on, or of a part of one.
type cairnMark struct {
	seq      uint64
	entry    uintptr // of the function
	depth    uintptr // of its frame
	word     int64   // clock when it was made
	own      int64   // threshold of the call, 0: none
	children int64   // of those below
	section  bool
	nth      uintptr // of the parts of the call that it is in, from 1
	name     [cairnMaxName]byte
	len      int
	ignore   bool
	silent   bool // calls below are not reported
	active   int8 // -1: the goroutine reports nothing
}

// cairnMarks are the marks of a goroutine, the outermost first, and the texts about calls that
// have not ended.
type cairnMarks struct {
	_     sys.NotInHeap
	n     int
	list  [cairnNumMarks]cairnMark
	texts [2048]byte
	used  int
	names [8]cairnText
	named int
}

// cairnText is a text about a call.
type cairnText struct {
	depth    uintptr
	kind     uint16
	from, to int
}

const (
	cairnNumMarks  = 32
	cairnMaxName   = 64
	cairnMaxLabel  = 100
	cairnMaxText   = 400
	cairnMarkOwn   = 1
	cairnMarkBelow = 2
	cairnMarkAbove = 3
	cairnMarkSkip  = 4
	cairnMarkQuiet = 5
	cairnMarkOn    = 6
)

var (
	cairnMarkSeq uint64
	cairnLeast   int64 = 1 << 62 // lowest threshold of a mark
	cairnGiven   bool            // the period is the user's
)

// cairnMarksOf returns the marks of a goroutine, nil if it has none and make is not set.
func cairnMarksOf(gp *g, make bool) *cairnMarks {
	w := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits))
	if w == nil && make && cairnMode == cairnLogModeSpike {
		w = cairnWaitsOf(gp)
	}
	if w == nil {
		return nil
	}
	if w.marks == nil && make {
		w.marks = (*cairnMarks)(unsafe.Pointer(cairnMemory.alloc((unsafe.Sizeof(cairnMarks{}) + 7) &^ 7)))
	}
	if w.marks != nil && !make && w.marks.n == 0 {
		return nil
	}
	return w.marks
}

// cairn_mark_open adds a mark to the call that called its caller. It returns its number, 0 if
// there is none.
//
//go:linkname cairn_mark_open
func cairn_mark_open(section bool, name string) (seq uint64) {
	if cairnMode != cairnLogModeSpike {
		return 0
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	gp := getg()
	systemstack(func() {
		if !cairnBusy(gp) {
			seq = cairnOpenMark(gp, pc, sp, section, name)
		}
	})
	return seq
}

func cairnOpenMark(gp *g, pc, sp uintptr, section bool, name string) uint64 {
	m := cairnMarksOf(gp, true)
	var frames [2]cairnFrame
	if m == nil || cairnStack(gp, pc, sp, ^uintptr(0), frames[:]) < 2 {
		return 0
	}
	f := frames[1]
	// Calls in deeper frames are gone, and so is what another call had in this frame.
	for m.n > 0 && (m.list[m.n-1].depth > f.depth || m.list[m.n-1].depth == f.depth && (!section || m.list[m.n-1].entry != f.entry)) {
		m.n--
	}
	kept := 0
	for i := range m.named { // what was said of those
		if t := m.names[i]; t.depth < f.depth-1 || t.depth < f.depth && section {
			m.names[kept] = t
			kept++
		}
	}
	if m.named = kept; kept == 0 {
		m.used = 0
	}
	if m.n == cairnNumMarks {
		return 0
	}
	seq := atomic.Xadd64(&cairnMarkSeq, 1)
	e := &m.list[m.n]
	*e = cairnMark{seq: seq, entry: f.entry, depth: f.depth, word: cairnWord, section: section}
	if section {
		e.nth = 1
		if m.n > 0 && m.list[m.n-1].depth == f.depth {
			e.nth += m.list[m.n-1].nth
		}
		e.len = copy(e.name[:], name)
	}
	m.n++
	return seq
}

// at returns where the frame of the call is, or a place in it that stands for a part of the call.
func (e *cairnMark) at() uintptr { return e.depth - e.nth }

// withSections adds the parts of calls that go on to some frames, each below its call. It returns
// how many there are.
func (m *cairnMarks) withSections(frames []cairnFrame, n int) int {
	for i := m.n - 1; i >= 0; i-- {
		e := &m.list[i]
		if !e.section || n == len(frames) {
			continue
		}
		for k := range n {
			if f := frames[k]; f.entry == e.entry && f.depth == e.depth {
				copy(frames[k+1:n+1], frames[k:n])
				frames[k] = cairnFrame{uintptr(e.seq), e.at(), f.pc}
				n++
				break
			}
		}
	}
	return n
}

// nameSections writes the names of the parts of calls in the frames of a spike.
func (s *cairnCall) nameSections() {
	m := cairnMarksOf(s.gp, false)
	if m == nil {
		return
	}
	for i := range m.n {
		e := &m.list[i]
		for k := range s.frames {
			if f := &s.frames[k]; e.section && f.entry == uintptr(e.seq) && f.depth == e.at() {
				s.say(cairnLogTextSection, e.name[:e.len], f)
			}
		}
	}
}

// find returns the index of a mark of the goroutine, -1 if it has ended.
func (m *cairnMarks) find(seq uint64) int {
	if m != nil && seq != 0 {
		for i := m.n - 1; i >= 0; i-- {
			if m.list[i].seq == seq {
				return i
			}
		}
	}
	return -1
}

// cairn_mark_set says something about the call of a mark.
//
//go:linkname cairn_mark_set
func cairn_mark_set(seq uint64, what int, value int64) {
	m := cairnMarksOf(getg(), false)
	i := m.find(seq)
	if i < 0 {
		return
	}
	e := &m.list[i]
	switch what {
	case cairnMarkOwn:
		e.own = max(value, 1)
	case cairnMarkBelow:
		e.children = max(value, 1)
	case cairnMarkAbove:
		for k := range i {
			m.list[k].own = max(value, 1)
		}
	case cairnMarkSkip:
		e.ignore = true
	case cairnMarkQuiet:
		e.silent = true
	case cairnMarkOn:
		e.active = int8(value)
	}
	if what <= cairnMarkAbove && value < cairnLeast {
		cairnLeast = max(value, 1)
		cairnSetLow()
	}
}

// cairn_mark_threshold sets the threshold of calls without one of their own.
//
//go:linkname cairn_mark_threshold
func cairn_mark_threshold(ns int64) {
	if cairnMode == cairnLogModeSpike {
		cairnThreshold = max(ns, 1)
		cairnSetLow()
	}
}

// judge returns the threshold of the innermost call of some frames, and whether it is reported.
// section is the index of the mark of a part of the call, or -1.
func (m *cairnMarks) judge(frames []cairnFrame, section int) (threshold int64, ok bool) {
	threshold = cairnThreshold
	below, active := false, int8(0)
	for i := m.n - 1; i >= 0; i-- {
		e := &m.list[i]
		on := -1 // which of the frames it is of
		for k := range frames {
			if frames[k].entry == e.entry && frames[k].depth == e.depth {
				on = k
				break
			}
		}
		if on < 0 {
			continue // of a call that has ended
		}
		if active == 0 {
			active = e.active
		}
		if i == section || section < 0 && on == 0 && !e.section {
			if e.ignore {
				return 0, false
			}
			if e.own != 0 {
				threshold, below = e.own, true
			}
			continue
		}
		if section < 0 && on == 0 || i > section && section >= 0 {
			continue // a part of the call itself
		}
		if e.silent {
			return 0, false
		}
		if e.children != 0 && !below {
			threshold, below = e.children, true
		}
	}
	return threshold, active >= 0
}

// cairn_mark_over reports whether the call of a mark has lasted as long as its threshold.
//
//go:linkname cairn_mark_over
func cairn_mark_over(seq uint64) (over bool) {
	gp := getg()
	m := cairnMarksOf(gp, false)
	i := m.find(seq)
	if i < 0 || cairnWord-m.list[i].word < cairnLow {
		return false
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		e := &m.list[i]
		var frames [cairnNumFrames]cairnFrame
		n := cairnStack(gp, pc, sp, e.depth, frames[:])
		section := -1
		if e.section {
			section = i
		}
		threshold, ok := m.judge(frames[:n], section)
		now := cairnNow()
		lo, _ := cairnLasted(gp, e.word, cairnOpened(e.word, now), now)
		over = ok && n > 0 && lo >= threshold
	})
	return over
}

// cairn_mark_text keeps a text about the call of a mark, for the time when it is reported.
//
//go:linkname cairn_mark_text
func cairn_mark_text(seq uint64, kind uint16, text string) {
	m := cairnMarksOf(getg(), false)
	if i := m.find(seq); i >= 0 {
		m.keep(m.list[i].at(), kind, text)
	}
}

func (m *cairnMarks) keep(depth uintptr, kind uint16, text string) {
	if len(text) > cairnMaxText {
		text = text[:cairnMaxText]
	}
	if m.named == len(m.names) || m.used+len(text) > len(m.texts) {
		return
	}
	n := copy(m.texts[m.used:], text)
	m.names[m.named] = cairnText{depth, kind, m.used, m.used + n}
	m.named++
	m.used += n
}

// writeTexts writes what was said about a call, and forgets it and what was said about calls below.
func (s *cairnCall) writeTexts() {
	m := cairnMarksOf(s.gp, false)
	if m == nil {
		return
	}
	f := s.frames[0]
	kept := 0
	for i := range m.named {
		t := m.names[i]
		if t.depth < f.depth {
			m.names[kept] = t
			kept++
			continue
		}
		if t.depth == f.depth && s.number&cairnUnwritten == 0 {
			s.say(t.kind, m.texts[t.from:t.to], &f)
		}
	}
	m.named = kept
	if kept == 0 {
		m.used = 0
	}
}

// say writes a text about the call in a frame.
func (s *cairnCall) say(kind uint16, text []byte, f *cairnFrame) {
	size := (cairnLogTextSize + uintptr(len(text)) + 7) &^ 7
	r := cairnRecord(cairnLogTypeText, uint32(s.gp.goid), size)
	if r == 0 {
		return
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut16(r+24, kind)
	cairnPut16(r+26, uint16(len(text)))
	cairnPut32(r+28, uint32(^f.depth))
	cairnPut64(r+32, uint64(f.pc))
	cairnCopy(r+cairnLogTextSize, text)
	cairnCommit(cairnLogTypeText, size, r)
}

// cairn_mark_close ends a mark. That of a part of a call is timed here.
//
//go:linkname cairn_mark_close
func cairn_mark_close(seq uint64) {
	gp := getg()
	m := cairnMarksOf(gp, false)
	i := m.find(seq)
	if i < 0 {
		return
	}
	e := &m.list[i]
	if !e.section {
		return // the probe of the function needs it; the next one takes it away
	}
	if cairnWord-e.word >= cairnLow {
		pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
		systemstack(func() { cairnSlowSection(gp, m, i, pc, sp) })
		m.n = i
		cairnTell(gp)
	}
	m.n = min(m.n, i)
}

func cairnSlowSection(gp *g, m *cairnMarks, i int, pc, sp uintptr) {
	e := &m.list[i]
	end := cairnNow()
	began := cairnOpened(e.word, end)
	lo, hi := cairnLasted(gp, e.word, began, end)
	atomic.Xadd64(&cairnSlowExits, 1)
	var frames [cairnNumFrames]cairnFrame
	n := cairnStack(gp, pc, sp, e.depth, frames[:])
	c := cairnWaitsOf(gp)
	if n == 0 || c == nil || e.word == 0 {
		return
	}
	threshold, ok := m.judge(frames[:n], i)
	switch {
	case !ok || hi < threshold:
		return
	case lo < threshold:
		atomic.Xadd64(&cairnBorderline, 1)
		return
	}
	m.n = i + 1 // parts in it that were not ended are over
	n = m.withSections(frames[:], n)
	s := cairnCall{gp: gp, w: e.word, began: began, end: end, lo: lo, hi: hi, frames: frames[:n], threshold: threshold}
	s.runs(c)
	s.report(c)
}

// report writes a call that took long: as a caller of the last spike, or as a spike.
func (s *cairnCall) report(c *cairnWaits) {
	cairnLogLock.lock()
	if i := c.index(s.frames[0]); i > c.last && c.ended >= s.w {
		c.last = i
		s.number = c.number
		if s.number&cairnUnwritten == 0 {
			s.parent()
			s.usage(c)
		}
	} else {
		s.episode(c)
	}
	s.note(c)
	s.writeTexts()
	cairnTrail(s.end, 0)
	cairnLogLock.unlock()
	s.hasEnded()
}

// cairn_mark_label names the goroutine.
//
//go:linkname cairn_mark_label
func cairn_mark_label(text string) {
	if cairnMode != cairnLogModeSpike {
		return
	}
	gp := getg()
	systemstack(func() {
		c := cairnWaitsOf(gp)
		if c == nil {
			return
		}
		if len(text) > cairnMaxLabel {
			text = text[:cairnMaxLabel]
		}
		c.labelLen = copy(c.label[:], text)
		cairnLogLock.lock()
		if !c.named {
			cairnThreads++
		}
		c.named = true
		cairnNameThread(gp, cairnNow(), c.label[:c.labelLen], nil)
		cairnLogLock.unlock()
	})
}

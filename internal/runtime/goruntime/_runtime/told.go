package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// cairnSnapshots counts stacks that package mark asked for.
var cairnSnapshots uint64

// cairn_mark_snapshot writes the stack of the caller of its caller.
//
//go:linkname cairn_mark_snapshot
func cairn_mark_snapshot() {
	if cairnMode != cairnLogModeSpike {
		return
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	gp := getg()
	systemstack(func() { cairnSnapshot(gp, pc, sp) })
}

func cairnSnapshot(gp *g, pc, sp uintptr) {
	c := cairnWaitsOf(gp)
	var frames [cairnNumFrames]cairnFrame
	n := cairnStack(gp, pc, sp, ^uintptr(0), frames[:])
	if c == nil || c.busy || n < 2 {
		return
	}
	n = copy(frames[:], frames[1:n]) // without the one of package mark
	if m := cairnMarksOf(gp, false); m != nil {
		n = m.withSections(frames[:], n)
	}
	s := cairnCall{gp: gp, end: cairnNow(), frames: frames[:n], threshold: cairnThreshold, snapshot: true}
	s.lo, s.hi, _ = s.timeOf(0)
	cairnLogLock.lock()
	cairnEpisodes++
	cairnSnapshots++
	s.number = cairnEpisodes
	s.write(c, cairnLogEpisodeSnapshot)
	cairnTrail(s.end, 0)
	cairnLogLock.unlock()
}

// timeOf returns how long call i of a stack has lasted, if that is known: of the call that ended,
// and of those that go on and have a mark.
func (s *cairnCall) timeOf(i int) (lo, hi int64, ok bool) {
	if i == 0 && !s.snapshot {
		return s.lo, s.hi, true
	}
	m := cairnMarksOf(s.gp, false)
	if m == nil {
		return 0, 0, false
	}
	f := &s.frames[i]
	for k := range m.n {
		e := &m.list[k]
		if e.section && f.entry == uintptr(e.seq) && f.depth == e.at() || !e.section && f.entry == e.entry && f.depth == e.depth {
			lo, hi = cairnLasted(s.gp, e.word, cairnOpened(e.word, s.end), s.end)
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// cairnSpikeInfo is what a handler is told of a spike, and cairnCallInfo of a call of its stack.
// Package mark has the same types.
type cairnSpikeInfo struct {
	number, frame          uint64
	ago, lo, hi, threshold int64
	parent                 bool
	label, desc            string
	messages               []string
	stack                  []cairnCallInfo
}

type cairnCallInfo struct {
	name, file string
	line       int
	pc         uintptr
	lo, hi     int64
	section    bool
}

var cairnHandler func(*cairnSpikeInfo)

// cairn_mark_handler sets what is called for each spike that is written, on its goroutine.
//
//go:linkname cairn_mark_handler
func cairn_mark_handler(f func(*cairnSpikeInfo)) { cairnHandler = f }

// cairnTold is what the system stack notes for the handler.
type cairnTold struct {
	_        sys.NotInHeap
	full     bool
	parent   bool
	number   uint64
	frame    uint64
	end      int64
	lo, hi   int64
	limit    int64
	n        int
	frames   [cairnNumFrames]cairnFrame
	times    [cairnNumFrames][2]int64
	texts    [2048]byte
	used     int
	list     [16]cairnToldText
	numTexts int
}

// cairnToldText is a text: of a kind, and for the name of a part of a call the frame.
type cairnToldText struct {
	kind     uint16
	frame    int
	from, to int
}

func (t *cairnTold) add(kind uint16, frame int, text []byte) {
	if t.numTexts < len(t.list) && t.used+len(text) <= len(t.texts) {
		n := copy(t.texts[t.used:], text)
		t.list[t.numTexts] = cairnToldText{kind, frame, t.used, t.used + n}
		t.numTexts++
		t.used += n
	}
}

// note keeps what the handler is to be told of a call.
func (s *cairnCall) note(c *cairnWaits) {
	if cairnHandler == nil || s.number&cairnUnwritten != 0 {
		return
	}
	if c.told == nil {
		if c.told = (*cairnTold)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnTold{})))); c.told == nil {
			return
		}
	}
	t := c.told
	t.full, t.number, t.frame, t.end, t.lo, t.hi, t.limit = true, s.number, cairnFrameCount, s.end, s.lo, s.hi, s.threshold
	t.parent, t.used, t.numTexts = c.last > 0, 0, 0
	t.n = copy(t.frames[:], s.frames)
	for i := range t.n {
		lo, hi, _ := s.timeOf(i)
		t.times[i] = [2]int64{lo, hi}
	}
	m := cairnMarksOf(s.gp, false)
	if m == nil {
		return
	}
	for i := range m.named {
		if x := &m.names[i]; x.depth == s.frames[0].depth {
			t.add(x.kind, 0, m.texts[x.from:x.to])
		}
	}
	for i := range m.n {
		for k := range t.n {
			if e, f := &m.list[i], &t.frames[k]; e.section && f.entry == uintptr(e.seq) && f.depth == e.at() {
				t.add(cairnLogTextSection, k, e.name[:e.len])
			}
		}
	}
}

// cairnTell calls the handler of spikes. What it does is not measured.
func cairnTell(gp *g) {
	c := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits))
	if c == nil || c.told == nil || !c.told.full {
		return
	}
	c.told.full = false
	handler := cairnHandler
	if handler == nil || c.busy {
		return
	}
	systemstack(func() { cairnPausesBegin(gp) })
	c.busy = true
	defer func() {
		c.busy = false
		systemstack(func() { cairnPausesEnd(gp) })
	}()
	handler(c.told.info(string(c.label[:c.labelLen])))
}

// info makes of what was noted what a handler is told.
func (t *cairnTold) info(label string) *cairnSpikeInfo {
	s := &cairnSpikeInfo{
		number: t.number, frame: t.frame, ago: cairnNow() - t.end, lo: t.lo, hi: t.hi, threshold: t.limit, parent: t.parent, label: label,
	}
	var calls []cairnCallInfo
	var at [cairnNumFrames]int // of the frames, in calls
	for i := range t.n {
		f := &t.frames[i]
		for frames, more := CallersFrames([]uintptr{f.pc}), true; more; {
			var c Frame
			if c, more = frames.Next(); i == 0 && more {
				continue // inlined into the function that took long
			}
			at[i] = len(calls)
			calls = append(calls, cairnCallInfo{name: c.Function, file: c.File, line: c.Line, pc: f.pc})
		}
		calls[at[i]].lo, calls[at[i]].hi = t.times[i][0], t.times[i][1]
	}
	for i := range t.numTexts {
		x := &t.list[i]
		text := string(t.texts[x.from:x.to])
		switch x.kind {
		case cairnLogTextSection:
			calls[at[x.frame]].name, calls[at[x.frame]].section = text, true
		case 1:
			s.desc = text
		default:
			s.messages = append(s.messages, text)
		}
	}
	s.stack = calls
	return s
}

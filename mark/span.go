//go:build cairn

package mark

import (
	"sync"
	"sync/atomic"
	"time"
)

// Enabled reports whether the program was built with the tag "cairn".
const Enabled = true

// A Span is the time from a mark to its End. The zero Span does nothing.
type Span struct {
	st  *stack
	at  int32  // index in st.spans
	seq uint32 // of the span there, if it is still this one
}

// stack holds the open spans of a goroutine, the outermost first. Only that goroutine uses it.
type stack struct {
	id    uintptr
	spans []span
	seq   uint32
	calls uint32

	// busy is set while a spike is reported: marks in functions of the program that are called then do nothing.
	busy bool

	pauses   int
	pausedAt int64 // when the outermost pause began
	paused   int64 // ns, sum of pauses that ended, and of our own work
}

type span struct {
	word   int64 // of the clock
	depth  uintptr
	pc     uintptr // return address of the mark
	paused int64   // of the goroutine, at the mark
	own    int64   // threshold, 0: none
	name   string  // of a section
	*extra         // nil for most
	seq    uint32
	ignore bool
}

// extra has the fields that only some spans use.
type extra struct {
	children int64 // threshold of spans below
	desc     func() string
	messages []string
	label    string
	activity int8 // 1: switched on, -1: switched off
	ignored  bool // spans below are not reported
	best     *child
	spike    uint64 // number of the spike below
}

// child is the longest ended span within another.
type child struct {
	pc     uintptr
	name   string
	lo, hi int64
	best   *child
}

// maxOpen bounds the open spans of a goroutine: more were never ended.
const maxOpen = 1024

// more returns the rest of the span, and creates it if necessary.
func (e *span) more() *extra {
	if e.extra == nil {
		e.extra = &extra{}
	}
	return e.extra
}

// Func opens a span for the function that calls it: s := mark.Func(); defer s.End().
//
//go:noinline
func Func() Span {
	if off.Load() {
		return Span{}
	}
	id, depth, pc := here()
	if portable {
		id, depth, pc = hereSlowly()
	}
	return open(id, depth, pc, "")
}

// Section opens a span for a part of a function, with its own name.
//
//go:noinline
func Section(name string) Span {
	if off.Load() {
		return Span{}
	}
	id, depth, pc := here()
	if portable {
		id, depth, pc = hereSlowly()
	}
	return open(id, depth, pc, name)
}

func open(id, depth, pc uintptr, name string) Span {
	st := find(id)
	if st == nil {
		st = newStack(id)
	}
	acquire(st)
	if st.busy {
		return Span{}
	}
	// Spans of deeper frames, and of the same mark in the same frame, are stale.
	n := len(st.spans)
	for n > 0 && (st.spans[n-1].depth > depth || st.spans[n-1].depth == depth && st.spans[n-1].pc == pc && depth != 0) {
		n--
		st.spans[n] = span{}
	}
	st.spans = st.spans[:n]
	if n == 0 {
		st.pauses = 0 // a pause left by an earlier goroutine
	}
	if n == maxOpen {
		return Span{}
	}
	w := clock.word.Load()
	if w&asleep != 0 {
		w = wakeUp()
	}
	if st.calls++; st.calls%64 == 0 {
		refresh(w)
		w = clock.word.Load() &^ asleep
	}
	st.seq++
	e := span{word: w, depth: depth, pc: pc, paused: st.paused, name: name, seq: st.seq}
	if st.pauses > 0 {
		e.paused += now() - st.pausedAt
	}
	st.spans = append(st.spans, e)
	release(st)
	return Span{st, int32(n), st.seq}
}

// get returns the span, or nil if it has ended or belongs to another goroutine.
func (s Span) get() *span {
	if s.st == nil || !portable && self() != s.st.id || int(s.at) >= len(s.st.spans) || s.st.busy {
		return nil
	}
	if e := &s.st.spans[s.at]; e.seq == s.seq {
		return e
	}
	return nil
}

// End ends the span. It must be called on the goroutine that opened it.
func (s Span) End() {
	e := s.get()
	if e == nil {
		return
	}
	if w := clock.word.Load(); w-e.word >= clock.low.Load() || w&asleep != 0 {
		s.st.slow(int(s.at))
	}
	for i := len(s.st.spans) - 1; i >= int(s.at); i-- {
		s.st.spans[i] = span{}
	}
	s.st.spans = s.st.spans[:s.at]
	release(s.st)
}

// If returns the span if c holds, and otherwise one that does nothing:
// s.If(quick).Ignore().
func (s Span) If(c bool) Span {
	if c {
		return s
	}
	return Span{}
}

// Threshold sets the duration from which this span is a spike.
func (s Span) Threshold(d time.Duration) {
	if e := s.get(); e != nil {
		e.own = max(int64(d), 1)
		thresholds.least(int64(d))
	}
}

// ChildrenThreshold sets it for all spans below that have none of their own.
func (s Span) ChildrenThreshold(d time.Duration) {
	if e := s.get(); e != nil {
		e.more().children = max(int64(d), 1)
		thresholds.least(int64(d))
	}
}

// ParentsThreshold replaces the thresholds of the spans that are open around this one. For example, a level
// that is loaded within a tick is then no spike of the tick.
func (s Span) ParentsThreshold(d time.Duration) {
	if e := s.get(); e != nil {
		for i := range s.st.spans[:s.at] {
			s.st.spans[i].own = max(int64(d), 1)
		}
		thresholds.least(int64(d))
	}
}

// Desc sets the span's description in the log. f is called in End, and only if the span is logged.
func (s Span) Desc(f func() string) {
	if e := s.get(); e != nil {
		e.more().desc = f
	}
}

// OverTime adds a message if the span has already reached its threshold. Only then is f called, at once.
func (s Span) OverTime(f func() string) {
	e := s.get()
	if e == nil {
		return
	}
	w := clock.word.Load()
	if w-e.word < clock.low.Load() && w&asleep == 0 {
		return
	}
	end := now()
	if lo, _ := s.st.lasted(e, end); lo >= s.st.threshold(int(s.at)) && !s.st.silent(int(s.at)) {
		x := e.more()
		s.st.ours(end, func() { x.messages = append(x.messages, f()) })
	}
}

// Active switches reports of the goroutine off, or on again, until the span ends.
func (s Span) Active(on bool) {
	if e := s.get(); e != nil {
		e.more().activity = -1
		if on {
			e.activity = 1
		}
	}
}

// Label names the goroutine in the log until the span ends.
func (s Span) Label(name string) {
	if e := s.get(); e != nil {
		e.more().label = name
	}
}

// Ignore excludes the span from reports. Spans around it and below it are reported.
func (s Span) Ignore() {
	if e := s.get(); e != nil {
		e.ignore = true
	}
}

// IgnoreChildren excludes all spans below this one from reports.
func (s Span) IgnoreChildren() {
	if e := s.get(); e != nil {
		e.more().ignored = true
	}
}

// table finds the stack of a goroutine: open addressing, read without a lock, never more than half full.
// Entries are never removed, as descriptors of goroutines are never freed.
type table struct {
	shift uint
	slots []slot
}

type slot struct {
	id atomic.Uintptr
	st *stack // written before id
}

var (
	stacks atomic.Pointer[table]
	making sync.Mutex
	made   int
)

func (t *table) place(id uintptr) int {
	return int(uint64(id) * 0x9e3779b97f4a7c15 >> t.shift)
}

func find(id uintptr) *stack {
	t := stacks.Load()
	if t == nil {
		return nil
	}
	for i := t.place(id); ; i = (i + 1) & (len(t.slots) - 1) {
		switch t.slots[i].id.Load() {
		case id:
			return t.slots[i].st
		case 0:
			return nil
		}
	}
}

func (t *table) put(st *stack) {
	i := t.place(st.id)
	for t.slots[i].id.Load() != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i].st = st
	t.slots[i].id.Store(st.id)
}

// newStack makes a stack for a goroutine that has none.
func newStack(id uintptr) *stack {
	begin()
	making.Lock()
	defer making.Unlock()
	t := stacks.Load()
	if t == nil || 2*(made+1) > len(t.slots) {
		bits := uint(8)
		if t != nil {
			bits = 64 - t.shift + 1
		}
		bigger := &table{64 - bits, make([]slot, 1<<bits)}
		if t != nil {
			for i := range t.slots {
				if t.slots[i].id.Load() != 0 {
					bigger.put(t.slots[i].st)
				}
			}
		}
		stacks.Store(bigger)
		t = bigger
	}
	st := &stack{id: id}
	t.put(st)
	made++
	return st
}

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

var (
	cairnRate       int64 = 100 // spikes in a second that are written
	cairnEpisodes   uint64
	cairnLimited    uint64
	cairnBorderline uint64
	cairnSlowExits  uint64
	cairnThreads    uint32
	cairnSecond     int64
	cairnInSecond   int64
	cairnAllWaits   *cairnWaits // free
)

// cairnWaits is what is known of a goroutine that waited, or had a spike.
type cairnWaits struct {
	_      sys.NotInHeap
	next   *cairnWaits
	waits  [cairnNumNoted]cairnWait   // ring
	n      uint64                     // waits ever
	spots  [cairnNumSpots]cairnSpot   // where it waited, see wait.go
	spot   uint64                     // spots ever
	wakers [cairnNumWakers]cairnWaker // who ended its waits, see wait.go
	wakes  uint64                     // of those, ever
	paged  [cairnNumPaged]cairnPaged  // see faults.go
	pages  int                        // of those
	named  bool
	marks  *cairnMarks // what package mark said, or nil

	label    [cairnMaxLabel]byte // that package mark gave
	labelLen int
	pauses   *cairnPauses
	told     *cairnTold // what a handler of spikes is to be told
	busy     bool       // in the handler

	cairnLastSpike
}

// cairnLastSpike is the last spike of a goroutine: the frames that it was found in, the innermost first, and the
// outermost of these that has ended since.
type cairnLastSpike struct {
	number uint64
	ended  int64
	frames [cairnNumFrames]cairnFrame
	depth  int
	last   int
}

type cairnWait struct {
	from, ready, to int64
	reason          uint8
}

// cairnFrame names a call: where its function begins, and how far from the end of the
// stack its frame is.
type cairnFrame struct{ entry, depth, pc uintptr }

const (
	cairnNumNoted  = 16
	cairnNumFrames = 64
	cairnUnwritten = 1 << 63
)

// cairnWaitsOf returns what is known of a goroutine, made now if need be; nil if there is no
// memory.
func cairnWaitsOf(gp *g) *cairnWaits {
	if w := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits)); w != nil {
		return w
	}
	cairnMaking.lock()
	w := cairnAllWaits
	if w != nil {
		cairnAllWaits = w.next
		w.next, w.n, w.spot, w.wakes, w.pages, w.depth, w.named, w.labelLen, w.busy = nil, 0, 0, 0, 0, 0, false, 0, false
		if w.pauses != nil {
			w.pauses.n, w.pauses.depth = 0, 0
		}
		if w.told != nil {
			w.told.full = false
		}
		if w.marks != nil {
			w.marks.n, w.marks.named, w.marks.used = 0, 0, 0
		}
	} else {
		w = (*cairnWaits)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnWaits{}))))
	}
	cairnMaking.unlock()
	gp.cairn.waits = uintptr(unsafe.Pointer(w))
	return w
}

func cairnFreeWaits(w *cairnWaits) {
	cairnMaking.lock()
	w.next, cairnAllWaits = cairnAllWaits, w
	cairnMaking.unlock()
}

// cairnNoteWait notes that a goroutine did not run for longer than a tick of the clock.
func cairnNoteWait(gp *g, reason uint8, from, ready, to int64) {
	if w := cairnWaitsOf(gp); w != nil {
		w.waits[w.n%cairnNumNoted] = cairnWait{from, ready, max(to, ready), reason}
		w.n++
		w.noteSpot(gp, reason, from, max(to, ready))
	}
}

// cairn_slow looks at a call of its caller that began when the clock was at *w and seems to
// have taken long. The probe has an address for it, so that the clock is read at the beginning.
//
//go:linkname cairn_slow
func cairn_slow(w *int64) {
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	gp, began := getg(), *w
	systemstack(func() { cairnSlow(gp, cairnPlace{pc, sp, gp.stack.hi - sp}, began, false) })
	cairnTell(gp)
}

// cairn_began returns the clock and where the frame of its caller is, for cairn_ended.
//
//go:linkname cairn_began
func cairn_began() (w int64, depth uintptr) {
	return cairnWord, getg().stack.hi - sys.GetCallerSP()
}

// cairn_ended looks at a call that ends in a deferred call.
//
//go:linkname cairn_ended
func cairn_ended(w int64, depth uintptr) {
	if w > cairnPast {
		return
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	gp := getg()
	systemstack(func() {
		left := gp._panic != nil && w != 0 && !cairnBusy(gp) && cairnInner(gp, pc, sp, depth)
		cairnSlow(gp, cairnPlace{pc, sp, depth}, w, left)
	})
	cairnTell(gp)
}

// cairnPlace is where a goroutine is, and how far from the end of the stack the frame of a call is.
type cairnPlace struct{ pc, sp, depth uintptr }

// cairnSlow looks at a call that began at clock w. left: a panic leaves it.
func cairnSlow(gp *g, at cairnPlace, w int64, left bool) {
	end := cairnNow()
	began := cairnOpened(w, end)
	atomic.Xadd64(&cairnSlowExits, 1)
	if w == 0 || cairnBusy(gp) {
		return
	}
	lo, hi := cairnLasted(gp, w, began, end)
	var frames [cairnNumFrames]cairnFrame
	n, threshold, wanted := 0, cairnThreshold, true
	if m := cairnMarksOf(gp, false); m != nil {
		n = cairnStack(gp, at.pc, at.sp, at.depth, frames[:])
		threshold, wanted = m.judge(frames[:n], -1)
		n = m.withSections(frames[:], n)
	}
	if hi < threshold || !wanted {
		return
	}
	if lo < threshold {
		atomic.Xadd64(&cairnBorderline, 1)
		return
	}
	if n == 0 {
		n = cairnStack(gp, at.pc, at.sp, at.depth, frames[:])
	}
	c := cairnWaitsOf(gp)
	if n == 0 || c == nil {
		return
	}
	s := cairnCall{gp: gp, w: w, began: began, end: end, lo: lo, hi: hi, frames: frames[:n], threshold: threshold, left: left}
	s.runs(c)
	s.report(c)
}

// index returns which frame of the last spike a call is, 0 if none but the first.
func (c *cairnWaits) index(f cairnFrame) int {
	for i := c.last + 1; i < c.depth; i++ {
		if c.frames[i].entry == f.entry && c.frames[i].depth == f.depth {
			return i
		}
	}
	return 0
}

// cairnStack puts the frames of a goroutine, from that at a depth outwards.
func cairnStack(gp *g, pc, sp, depth uintptr, frames []cairnFrame) (n int) {
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors)
	for ; u.valid() && n < len(frames); u.next() {
		at := gp.stack.hi - u.frame.sp
		if n == 0 && at > depth {
			continue
		}
		if u.frame.fn.funcID == abi.FuncID_goexit {
			break
		}
		frames[n] = cairnFrame{u.frame.fn.entry(), at, u.frame.pc}
		n++
	}
	return n
}

// cairnCall is a call that took long.
type cairnCall struct {
	gp            *g
	w, began, end int64
	lo, hi        int64
	frames        []cairnFrame
	number        uint64
	threshold     int64
	snapshot      bool // the calls go on
	left          bool // a panic or Goexit left the call
	ranLo, ranHi  int64
	reasons       [cairnNumWaits]int64
	counts        [cairnNumWaits]uint32
	waits         uint32
}

// runs computes how long the goroutine was on a processor in the time of the call. Of system
// calls that is not known: they are in the difference of the bounds.
func (s *cairnCall) runs(c *cairnWaits) {
	least, most := int64(0), int64(0)
	first := uint64(0)
	p := c.pauses
	if c.n > cairnNumNoted {
		first = c.n - cairnNumNoted
	}
	for i := first; i < c.n; i++ {
		w := &c.waits[i%cairnNumNoted]
		if w.to <= s.w {
			continue
		}
		from := max(w.from, s.w)
		ready := min(max(w.ready, from), w.to)
		waited := max(ready-from-c.before(i, first, from, ready)-p.least(from, ready), 0)
		late := max(w.to-ready-c.before(i, first, ready, w.to)-p.least(ready, w.to), 0)
		most += waited + late
		if w.reason != cairnLogReasonSystem {
			// It stopped between the tick of the clock and the next.
			began := min(max(cairnOpened(w.from, w.to), s.began), w.to)
			least += max(w.to-began-p.most(began, w.to), 0)
		}
		s.reasons[w.reason] += waited
		s.reasons[cairnLogReasonProcessor] += late
		s.counts[w.reason]++
		s.waits++
	}
	if first > 0 && c.waits[first%cairnNumNoted].from > s.w {
		most = s.hi // more waits are forgotten
	}
	s.ranHi = max(s.hi-least, 0)
	s.ranLo = max(s.lo-most, 0)
}

// episode writes a spike.
func (s *cairnCall) episode(c *cairnWaits) {
	cairnEpisodes++
	s.number = cairnEpisodes
	if second := s.end / 1_000_000_000; second != cairnSecond {
		cairnSecond, cairnInSecond = second, 0
	}
	cairnInSecond++
	known := s.seen()
	if cairnInSecond > cairnRate && cairnInSecond&(cairnInSecond-1) != 0 && known {
		s.number |= cairnUnwritten
		cairnLimited++
	}
	c.number, c.ended, c.depth, c.last = s.number, s.end, len(s.frames), 0
	copy(c.frames[:], s.frames)
	if s.number&cairnUnwritten != 0 {
		return
	}
	if s.write(c, 0) {
		s.usage(c)
		s.text()
	}
}

// write writes the record of a spike with its stack, and the names of the parts of calls in it. It
// reports whether there was room for it.
func (s *cairnCall) write(c *cairnWaits, flags uint32) bool {
	s.name(c)
	n := uintptr(len(s.frames))
	made := uintptr(0)
	if s.gp.parentGoid != 0 && n < cairnNumFrames {
		made = 1 // who made the goroutine is shown above its first function
	}
	size := cairnLogEpisodeSize + (n+made)*cairnLogEntrySize
	r := cairnRecord(cairnLogTypeEpisode, uint32(s.gp.goid), size)
	if r == 0 {
		return false
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut64(r+24, uint64(s.lo))
	cairnPut64(r+32, uint64(s.hi))
	cairnPut64(r+40, uint64(s.threshold))
	cairnPut64(r+48, cairnFrameCount)
	if n == cairnNumFrames {
		flags |= cairnLogEpisodeCut
	}
	cairnPut32(r+56, flags)
	cairnPut16(r+64, uint16(n+made))
	cairnPut32(r+68, uint32(n+made))
	cairnPut64(r+72, uint64(cairnLateIn(s.w, s.end)))
	for i, f := range s.frames {
		at := r + cairnLogEpisodeSize + uintptr(i)*cairnLogEntrySize
		cairnPut64(at, uint64(f.pc))
		cairnPut32(at+28, uint32(^f.depth))
		if lo, hi, ok := s.timeOf(i); ok {
			cairnPut64(at+8, uint64(lo))
			cairnPut64(at+16, uint64(hi))
			if i == 0 && s.left {
				cairnPut32(at+24, cairnLogEntryLeft)
			}
		} else {
			cairnPut32(at+24, cairnLogEntryNoStamp) // when it began is not known
		}
	}
	if made != 0 {
		at := r + cairnLogEpisodeSize + n*cairnLogEntrySize
		cairnPut64(at, uint64(s.gp.gopc))
		cairnPut32(at+24, cairnLogEntryNoStamp)
	}
	cairnCommit(cairnLogTypeEpisode, size, r)
	s.nameSections()
	return true
}

// usage writes how long the goroutine was on a processor, and its page faults.
func (s *cairnCall) usage(c *cairnWaits) {
	const size = cairnLogUsageSize
	r := cairnRecord(cairnLogTypeUsage, uint32(s.gp.goid), size)
	if r == 0 {
		return
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut64(r+24, uint64(s.ranLo))
	cairnPut64(r+32, uint64(s.ranHi))
	since, faults := s.faults(c)
	cairnPut64(r+40, uint64(since))
	cairnPut32(r+48, faults.minor)
	cairnPut32(r+52, faults.major)
	cairnPut32(r+56, s.waits)
	cairnPut32(r+64, uint32(^s.frames[0].depth))
	// The share of the waits that was for a processor, as samples have it.
	total := int64(0)
	for _, ns := range s.reasons {
		total += ns
	}
	if total > 0 {
		cairnPut16(r+72, 1000)
		cairnPut16(r+76, uint16(s.reasons[cairnLogReasonProcessor]*1000/total))
	}
	cairnCommit(cairnLogTypeUsage, size, r)
	s.waited()
}

// text writes what the goroutine waited for.
func (s *cairnCall) text() {
	var b [200]byte
	n := 0
	for i, ns := range s.reasons {
		if ns < s.hi/50 || ns < 1000 {
			continue
		}
		if n > 0 {
			n += copy(b[n:], ", ")
		}
		n += copy(b[n:], cairnWaitNames[i])
		n += copy(b[n:], " ")
		us := cairnDigits(b[n:], uint64(ns/1_000_000))
		n += us
		n += copy(b[n:], ".")
		b[n] = byte('0' + ns/100_000%10)
		n += 1 + copy(b[n+1:], " ms")
	}
	if n == 0 {
		return
	}
	s.say(cairnLogTextMessage, b[:n], &s.frames[0])
}

var cairnWaitNames = [cairnNumWaits]string{
	"waited", "waited for a channel", "waited for a lock", "waited for the network", "slept",
	"waited for the garbage collector", "waited for a processor", "stopped with the world",
	"in system calls or C", "waited for a RWMutex", "waited for a WaitGroup", "waited for a Cond",
}

// name writes the name of a goroutine, with its first spike.
func (s *cairnCall) name(c *cairnWaits) {
	if c.named {
		return
	}
	c.named = true
	cairnThreads++
	var b [40]byte
	n := copy(b[:], "goroutine ")
	n += cairnDigits(b[n:], s.gp.goid)
	cairnNameThread(s.gp, s.end, b[:n], nil)
}

// cairnNameThread writes the name of a goroutine, and the functions that started it, the innermost
// first.
func cairnNameThread(gp *g, now int64, name []byte, starters []uintptr) {
	at := (cairnLogThreadSize + uintptr(len(name)) + 7) &^ 7
	size := at + 8*uintptr(len(starters))
	if r := cairnRecord(cairnLogTypeThread, uint32(gp.goid), size); r != 0 {
		cairnPut64(r+8, uint64(now))
		cairnPut16(r+16, uint16(len(name)))
		cairnPut16(r+18, uint16(len(starters)))
		cairnCopy(r+cairnLogThreadSize, name)
		for i, pc := range starters {
			cairnPut64(r+size-8*uintptr(i+1), uint64(cairnEntry(pc)))
		}
		cairnCommit(cairnLogTypeThread, size, r)
	}
}

// parent writes that a call which a spike is in has ended.
func (s *cairnCall) parent() {
	const size = cairnLogParentSize
	r := cairnRecord(cairnLogTypeParent, uint32(s.gp.goid), size)
	if r == 0 {
		return
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut64(r+24, uint64(s.lo))
	cairnPut64(r+32, uint64(s.hi))
	cairnPut64(r+40, uint64(s.frames[0].pc))
	cairnPut64(r+48, uint64(s.threshold))
	if s.left {
		cairnPut32(r+56, cairnLogEntryLeft)
	}
	cairnPut32(r+60, uint32(^s.frames[0].depth))
	cairnCommit(cairnLogTypeParent, size, r)
}

// Stacks of spikes, and how often each was found.
const cairnNumSeen = (cairnLogChunkSize - cairnLogChunkHeaderSize) / cairnLogSeenSize

var (
	cairnSeenChunk uintptr
	cairnSeenCount uintptr
)

// seen counts a spike by its stack. It reports whether the stack is known.
func (s *cairnCall) seen() bool {
	if cairnSeenChunk == 0 {
		if cairnSeenChunk = cairnNewChunk(cairnLogKindSeen, s.end); cairnSeenChunk == 0 {
			return true
		}
	}
	h := uint64(14695981039346656037)
	for _, f := range s.frames {
		h = (h ^ uint64(f.pc)) * 1099511628211
	}
	pc := uint64(s.frames[0].pc)
	at, known := uintptr(0), true
	for i := range cairnSeenCount {
		r := cairnSeenChunk + cairnLogChunkHeaderSize + i*64
		if *(*uint64)(unsafe.Pointer(r + 16)) == h && *(*uint64)(unsafe.Pointer(r + 8)) == pc {
			at = r
		}
	}
	if at == 0 {
		known = false
		if cairnSeenCount == cairnNumSeen-1 {
			return true // all others are not told apart, and are in the trailer
		}
		at = cairnSeenChunk + cairnLogChunkHeaderSize + cairnSeenCount*64
		cairnSeenCount++
		cairnPut64(at+8, pc)
		cairnPut64(at+16, h)
		cairnPut64(at+56, s.number)
	}
	cairnPut64(at+24, *(*uint64)(unsafe.Pointer(at + 24))+1)
	cairnPut64(at+32, max(*(*uint64)(unsafe.Pointer(at + 32)), uint64(s.lo)))
	cairnPut64(at+40, *(*uint64)(unsafe.Pointer(at + 40))+uint64(s.lo))
	cairnPut64(at+48, uint64(s.end))
	cairnCommit(cairnLogTypeSeen, cairnLogSeenSize, at)
	return known
}

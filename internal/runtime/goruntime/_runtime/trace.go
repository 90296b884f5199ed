package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// Mode trace writes an event of 8 bytes into the log for each entry and each exit, and where a
// goroutine begins and ends to wait. The times are exact, in microseconds.
//
// Chunks have events of one thread of the log. Goroutines that one go statement started in one
// stack use such a thread one after the other, so there are as many as there were goroutines at a
// time.

// cairnLane is a thread of the log.
type cairnLane struct {
	_       sys.NotInHeap
	at, end uintptr // room in its chunk
	chunk   uintptr // number of the chunk
	before  uint32  // sequence of the chunk plus 1
	tid     uint32
	last    int64 // time of the last event
	depth   uintptr
	waits   uint32 // the function that stands for the wait that it is in, 0: none
	next    *cairnLane
	gopc    uintptr
	stack   [cairnLaneDepth]uint32 // low halves of the functions that it is in
	began   [cairnLaneDepth]int64  // when they were called
}

const (
	cairnLaneDepth = 1000    // deeper calls are not recorded
	cairnMaxMade   = 200     // of a name
	cairnAnewAfter = 1 << 40 // ns after which a chunk is begun, as its events have 32 bits of the time
)

var (
	cairnEntries    [4096]uint64                          // low half of an address in a function, and of the function
	cairnRing       uintptr                    = 16 << 20 // bytes of chunks that are written again and again, 0: the file grows
	cairnTraceUsed  [cairnNumWindows * 16]bool            // chunks that belong to a lane
	cairnTraceKeep  [cairnNumWindows * 16]bool            // chunks that are kept for good
	cairnTraceKept  uintptr                               // their number
	cairnKeepFrom   int64                      = 1 << 62  // calls that take so long keep what happened in them
	cairnTraceFirst uintptr                               // number of the first chunk of events
	cairnTraceNext  uintptr                               // where to look for one that can be written over
	cairnTraceFull  bool                                  // no chunk can be begun any more
	cairnTraceBegun uint64
	cairnTraceOver  uint64
	cairnTraceAbout uintptr // the record that is kept up to date
)

// cairn_trace_enter begins a call of its caller. It returns what cairn_trace_exit gets.
//
//go:linkname cairn_trace_enter
func cairn_trace_enter() uintptr {
	pc := sys.GetCallerPC()
	l := (*cairnLane)(unsafe.Pointer(getg().cairn.node))
	if l == nil {
		if l = cairnTakeLane(getg()); l == nil {
			return 0
		}
	}
	d := l.depth
	l.depth = d + 1
	if d < cairnLaneDepth {
		f := cairnEntryOf(pc)
		l.stack[d] = f
		l.began[d] = l.put(f)
	}
	return d + 1
}

// cairn_trace_exit ends a call, and those in it that a panic left.
//
//go:linkname cairn_trace_exit
func cairn_trace_exit(depth uintptr) {
	l := (*cairnLane)(unsafe.Pointer(getg().cairn.node))
	if l == nil || depth == 0 {
		return
	}
	for l.depth >= depth {
		l.depth--
		if l.depth < cairnLaneDepth {
			if now := l.put(l.stack[l.depth] | cairnLogEventExit); now-l.began[l.depth] >= cairnKeepFrom {
				cairnKeep(l.began[l.depth], now)
			}
		}
	}
}

// put writes an event that happens now. What is read of the lane is read behind the place where
// the goroutine can lose its processor, which writes events.
func (l *cairnLane) put(word uint32) int64 { return l.putAt(cairnNow(), word) }

// putAt writes an event and returns its time, which is not before that of the event before.
func (l *cairnLane) putAt(now int64, word uint32) int64 {
	now = max(now, l.last)
	if (l.at == l.end || now-l.last > cairnAnewAfter) && !l.begin(now) {
		return now
	}
	*(*uint64)(unsafe.Pointer(l.at)) = uint64(word)<<32 | uint64(uint32((now-cairnBegan)/1000+1))
	l.at += 8
	l.last = now
	return now
}

// cairnKeep keeps the chunks that have what happened in a call that took long, and before it for
// as long: they are not written over. There is a limit to what is kept.
func cairnKeep(began, now int64) {
	from := began - (now - began)
	cairnMaking.lock()
	for i := cairnTraceFirst; i < cairnChunks && cairnTraceKept*cairnLogChunkSize < 4*cairnRing; i++ {
		if cairnTraceKeep[i] {
			continue
		}
		// It is not known when the last event of a chunk was: one in use may have any.
		if at := cairnChunkAt(i); at != 0 && (cairnTraceUsed[i] || int64(*(*uint64)(unsafe.Pointer(at + 24))) >= from) {
			cairnTraceKeep[i] = true
			cairnTraceKept++
		}
	}
	cairnMaking.unlock()
}

// cairnDrop counts an event that there is no room for.
func cairnDrop() bool {
	n := atomic.Xadd64(&cairnDropped, 1)
	if r := cairnTraceAbout; r != 0 {
		cairnPut32(r+4, uint32(min(n, 1<<32-1)))
	}
	return false
}

// begin gives the lane a chunk. It reports whether there is one.
func (l *cairnLane) begin(now int64) bool {
	if cairnTraceFull {
		return cairnDrop()
	}
	cairnMaking.lock()
	number, over := cairnTakeChunk()
	at := uintptr(0)
	if over {
		at = cairnChunkAt(number)
		atomic.Store((*uint32)(unsafe.Pointer(at)), 0)
		memclrNoHeapPointers(unsafe.Pointer(at), cairnLogChunkSize)
		cairnTraceOver++
	} else if at = cairnChunkAt(cairnChunks); at != 0 {
		number = cairnChunks
		cairnChunks++
	}
	if at == 0 {
		cairnTraceFull = cairnRing == 0
		cairnMaking.unlock()
		return cairnDrop()
	}
	if l.chunk != 0 {
		cairnTraceUsed[l.chunk] = false
	}
	cairnTraceUsed[number] = true
	cairnPut16(at+4, cairnLogKindEvents)
	cairnPut32(at+8, cairnPID)
	cairnPut32(at+12, l.tid)
	cairnPut32(at+16, cairnSequence)
	cairnPut64(at+24, uint64(now))
	cairnPut64(at+32, uint64(now))
	cairnPut32(at+56, l.before)
	cairnSequence++
	l.before = cairnSequence
	l.chunk, l.at, l.end, l.last = number, at+cairnLogChunkHeaderSize, at+cairnLogChunkSize, now
	cairnTraceBegun++
	atomic.Store((*uint32)(unsafe.Pointer(at)), 0x6b686363)
	cairnAboutTrace(now)
	cairnMaking.unlock()
	return true
}

// cairnTakeChunk returns the number of a chunk to write over, if there are as many as are to be
// kept and one is of no lane. Whoever calls it has cairnMaking.
func cairnTakeChunk() (number uintptr, ok bool) {
	n := cairnChunks - cairnTraceFirst
	if cairnRing == 0 || (n-cairnTraceKept)*cairnLogChunkSize < cairnRing {
		return 0, false
	}
	for range n {
		at := cairnTraceFirst + cairnTraceNext%n
		cairnTraceNext = (cairnTraceNext + 1) % n
		if !cairnTraceUsed[at] && !cairnTraceKeep[at] {
			return at, true
		}
	}
	return 0, false
}

// cairnEntryOf returns the low half of the address of the function that pc is in.
func cairnEntryOf(pc uintptr) uint32 {
	at := &cairnEntries[pc>>3%uintptr(len(cairnEntries))]
	if e := atomic.Load64(at); uint32(e>>32) == uint32(pc) {
		return uint32(e)
	}
	start := cairnEntry(pc) &^ 3
	atomic.Store64(at, uint64(pc)<<32|uint64(uint32(start)))
	return uint32(start)
}

// cairnTakeLane gives a goroutine a lane, nil if there is none.
func cairnTakeLane(gp *g) *cairnLane {
	if cairnMode != cairnLogModeTrace {
		return nil
	}
	o := cairnLaneOrigin(gp)
	cairnMaking.lock()
	l := o.lanes
	for last := &o.lanes; l != nil; l = l.next {
		if l.gopc == gp.gopc {
			*last = l.next
			break
		}
		last = &l.next
	}
	made := l == nil
	if made {
		if l = (*cairnLane)(unsafe.Pointer(cairnMemory.alloc((unsafe.Sizeof(cairnLane{}) + 7) &^ 7))); l != nil {
			l.tid, l.gopc = uint32(gp.goid), gp.gopc
		}
	}
	cairnMaking.unlock()
	if l == nil {
		atomic.Xadd64(&cairnLost, 1)
		return nil
	}
	l.next = nil
	gp.cairn.node = uintptr(unsafe.Pointer(l))
	if made && gp.parentGoid != 0 {
		systemstack(func() { cairnNameLane(gp) })
	}
	return l
}

// cairnLaneOrigin returns what goroutines have in common that use one another's lanes.
func cairnLaneOrigin(gp *g) *cairnOrigin {
	if o := (*cairnOrigin)(unsafe.Pointer(gp.cairn.origin)); o != nil {
		return o
	}
	return &cairnOther
}

// cairnLaneStack is cairnTreeStack in mode trace. A function is in the stack once, so that there are
// not more and more stacks where goroutines start others by the same functions.
func cairnLaneStack(gp *g, stack *[cairnLogMaxStarters]uintptr) int {
	n := 1
	stack[0] = cairnEntry(stack[0]) + 1
	if l := (*cairnLane)(unsafe.Pointer(gp.cairn.node)); l != nil {
		for d := min(l.depth, cairnLaneDepth); d > 0; d-- {
			n = cairnAddStarter(stack, n, cairnWhole(l.stack[d-1])+1)
		}
	}
	o := cairnLaneOrigin(gp)
	for _, pc := range o.stack[:o.n] {
		n = cairnAddStarter(stack, n, pc)
	}
	return n
}

func cairnAddStarter(stack *[cairnLogMaxStarters]uintptr, n int, pc uintptr) int {
	if n == len(stack) {
		return n
	}
	for _, other := range stack[:n] {
		if other == pc {
			return n
		}
	}
	stack[n] = pc
	return n + 1
}

// cairnWhole returns the address of a function of which a lane has the low half.
func cairnWhole(low uint32) uintptr {
	text := firstmoduledata.text
	return text + uintptr(low-uint32(text))
}

// cairnMaker returns the innermost function with probes that a goroutine is in, 0 if it is in none.
func cairnMaker(gp *g) uintptr {
	l := (*cairnLane)(unsafe.Pointer(gp.cairn.node))
	if l == nil || l.depth == 0 {
		return 0
	}
	return cairnWhole(l.stack[min(l.depth, cairnLaneDepth)-1])
}

// cairnNameLane names a lane by the first goroutine that uses it, and by who made that.
func cairnNameLane(gp *g) {
	o := cairnLaneOrigin(gp)
	pc := o.maker
	if pc == 0 {
		pc = gp.gopc - 1
	}
	f := findfunc(pc)
	if !f.valid() {
		return
	}
	var b [cairnMaxMade]byte
	n := copy(b[:], "goroutine ")
	n += cairnDigits(b[n:], gp.goid)
	n += copy(b[n:], ", by goroutine ")
	n += cairnDigits(b[n:], gp.parentGoid)
	n += copy(b[n:], " in ")
	n += copy(b[n:], funcname(f))
	cairnMaking.lock()
	number := cairnChunks
	cairnNameThread(gp, cairnNow(), b[:n], o.stack[:o.n])
	if cairnChunks > number { // one of records is not written over
		cairnTraceKeep[number] = true
		cairnTraceKept++
	}
	cairnMaking.unlock()
}

// cairnFreeLane takes the lane of a goroutine that has ended, perhaps by runtime.Goexit.
func cairnFreeLane(gp *g) {
	l := (*cairnLane)(unsafe.Pointer(gp.cairn.node))
	if l.depth > 0 {
		l.depth = 0
		l.put(l.stack[0] | cairnLogEventExit)
	}
	o := cairnLaneOrigin(gp)
	cairnMaking.lock()
	l.next, o.lanes = o.lanes, l
	cairnMaking.unlock()
}

// wait begins to wait, for a reason, and go on ends it.
func (l *cairnLane) wait(now int64, reason uint8) {
	if l.depth == 0 || l.waits != 0 {
		return
	}
	l.waits = uint32(abi.FuncPCABIInternal(cairnWaitFuncs[reason])) &^ 3
	l.putAt(now, l.waits)
}

func (l *cairnLane) proceed(now int64) {
	if l.waits != 0 {
		l.putAt(now, l.waits|cairnLogEventExit)
		l.waits = 0
	}
}

// cairnTraceStopped, cairnTraceReady, cairnTraceRuns and cairnTraceReturned do in mode trace what
// the functions without Trace in their names do in others.
func cairnTraceStopped(gp *g, waits bool) {
	c := &gp.cairn
	if c.node == 0 {
		return
	}
	now := cairnNow()
	c.stopped, c.ready = now, 0
	switch {
	case waits:
		c.reason = cairnReason(gp.waitreason)
	case sched.gcwaiting.Load():
		c.reason = cairnLogReasonStopped
	default:
		c.reason = cairnLogReasonProcessor
	}
	(*cairnLane)(unsafe.Pointer(c.node)).wait(now, c.reason)
}

func cairnTraceReady(gp *g) {
	if c := &gp.cairn; c.stopped != 0 {
		c.ready = cairnNow()
	}
}

func cairnTraceRuns(gp *g) {
	c := &gp.cairn
	if c.stopped == 0 || c.node == 0 {
		return
	}
	l := (*cairnLane)(unsafe.Pointer(c.node))
	now := cairnNow()
	if c.ready > c.stopped && l.waits != 0 {
		l.proceed(c.ready)
		l.wait(c.ready, cairnLogReasonProcessor)
	}
	l.proceed(now)
	c.stopped = 0
}

func cairnTraceReturned(gp *g, from int64) {
	if gp.cairn.node == 0 {
		return
	}
	l := (*cairnLane)(unsafe.Pointer(gp.cairn.node))
	l.wait(from, cairnLogReasonSystem)
	l.proceed(cairnNow())
}

// cairnTraceSettings obeys the words of CAIRN_TRACE: size=16MB, keep=20ms, file and off. It
// reports whether something is to be recorded.
func cairnTraceSettings(s string) bool {
	for len(s) > 0 {
		var word string
		word, s = cairnSplit(s, ',')
		if word == "off" {
			return false
		}
		if !cairnTraceSetting(word) {
			print("cairn: CAIRN_TRACE: ", word, " is not understood and ignored\n")
		}
	}
	return true
}

// cairnTraceSetting obeys a word.
func cairnTraceSetting(word string) (ok bool) {
	name, value := cairnSplit(word, '=')
	switch name {
	case "file":
		cairnRing, ok = 0, value == ""
	case "size":
		var n uintptr
		if n, ok = cairnSize(value); ok {
			cairnRing = max(n, 4*cairnLogChunkSize)
		}
	case "keep":
		var d int64
		if d, ok = cairnDuration(value); ok {
			cairnKeepFrom = d
		}
	case "period", "": // times are exact
		ok = true
	}
	return ok
}

// cairnSize reads a number of bytes as 64KB, 16MB or 1GB.
func cairnSize(s string) (uintptr, bool) {
	n, i := uintptr(0), 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' && n < 1<<30 {
		n = 10*n + uintptr(s[i]-'0')
		i++
	}
	if i == 0 || n == 0 {
		return 0, false
	}
	switch s[i:] {
	case "":
		return n, true
	case "KB":
		return n << 10, true
	case "MB":
		return n << 20, n < 1<<20
	case "GB":
		return n << 30, n < 1<<10
	}
	return 0, false
}

// cairnStartTrace writes what the log says of itself.
func cairnStartTrace() {
	cairnTraceAbout = cairnRecord(cairnLogTypeTrace, 0, cairnLogTraceSize)
	cairnTraceFirst = cairnChunks
	if cairnTraceAbout != 0 {
		cairnAboutTrace(cairnBegan)
		cairnCommit(cairnLogTypeTrace, cairnLogTraceSize, cairnTraceAbout)
	}
}

func cairnAboutTrace(now int64) {
	if r := cairnTraceAbout; r != 0 {
		cairnPut64(r+8, uint64(now))
		cairnPut64(r+40, uint64(cairnRing))
		cairnPut64(r+48, cairnTraceBegun)
		cairnPut64(r+56, cairnTraceOver)
	}
}

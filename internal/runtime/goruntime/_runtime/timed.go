package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

// cairnInfo is filled in by the link step: 8 bytes that mark it; the length of the build
// id; at 16 the build id; at 40 the mode; at 48 the threshold in nanoseconds.
var cairnInfo = [64]byte{'C', 'A', 'I', 'R', 'N', 'G', 'O', '1'}

// cairnG is what a goroutine has; it is a field of g. Probes know the first two fields.
type cairnG struct {
	node    uintptr // mode stacks: *cairnNode of the innermost call
	last    int64   // mode stacks: clock up to which its time is in nodes
	root    uintptr // mode stacks: *cairnNode of the goroutine's tree
	origin  uintptr // modes stacks and trace: *cairnOrigin, or 0
	stopped int64   // clock when it last stopped to run, 0: it runs
	ready   int64   // clock when it could run again
	system  int64   // clock when it began a system call or a call of C
	reason  uint8   // why it stopped
	waits   uintptr // mode spike: *cairnWaits
	looked  int64   // mode spike: clock when its stack was last looked at, see open.go
	fd      uint64  // mode spike: file that it last waited for, plus 1

	// Mode spike: its page faults, without those since it began to run; those of its thread at that time; and the
	// thread's number plus 1, 0 if that is not known.
	faults, before cairnFaults
	on             int64
}

// The clock: nanoseconds of CLOCK_MONOTONIC, which a thread of its own moves. Probes read
// it. It is 0 while nothing is recorded.
//
//go:linkname cairnWord
var cairnWord int64

// cairnLow is what a call must take by the clock to be looked at, and cairnPast is the clock
// less that: calls that began after it are not looked at. Probes read cairnPast.
var cairnLow int64 = 1 << 62

//go:linkname cairnPast
var cairnPast int64 = -1 << 62

var (
	cairnMode      uint32
	cairnPeriod    int64
	cairnThreshold int64
	cairnWorld     int64  // clock when the world was last started
	cairnIdle      uint32 // the clock sleeps, as no goroutine runs
	cairnTicks     uint64 // moves of the clock
	cairnWorst     int64  // longest time between two
	cairnLate      uint64
	cairnBlind     int64
	cairnMoves     [cairnNumMoves][3]int64 // clock, time when it had been set, and 1 if it had slept before
)

const cairnNumMoves = 4096

// cairnSetWord sets the clock, and what probes compare with it.
//
//go:nosplit
func cairnSetWord(now int64) {
	atomic.Storeint64(&cairnWord, now)
	atomic.Storeint64(&cairnPast, now-cairnLow)
}

// cairnTick moves the clock to now.
func cairnTick(now int64, late bool) {
	last := cairnWord
	if now <= last {
		return
	}
	m := &cairnMoves[cairnTicks%cairnNumMoves]
	m[0] = now
	cairnSetWord(now)
	m[1], m[2] = cairnNow(), 0
	if !late {
		m[2] = 1
	}
	atomic.Store64(&cairnTicks, cairnTicks+1)
	if !late || last == 0 {
		return
	}
	gap := now - last
	if gap > cairnWorst {
		cairnWorst = gap
	}
	if gap > 2*cairnPeriod {
		cairnBlind += gap - 2*cairnPeriod
		cairnLate++
	}
}

// cairnOpened returns by when at the latest a call had begun that read w, if the time is
// end now.
func cairnOpened(w, end int64) int64 {
	n := atomic.Load64(&cairnTicks)
	lo := uint64(0)
	if n > cairnNumMoves-64 {
		lo = n - (cairnNumMoves - 64)
	}
	hi := n
	if lo < hi && cairnMoves[lo%cairnNumMoves][0] > w && lo > 0 {
		// The move behind w is forgotten. No two were further apart than the worst.
		return min(end, w+max(cairnWorst, cairnMaxPeriod)+cairnPeriod)
	}
	for lo < hi {
		if mid := (lo + hi) / 2; cairnMoves[mid%cairnNumMoves][0] > w {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == n {
		return end
	}
	return min(end, cairnMoves[lo%cairnNumMoves][1])
}

// cairnLateIn returns for how long between two times the clock was late, as far as is
// remembered.
func cairnLateIn(from, to int64) (sum int64) {
	n := atomic.Load64(&cairnTicks)
	next, slept := to, cairnIdle != 0
	for i := n; i > 0 && n-i < cairnNumMoves-64 && next > from; i-- {
		m := &cairnMoves[(i-1)%cairnNumMoves]
		if gap := next - max(m[0], from); m[0] < next && gap > 2*cairnPeriod && !slept {
			sum += gap - 2*cairnPeriod
		}
		next, slept = min(next, m[0]), m[2] != 0
	}
	return sum
}

const (
	cairnMinPeriod = 100_000
	cairnMaxPeriod = 2_000_000

	// Of mode stacks, where each move costs some 10 us: 0.25 % of the time since the start.
	cairnFirstPeriod = 200_000
	cairnLastPeriod  = 1_000_000
)

// cairnClock is the thread that moves the clock. It has no P.
func cairnClock() {
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	cairnMayRest()
	idle := 0
	for {
		before := cairnNow()
		cairnSleep(uint32(cairnPeriod / 1000))
		now := cairnNow()
		cairnStill(before, cairnPeriod, now)
		cairnTick(now, idle == 0)
		cairnLook(now, false)
		if cairnMode == cairnLogModeStacks {
			cairnPeriod = min(max((now-cairnBegan)/400, cairnFirstPeriod), cairnLastPeriod)
			cairnWriteTrees(now, false)
		}
		if sched.npidle.Load() != gomaxprocs {
			idle = 0
			continue
		}
		// No goroutine runs. What runs next wakes the clock.
		if idle++; idle >= 16 {
			if cairnMode == cairnLogModeStacks {
				cairnWriteTrees(now, true)
			}
			atomic.Store(&cairnIdle, 1)
			cairnRest(sched.npidle.Load() == gomaxprocs)
			cairnTick(cairnNow(), false)
			idle = 1
		}
	}
}

// cairnAwake is called when a P gets work.
//
//go:nosplit
func cairnAwake() {
	if cairnIdle != 0 && atomic.Cas(&cairnIdle, 1, 0) {
		cairnSetWord(cairnNow())
		cairnWake()
	}
}

// cairnStart reads the settings and opens the log. It runs before any code of users.
func cairnStart() {
	idLen := uintptr(cairnInfo[8])
	if idLen == 0 || idLen > 20 || isSecureMode() {
		return
	}
	cairnThreshold = *(*int64)(unsafe.Pointer(&cairnInfo[48]))
	if cairnThreshold <= 0 {
		cairnThreshold = 10_000_000
	}
	if uint32(cairnInfo[40]) == cairnLogModeTrace {
		if !cairnTraceSettings(gogetenv("CAIRN_TRACE")) {
			return
		}
	} else if !cairnSettings(gogetenv("CAIRN_SPIKE")) {
		return
	}
	if !cairnOpenLog(uint32(cairnInfo[40])) {
		return
	}
	cairnMode = uint32(cairnInfo[40])
	cairnMemory.reserve(256 << 20)
	if cairnMode == cairnLogModeSpike {
		cairnFindProbes()
		cairnSetLow()
	} else if cairnMode == cairnLogModeTrace {
		cairnStartTrace()
		cairnPeriod = 1_000_000
	} else {
		cairnNodes.reserve(1 << 30)
		cairnPeriod = cairnFirstPeriod
	}
	cairnSetWord(cairnNow())
	cairnMoves[0] = [3]int64{cairnWord, cairnWord}
	cairnTicks = 1
}

// cairnSetLow makes the clock fit for the threshold.
func cairnSetLow() {
	t := min(cairnThreshold, cairnLeast)
	if !cairnGiven {
		cairnPeriod = min(max(t/8, cairnMinPeriod), cairnMaxPeriod)
	}
	cairnLow = max(min(max(2*cairnPeriod, t/8), t-2*cairnPeriod), 0)
	atomic.Storeint64(&cairnPast, cairnWord-cairnLow)
}

// cairnSettings obeys the words of CAIRN_SPIKE: threshold=D, budget=D, period=D, rate=N and off. What
// is for programs in C alone is accepted. It reports whether something is to be recorded.
func cairnSettings(s string) bool {
	for len(s) > 0 {
		var word string
		word, s = cairnSplit(s, ',')
		name, value := cairnSplit(word, '=')
		ok := true
		switch name {
		case "off":
			return false
		case "threshold":
			var d int64
			if d, ok = cairnDuration(value); ok {
				cairnThreshold = d
			}
		case "budget":
			var d int64
			if d, ok = cairnDuration(value); ok {
				cairnFrameBudget = uint64(d)
			}
		case "period":
			var d int64
			if d, ok = cairnDuration(value); ok {
				cairnPeriod, cairnGiven = max(d, 20_000), true
			}
		case "rate":
			var n int64
			if n, ok = cairnDuration(value + "ns"); ok {
				cairnRate = n
			}
		case "", "tick", "stamp", "reload", "file", "stderr", "control", "channels":
		default:
			ok = len(word) > 1 && (word[0] == '+' || word[0] == '-') // a channel
		}
		if !ok {
			print("cairn: CAIRN_SPIKE: ", word, " is not understood and ignored\n")
		}
	}
	return true
}

// cairnSplit divides a text at the first c.
func cairnSplit(s string, c byte) (before, after string) {
	for i := range len(s) {
		if s[i] == c {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// cairnDuration reads a duration as 5ms, 16.7ms, 200us or 1s, of at most 9 digits.
func cairnDuration(s string) (int64, bool) {
	n, scale, i, point := int64(0), int64(1), 0, 0
	for ; i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' && i > 0 && point == 0); i++ {
		if s[i] == '.' {
			point = i
			continue
		}
		n = 10*n + int64(s[i]-'0')
		if point > 0 {
			scale *= 10
		}
		if n >= 1_000_000_000 || scale > 1_000_000_000 {
			return 0, false
		}
	}
	if n == 0 || point > 0 && i == point+1 {
		return 0, false
	}
	unit := int64(0)
	switch s[i:] {
	case "ns":
		if scale == 1 {
			unit = 1
		}
	case "us":
		unit = 1000
	case "ms":
		unit = 1_000_000
	case "s":
		unit = 1_000_000_000
	}
	n = n * unit / scale
	return n, n > 0
}

// cairnThread starts the thread of the clock, once threads can be started.
func cairnThread() {
	if cairnMode != 0 {
		systemstack(func() { newm(cairnClock, nil, -1) })
	}
}

// ---- goroutines that stop and go on ----

// cairnNumWaits is how many reasons there are why a goroutine does not run, of cairnLogReasonOther and so on.
// They are the indexes of the functions that stand for them in stacks.
const cairnNumWaits = cairnLogReasonCond + 1

func waiting()               {}
func waiting_for_channel()   {}
func waiting_for_lock()      {}
func waiting_for_network()   {}
func sleeping()              {}
func waiting_for_gc()        {}
func waiting_for_processor() {}
func stopped_for_the_world() {}
func in_system_call()        {}
func waiting_for_rwmutex()   {}
func waiting_for_waitgroup() {}
func waiting_for_cond()      {}

var cairnWaitFuncs = [cairnNumWaits]func(){
	waiting, waiting_for_channel, waiting_for_lock, waiting_for_network, sleeping, waiting_for_gc, waiting_for_processor, stopped_for_the_world, in_system_call, waiting_for_rwmutex, waiting_for_waitgroup, waiting_for_cond,
}

func cairnReason(r waitReason) uint8 {
	switch r {
	case waitReasonChanReceive, waitReasonChanSend, waitReasonSelect, waitReasonSelectNoCases, waitReasonChanReceiveNilChan, waitReasonChanSendNilChan:
		return cairnLogReasonChannel
	case waitReasonSemacquire, waitReasonSyncMutexLock:
		return cairnLogReasonLock
	case waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock:
		return cairnLogReasonRWLock
	case waitReasonSyncWaitGroupWait:
		return cairnLogReasonGroup
	case waitReasonSyncCondWait:
		return cairnLogReasonCond
	case waitReasonIOWait:
		return cairnLogReasonNetwork
	case waitReasonSleep:
		return cairnLogReasonSleep
	case waitReasonGCAssistMarking, waitReasonGCAssistWait, waitReasonWaitForGCCycle, waitReasonGarbageCollection, waitReasonGCSweepWait:
		return cairnLogReasonGC
	case waitReasonPreempted, waitReasonZero:
		return cairnLogReasonProcessor
	case waitReasonStoppingTheWorld, waitReasonGarbageCollectionScan:
		return cairnLogReasonStopped
	}
	return cairnLogReasonOther
}

// cairnStopped is called when a goroutine stops to run: as it waits, or has lost its
// processor.
func cairnStopped(gp *g, waits bool) {
	w := cairnWord
	if w == 0 {
		return
	}
	if cairnMode == cairnLogModeTrace {
		cairnTraceStopped(gp, waits)
		return
	}
	c := &gp.cairn
	switch {
	case waits:
		c.reason, c.ready = cairnReason(gp.waitreason), 0
	case sched.gcwaiting.Load():
		c.reason, c.ready = cairnLogReasonStopped, 0
	default:
		c.reason, c.ready = cairnLogReasonProcessor, w
	}
	c.stopped = w
	if cairnMode == cairnLogModeSpike {
		c.stops(w)
		cairnLookSelf(gp, w)
	}
	if c.node != 0 {
		c.beginWait(w)
	}
}

// cairnReady is called when a goroutine that waited can run.
func cairnReady(gp *g) {
	if cairnMode == cairnLogModeTrace {
		cairnTraceReady(gp)
		return
	}
	if c := &gp.cairn; c.stopped != 0 {
		cairnAwake()
		c.ready = cairnWord
		if cairnMode == cairnLogModeSpike && c.ready-c.stopped >= cairnLow && c.ready != 0 {
			cairnNoteWaker(gp)
		}
	}
}

// cairnRuns is called when a goroutine runs again, on the thread that will run it.
func cairnRuns(gp *g) {
	c := &gp.cairn
	if cairnMode == cairnLogModeSpike {
		c.pages(gp, c.stopped, max(cairnWord, c.stopped))
	}
	if c.stopped == 0 {
		return
	}
	if cairnMode == cairnLogModeTrace {
		cairnTraceRuns(gp)
		return
	}
	w := max(cairnWord, c.stopped)
	ready := c.ready
	if c.reason == cairnLogReasonStopped {
		ready = cairnWorld
	}
	ready = min(max(ready, c.stopped), w)
	if cairnMode == cairnLogModeSpike {
		if w != c.stopped {
			cairnNoteWait(gp, c.reason, c.stopped, ready, cairnNow())
		}
	} else if c.node != 0 {
		c.endWait(ready, w)
	}
	c.stopped = 0
}

// cairnReturned is called on the system stack when a system call has returned that took longer
// than a tick of the clock. The goroutine has no P yet.
func cairnReturned() {
	gp := getg().m.curg
	if gp == nil || gp.cairn.system == 0 {
		return
	}
	c := &gp.cairn
	from, w := c.system, cairnWord
	c.system = 0
	switch {
	case cairnMode == cairnLogModeTrace:
		cairnTraceReturned(gp, from)
	case cairnMode == cairnLogModeSpike:
		now := cairnNow()
		cairnNoteWait(gp, cairnLogReasonSystem, from, now, now)
	case c.node != 0 && w > from:
		n := (*cairnNode)(unsafe.Pointer(c.node))
		from = max(from, c.last)
		n.self += from - c.last
		if s := n.child(abi.FuncPCABIInternal(cairnWaitFuncs[cairnLogReasonSystem]), cairnKindWait); s != nil {
			n = s
			n.calls++
		}
		n.self += w - from
		c.last = w
	}
}

// cairnCreated is called when a goroutine is made, by gp.
func cairnCreated(newg, gp *g) {
	newg.cairn = cairnG{}
	if cairnMode == cairnLogModeStacks || cairnMode == cairnLogModeTrace {
		newg.cairn.origin = uintptr(unsafe.Pointer(cairnOriginOf(gp, newg.gopc)))
	}
}

// cairnEnded is called when a goroutine ends.
func cairnEnded(gp *g) {
	switch {
	case gp.cairn.waits != 0:
		cairnFreeWaits((*cairnWaits)(unsafe.Pointer(gp.cairn.waits)))
	case gp.cairn.root != 0:
		cairnFreeTree(gp)
	case cairnMode == cairnLogModeTrace && gp.cairn.node != 0:
		cairnFreeLane(gp)
	}
	gp.cairn = cairnG{}
}

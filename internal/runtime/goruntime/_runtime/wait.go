package runtime

import "unsafe"

// Where a goroutine waited, and times in which the whole process stood still.

// cairnSpot is where a goroutine waited: the functions outside of package runtime, the innermost
// first.
type cairnSpot struct {
	from, to int64
	number   uint64
	n        int
	pcs      [cairnSpotDepth]uintptr
	on       uint32 // what kind of file it waited for, 0: none
	peer     [cairnMaxPeer]byte
	peerLen  int
}

const (
	cairnMaxPeer   = 104 // of what the other end of a connection is called
	cairnSpotDepth = 16
	cairnNumSpots  = 4 // the last three, and the longest of those before them
)

// noteSpot notes where a wait was. The goroutine is about to run, or in a system call.
func (c *cairnWaits) noteSpot(gp *g, reason uint8, from, to int64) {
	switch reason {
	case cairnLogReasonProcessor, cairnLogReasonStopped, cairnLogReasonGC:
		return // that may be anywhere
	case cairnLogReasonSystem:
		if gp.syscallsp == 0 {
			return
		}
	}
	const recent, keep = cairnNumSpots - 1, 16
	s, best := &c.spots[c.spot%recent], &c.spots[recent]
	if c.spot < recent {
		best.n = 0
	} else if best.n == 0 || s.to-s.from > best.to-best.from || best.number+keep < c.spot {
		*best = *s
	}
	s.from, s.to, s.number, s.n = from, to, c.spot, 0
	c.spot++
	s.on, s.peerLen = gp.cairn.file(reason, to-from, s.peer[:])
	var u unwinder
	u.init(gp, unwindSilentErrors)
	for ; u.valid() && s.n < cairnSpotDepth; u.next() {
		if s.n == 0 && cairnOfRuntime(funcname(u.frame.fn)) {
			continue
		}
		s.pcs[s.n] = u.frame.pc
		s.n++
	}
}

// file returns the kind of the file that a goroutine waited for, if it is known and the wait was long, and puts what
// the other end is called. The goroutine holds the file until it goes on.
func (c *cairnG) file(reason uint8, time int64, peer []byte) (kind uint32, n int) {
	if reason != cairnLogReasonNetwork || c.fd == 0 || time < cairnLow {
		return 0, 0
	}
	return cairnKindOfFile(uintptr(c.fd-1), peer)
}

// cairnOfRuntime reports whether a function is one of package runtime.
func cairnOfRuntime(name string) bool { return len(name) > 8 && name[:8] == "runtime." }

// longest returns where the longest wait of a call was, nil if that is not known, and its duration.
func (s *cairnCall) longest(c *cairnWaits) (spot *cairnSpot, time int64) {
	for i := range min(c.spot, cairnNumSpots) {
		x := &c.spots[i]
		if i == cairnNumSpots-1 && x.n == 0 || x.to <= s.w {
			continue
		}
		if t := x.to - max(x.from, s.w); t > time {
			spot, time = x, t
		}
	}
	first := uint64(0)
	if c.n > cairnNumNoted {
		first = c.n - cairnNumNoted
	}
	for i := first; i < c.n; i++ {
		if w := &c.waits[i%cairnNumNoted]; w.reason != cairnLogReasonProcessor && w.to-max(w.from, s.w) > time {
			spot, time = nil, w.to-max(w.from, s.w)
		}
	}
	return spot, time
}

// before returns how much of a time waits have that were noted before the i-th: a wait begins at the clock's last
// tick, when the one before it may not have ended, and a system call has the waits for a processor at its return.
func (c *cairnWaits) before(i, first uint64, from, to int64) (sum int64) {
	for i > first && to > from {
		i--
		w := &c.waits[i%cairnNumNoted]
		if begin := max(w.from, from); begin < to && w.to > begin {
			sum += min(w.to, to) - begin
			to = begin
		}
	}
	return sum
}

// waited writes what the call waited for, after its usage.
func (s *cairnCall) waited() {
	c := (*cairnWaits)(unsafe.Pointer(s.gp.cairn.waits))
	if c == nil || s.waits == 0 {
		return
	}
	const head, reason = cairnLogWaitSize, cairnLogReasonSize
	reasons, pcs, peer, flags := uintptr(0), uintptr(0), uintptr(0), uint32(0)
	for _, ns := range s.reasons {
		if ns > 0 {
			reasons++
		}
	}
	spot, longest := s.longest(c)
	if spot != nil {
		pcs, peer, flags = uintptr(spot.n), uintptr(spot.peerLen), cairnLogWaitUnwound|spot.on
	}
	size := (head + reasons*reason + pcs*8 + peer + 7) &^ 7
	r := cairnRecord(cairnLogTypeWait, uint32(s.gp.goid), size)
	if r == 0 {
		return
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut32(r+24, uint32(^s.frames[0].depth))
	cairnPut32(r+28, flags)
	cairnPut64(r+32, uint64(longest))
	cairnPut16(r+40, uint16(reasons))
	cairnPut16(r+42, uint16(pcs))
	cairnPut16(r+44, uint16(peer))
	at := r + head
	for i, ns := range s.reasons {
		if ns > 0 {
			cairnPut32(at, uint32(i))
			cairnPut32(at+4, s.counts[i])
			cairnPut64(at+8, uint64(ns))
			at += reason
		}
	}
	for i := range pcs {
		cairnPut64(at+8*i, uint64(spot.pcs[i]))
	}
	if peer > 0 {
		cairnCopy(at+8*pcs, spot.peer[:peer])
	}
	cairnCommit(cairnLogTypeWait, size, r)
	s.woken(c)
}

// cairnWaker is the goroutine that ended a wait of another: it unlocked a mutex, or sent a value. pcs is
// its stack outside of packages runtime and sync, the innermost function first.
type cairnWaker struct {
	from, to int64 // of the wait
	goid     uint64
	reason   uint8
	n        int
	pcs      [cairnSpotDepth]uintptr
}

const cairnNumWakers = 3 // the last two, and the longest of those before them

// cairnNoteWaker is called when a goroutine that waited for long can run, in the one that made it so.
func cairnNoteWaker(gp *g) {
	by := getg().m.curg
	if by == nil || by == gp || readgstatus(by)&^_Gscan != _Grunning {
		return
	}
	switch gp.cairn.reason {
	case cairnLogReasonLock, cairnLogReasonRWLock, cairnLogReasonGroup, cairnLogReasonCond, cairnLogReasonChannel:
	default:
		return
	}
	c := cairnWaitsOf(gp)
	if c == nil {
		return
	}
	const recent = cairnNumWakers - 1
	k, best := &c.wakers[c.wakes%recent], &c.wakers[recent]
	if c.wakes < recent {
		best.n, best.goid = 0, 0
	} else if best.goid == 0 || k.to-k.from > best.to-best.from {
		*best = *k
	}
	c.wakes++
	k.from, k.to, k.goid, k.reason, k.n = gp.cairn.stopped, gp.cairn.ready, by.goid, gp.cairn.reason, 0
	if getg() == by {
		return // its stack cannot be walked here
	}
	var u unwinder
	u.init(by, unwindSilentErrors)
	for ; u.valid() && k.n < cairnSpotDepth; u.next() {
		if k.n == 0 && cairnOfLocks(funcname(u.frame.fn)) {
			continue
		}
		k.pcs[k.n] = u.frame.pc
		k.n++
	}
}

// cairnOfLocks reports whether a function is one of the packages that locks are in.
func cairnOfLocks(name string) bool {
	for _, p := range [...]string{"runtime.", "sync.", "internal/sync."} {
		if len(name) > len(p) && name[:len(p)] == p {
			return true
		}
	}
	return false
}

// woken writes who ended the longest of the waits of the call whose end is known.
func (s *cairnCall) woken(c *cairnWaits) {
	const head, recent = cairnLogHolderSize, cairnNumWakers - 1
	var k *cairnWaker
	time := int64(0)
	for i := range min(c.wakes, cairnNumWakers) {
		x := &c.wakers[i]
		if i == recent && x.goid == 0 || x.to <= s.w {
			continue
		}
		if t := x.to - max(x.from, s.w); t > time {
			k, time = x, t
		}
	}
	if k == nil {
		return
	}
	size := head + uintptr(k.n)*8
	r := cairnRecord(cairnLogTypeHolder, uint32(s.gp.goid), size)
	if r == 0 {
		return
	}
	cairnPut64(r+8, s.number)
	cairnPut64(r+16, uint64(s.end))
	cairnPut32(r+24, uint32(^s.frames[0].depth))
	cairnPut32(r+28, uint32(k.reason))
	cairnPut64(r+32, uint64(k.to))
	cairnPut64(r+40, uint64(time))
	cairnPut32(r+48, uint32(k.goid))
	cairnPut16(r+52, uint16(k.n))
	for i := range uintptr(k.n) {
		cairnPut64(r+head+8*i, uint64(k.pcs[i]))
	}
	cairnCommit(cairnLogTypeHolder, size, r)
}

// ---- the whole process ----

// What the clock's thread knows of itself and the process, to tell a process that stood still from
// one whose threads waited for a processor.
var (
	cairnRanCPU  int64 // processor time of the process when the thread last ran
	cairnDelay   int64 // for how long the thread had waited for a processor
	cairnDelayAt int64 // when that was read
)

// cairnStill looks at a sleep of the clock's thread, which was to last for some time. If it lasted
// longer by the threshold, no thread ran meanwhile, and the thread did not wait for a processor, the
// process was stopped or frozen.
func cairnStill(from, sleep, now int64) {
	if cairnMode != cairnLogModeSpike {
		return
	}
	const fresh, least = 50_000_000, 20_000_000
	cpu := cairnProcessTime()
	ran, gap := cpu-cairnRanCPU, now-from
	cairnRanCPU = cpu
	late := gap > sleep+max(cairnThreshold, least) // a virtual machine loses a few milliseconds at times
	if !late && now-cairnDelayAt < fresh {
		return
	}
	delay, known := cairnRunDelay()
	delayed, first := delay-cairnDelay, cairnDelayAt == 0
	cairnDelay, cairnDelayAt = delay, now
	if !late || !known || first || delayed > (gap-sleep)/4 || ran > (gap-sleep)/4 {
		return
	}
	const size = cairnLogFreezeSize
	cairnLogLock.lock()
	if r := cairnRecord(cairnLogTypeFreeze, 0, size); r != 0 {
		cairnPut64(r+8, uint64(from))
		cairnPut64(r+16, uint64(now))
		cairnPut64(r+24, uint64(delayed))
		cairnPut64(r+32, uint64(ran))
		cairnCommit(cairnLogTypeFreeze, size, r)
	}
	cairnLogLock.unlock()
}

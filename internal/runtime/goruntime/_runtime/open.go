package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

// Calls that took too long already and have not ended. The thread of the clock looks at goroutines that have
// stopped for a threshold; a goroutine that stops and goes on all the time looks at itself once a second.

// cairnSlot is an open call that is in the log. It has no pointers, as the clock's thread has no P.
type cairnSlot struct {
	at    uintptr // of the record, 0: none yet
	gp    uintptr // *g
	goid  uint64
	since int64 // clock when the goroutine stopped, or began a system call; 0: it ran
	until int64
	depth uintptr // of the frame of the call
	lasts bool    // it contains all work of the goroutine
}

const (
	cairnNumOpen    = 128
	cairnNumLasting = cairnNumOpen / 4
	cairnLookEvery  = 1_000_000_000
)

var (
	cairnSlots    [cairnNumOpen]cairnSlot
	cairnUsed     int // slots that have a record
	cairnOpenAt   uintptr
	cairnLooks    cairnSpin
	cairnLookNext int64     // when the clock's thread looks at all goroutines again
	cairnNoRoom   [2]uint32 // calls that a look found no room for, and of those that contain all work of their goroutines
	cairnSelfNext int64     // when a goroutine may look at itself again
)

// cairnLook looks at all goroutines, if it is time to.
func cairnLook(now int64, last bool) {
	if cairnMode != cairnLogModeSpike || now < cairnLookNext && !last || cairnFinished || !cairnLooks.try() {
		return
	}
	const least, share, most = 20_000_000, 100, 10 // of the thread's time: a hundredth, or a tenth if it needs that once a second
	cairnNoRoom = [2]uint32{}
	list, n := atomicAllG()
	for i := range n {
		cairnLookAt(atomicAllGIndex(list, i), now)
	}
	for i := range cairnUsed {
		s := &cairnSlots[i]
		if stale := int64(3 * cairnLookEvery); s.gp != 0 && s.until < now && (s.since != 0 || now-s.until > stale || (*g)(unsafe.Pointer(s.gp)).goid != s.goid) {
			s.ends(now)
		}
	}
	took := cairnNow() - now
	cairnLookNext = now + max(min(max(cairnThreshold/2, least, share*took), cairnLookEvery), most*took)
	if cairnLogLock.try() {
		cairnTrail(now, 0)
		cairnLogLock.unlock()
	}
	cairnLooks.unlock()
}

// cairnLookAt looks at a goroutine that waits or is in a system call, for a threshold or longer. Its stack
// cannot change meanwhile.
func cairnLookAt(gp *g, now int64) {
	st := readgstatus(gp)
	from := int64(0)
	switch st {
	case _Gwaiting:
		from = gp.cairn.stopped
	case _Gsyscall:
		from = gp.cairn.system
	}
	if from == 0 || now-from < min(cairnThreshold, cairnLeast) {
		return
	}
	if s := cairnSlotOf(gp); s != nil && s.since == from {
		s.until = now
		cairnPut64(s.at+24, uint64(now))
		return
	}
	if !castogscanstatus(gp, st, st|_Gscan) {
		return
	}
	if st == _Gwaiting && gp.cairn.stopped == from {
		cairnFind(gp, from, gp.cairn.reason, now)
	} else if st == _Gsyscall && gp.cairn.system == from {
		cairnFind(gp, from, cairnLogReasonSystem, now)
	}
	casfrom_Gscanstatus(gp, st|_Gscan, st)
}

// cairnLookSelf is called when a goroutine stops to run, on the stack of its thread.
//
//go:nosplit
func cairnLookSelf(gp *g, w int64) {
	if w-gp.cairn.looked < cairnLookEvery {
		return
	}
	first := gp.cairn.looked == 0
	gp.cairn.looked = w
	if first || getg() == gp || w < cairnSelfNext {
		return
	}
	cairnRunning(gp)
}

func cairnRunning(gp *g) {
	if cairnFinished || !atomic.Cas(&cairnLooks.busy, 0, 1) {
		return
	}
	const share = 100
	now := cairnNow()
	cairnFind(gp, 0, 0, now)
	cairnSelfNext = now + share*(cairnNow()-now)
	atomic.Store(&cairnLooks.busy, 0)
}

// cairnSlotOf returns the slot of a goroutine, nil if it has none.
func cairnSlotOf(gp *g) *cairnSlot {
	for i := range cairnUsed {
		if s := &cairnSlots[i]; s.gp == uintptr(unsafe.Pointer(gp)) && s.goid == gp.goid {
			return s
		}
	}
	return nil
}

// cairnFreeSlot returns a slot that no call has, nil if there is none.
func cairnFreeSlot(lasts bool, now int64) *cairnSlot {
	lasting := 0
	var free *cairnSlot
	for i := range cairnUsed {
		s := &cairnSlots[i]
		if s.gp == 0 {
			free = s
		} else if s.lasts {
			lasting++
		}
	}
	switch {
	case lasts && lasting >= cairnNumLasting:
		return nil
	case free != nil:
		return free
	case cairnUsed == cairnNumOpen:
		return nil
	}
	if cairnUsed%cairnLogOpenSlots == 0 {
		if !cairnLogLock.try() {
			return nil
		}
		at := cairnNewChunk(cairnLogKindOpen, now)
		cairnLogLock.unlock()
		if at == 0 {
			return nil
		}
		cairnOpenAt = at + cairnLogChunkHeaderSize
	}
	s := &cairnSlots[cairnUsed]
	s.at = cairnOpenAt + uintptr(cairnUsed%cairnLogOpenSlots)*cairnLogOpenSlot
	cairnUsed++
	return s
}

// ends notes that the call has ended, or that nothing is known of it any more.
func (s *cairnSlot) ends(now int64) {
	if s.gp != 0 {
		s.gp, s.lasts = 0, false
		cairnPut64(s.at+16, uint64(now))
	}
}

// cairnFind looks for the innermost call of a goroutine that has taken too long, and puts it into the log. The
// goroutine has stopped; from is since when, or 0 if it ran until now.
func cairnFind(gp *g, from int64, reason uint8, now int64) {
	s := cairnSlotOf(gp)
	if isSystemGoroutine(gp, false) || cairnBusy(gp) {
		return
	}
	var frames [cairnNumFrames]cairnFrame
	var stamps [cairnNumFrames]uintptr
	var u unwinder
	u.init(gp, unwindSilentErrors)
	n := cairnStamped(&u, gp, now, frames[:], stamps[:])
	for i := range n - 1 {
		if findfunc(frames[i].entry).funcID == abi.FuncID_asyncPreempt && !cairnIsStored(frames[i+1].entry, frames[i+1].pc) {
			stamps[i+1] = 0
		}
	}
	peak, threshold := -1, cairnThreshold
	outer := 0
	for i := range n {
		if stamps[i] == 0 {
			continue
		}
		outer = i
		if peak >= 0 {
			continue
		}
		wanted := true
		if m := cairnMarksOf(gp, false); m != nil {
			threshold, wanted = m.judge(frames[i:n], -1)
		}
		w := *(*int64)(unsafe.Pointer(stamps[i]))
		if lo, _ := cairnLasted(gp, w, cairnOpened(w, now), now); wanted && lo >= threshold {
			peak = i
		}
	}
	if peak < 0 {
		if s != nil {
			s.ends(now)
		}
		return
	}
	lasts := peak == outer && reason != cairnLogReasonLock && reason != cairnLogReasonRWLock
	if s == nil {
		if s = cairnFreeSlot(lasts, now); s == nil {
			if lasts {
				cairnNoRoom[1]++
			} else {
				cairnNoRoom[0]++
			}
			return
		}
		cairnNameOpen(gp, now)
	}
	s.gp, s.goid, s.since, s.until, s.depth, s.lasts = uintptr(unsafe.Pointer(gp)), gp.goid, from, now, frames[peak].depth, lasts
	s.write(gp, cairnOpenStack{frames[:n], stamps[:n], peak}, threshold, reason, now)
}

// cairnNameOpen writes the name of a goroutine, unless the log has it.
func cairnNameOpen(gp *g, now int64) {
	c := cairnWaitsOf(gp)
	if c == nil || c.named || !cairnLogLock.try() {
		return
	}
	s := cairnCall{gp: gp, end: now}
	s.name(c)
	cairnLogLock.unlock()
}

// cairnOpenStack is a stack, the addresses of its calls' stamps, 0 for none, and the index of the open call.
type cairnOpenStack struct {
	frames []cairnFrame
	stamps []uintptr
	peak   int
}

// write writes the record of an open call.
func (s *cairnSlot) write(gp *g, on cairnOpenStack, threshold int64, reason uint8, now int64) {
	frames, stamps, peak := on.frames, on.stamps, on.peak
	r := s.at
	edition := *(*uint32)(unsafe.Pointer(r + 80)) + 1
	atomic.Store((*uint32)(unsafe.Pointer(r+80)), edition)
	cairnPut32(r+4, uint32(gp.goid))
	cairnPut64(r+8, uint64(now))
	cairnPut64(r+16, 0)
	cairnPut64(r+24, uint64(now))
	cairnPut64(r+40, uint64(threshold))
	cairnPut64(r+48, cairnFrameCount)
	var peer [cairnMaxPeer]byte
	flags, since, why, told := uint32(cairnLogOpenRuns), now, uint32(0), 0
	if s.since == 0 {
		if ran, longest := cairnAwoke(gp, stamps[peak], threshold, now); ran > 0 {
			since, why = now-ran, 1+uint32(longest)
		}
	} else {
		flags, told = gp.cairn.file(reason, now-s.since, peer[:])
		flags, since, why = flags<<cairnLogOpenKindShift, s.since, 1+uint32(reason)|cairnDetail(gp.waitreason, reason)<<8|uint32(told)<<16
	}
	cairnPut32(r+56, flags)
	cairnPut64(r+32, uint64(since))
	cairnPut32(r+84, why)
	clear((*[cairnLogOpenName]byte)(unsafe.Pointer(r + 88))[:])
	at := r + cairnLogOpenSize
	n := uintptr(0)
	for i := peak; i < len(frames); i++ {
		cairnPutOpen(at, gp, &frames[i], stamps[i], now)
		at += cairnLogEntrySize
		n++
	}
	if gp.parentGoid != 0 && len(frames) < cairnNumFrames {
		cairnPut64(at, uint64(gp.gopc)) // who made it
		cairnPut64(at+8, 0)
		cairnPut64(at+16, 0)
		cairnPut64(at+24, cairnLogEntryNoStamp)
		at += cairnLogEntrySize
		n++
	}
	inner := uintptr(0)
	for i := peak - 1; i >= 0; i-- {
		if f := findfunc(frames[i].entry); cairnOfRuntime(funcname(f)) {
			break // the rest of it is how the runtime waits
		}
		cairnPutOpen(at, gp, &frames[i], stamps[i], now)
		at += cairnLogEntrySize
		inner++
	}
	cairnCopy(at, peer[:told])
	cairnPut16(r+64, uint16(n))
	cairnPut16(r+66, uint16(inner))
	cairnPut32(r+68, uint32(n))
	atomic.Store((*uint32)(unsafe.Pointer(r+80)), edition+1)
	cairnCommit(cairnLogTypeOpen, cairnLogOpenSlot, r)
}

// cairnAwoke returns how long a goroutine ran at most in a call all of whose time it waited but for less than the threshold,
// and for what it waited longest. It returns 0 if it ran longer, or if that is not known.
func cairnAwoke(gp *g, stamp uintptr, threshold, now int64) (ran int64, reason uint8) {
	c := (*cairnWaits)(unsafe.Pointer(gp.cairn.waits))
	if c == nil {
		return 0, 0
	}
	s := cairnCall{gp: gp, w: *(*int64)(unsafe.Pointer(stamp)), end: now}
	s.began = cairnOpened(s.w, now)
	s.lo, s.hi = cairnLasted(gp, s.w, s.began, now)
	s.runs(c)
	if s.ranHi >= threshold {
		return 0, 0
	}
	for i, ns := range s.reasons {
		if ns > s.reasons[reason] {
			reason = uint8(i)
		}
	}
	return max(s.ranHi, 1), reason
}

// cairnPutOpen puts an entry for a call, with its duration so far if it has a stamp.
func cairnPutOpen(at uintptr, gp *g, f *cairnFrame, stamp uintptr, now int64) {
	cairnPut64(at, uint64(f.pc))
	cairnPut64(at+8, 0)
	cairnPut64(at+16, 0)
	cairnPut32(at+24, cairnLogEntryNoStamp)
	cairnPut32(at+28, uint32(^f.depth))
	if stamp == 0 {
		return
	}
	w := *(*int64)(unsafe.Pointer(stamp))
	lo, hi := cairnLasted(gp, w, cairnOpened(w, now), now)
	cairnPut64(at+8, uint64(lo))
	cairnPut64(at+16, uint64(hi))
	cairnPut32(at+24, 0)
}

// cairnDetail returns how a goroutine waits for a channel: 1 receives, 2 sends, 3 in a select; 0 otherwise.
func cairnDetail(r waitReason, reason uint8) uint32 {
	if reason != cairnLogReasonChannel {
		return 0
	}
	switch r {
	case waitReasonChanReceive, waitReasonChanReceiveNilChan:
		return 1
	case waitReasonChanSend, waitReasonChanSendNilChan:
		return 2
	case waitReasonSelect, waitReasonSelectNoCases:
		return 3
	}
	return 0
}

// hasEnded notes that a call has ended that may be in the log as an open one.
func (s *cairnCall) hasEnded() {
	if cairnUsed == 0 || !cairnLooks.try() {
		return
	}
	if o := cairnSlotOf(s.gp); o != nil && o.depth >= s.frames[0].depth {
		o.ends(s.end)
	}
	cairnLooks.unlock()
}

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/atomic"
	"unsafe"
)

// When the calls of a goroutine began, from its stack. A function with probes has the clock of its first
// probe in its frame, at a place that its call of cairn_slow tells. A function that defers calls has it among
// the arguments of the deferred call of cairn_ended, beside the place of the frame.

const (
	cairnNoStamp   = -1 // the function has no probes, or none of a form that is known
	cairnInClosure = -2
)

// cairnPlaces are the places of stamps of functions, by a hash of their entries: the offset of the entry in the
// text, and the place plus 3.
var cairnPlaces [1024]uint64

// cairnProbes are the entries of cairn_slow and cairn_began, and cairnGoexit that of Goexit. (The compiler would take
// functions that refer to these for a cycle of initializers.)
var (
	cairnProbes [2]uintptr
	cairnGoexit uintptr
)

func cairnFindProbes() {
	cairnProbes = [2]uintptr{abi.FuncPCABIInternal(cairn_slow), abi.FuncPCABIInternal(cairn_began)}
	cairnGoexit = abi.FuncPCABIInternal(Goexit)
}

// cairnPlaceOf returns where the frames of a function have the clock of its first probe: the distance from the
// stack pointer, or what is known of it.
func cairnPlaceOf(f funcInfo) int {
	entry := f.entry()
	off := uint64(entry - firstmoduledata.text)
	cached := f.datap == &firstmoduledata && off < 1<<32
	at := &cairnPlaces[(off>>4*2654435761)%uint64(len(cairnPlaces))]
	if v := atomic.Load64(at); cached && v != 0 && v>>32 == off {
		return int(uint32(v)) - 3
	}
	place := cairnFindPlace(entry, cairnEndOf(f))
	if cached {
		atomic.Store64(at, off<<32|uint64(place+3))
	}
	return place
}

// cairnEndOf returns where the function behind another one begins.
func cairnEndOf(f funcInfo) uintptr {
	const most = 1 << 20
	tab := f.datap.ftab
	lo, hi := 0, len(tab)-1
	for lo < hi {
		if mid := (lo + hi) / 2; tab[mid].entryoff <= f.entryOff {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return min(f.datap.textAddr(tab[lo].entryoff), f.entry()+most)
}

// cairnFindPlace looks for the calls of the probes in the code of a function.
func cairnFindPlace(from, to uintptr) int {
	slow, began := cairnProbes[0], cairnProbes[1]
	code := func(at uintptr) uint32 { return *(*uint32)(unsafe.Pointer(at)) }
	if goarch.IsArm64 != 0 {
		for at := from; at+4 <= to; at += 4 {
			if code(at)>>26 != 0x25 { // BL
				continue
			}
			switch at + uintptr(int64(int32(code(at)<<6)>>6)*4) {
			case began:
				return cairnInClosure
			case slow:
				if add := code(at - 4); at > from && add&0xffc003ff == 0x910003e0 { // ADD $offset, RSP, R0
					return int(add >> 10 & 0xfff)
				}
			}
		}
		return cairnNoStamp
	}
	for at := from; at+5 <= to; at++ {
		if *(*byte)(unsafe.Pointer(at)) != 0xe8 {
			continue
		}
		switch at + 5 + uintptr(int64(int32(code(at+1)))) {
		case began:
			return cairnInClosure
		case slow:
			if place := cairnArgument(from, at); place >= 0 {
				return place
			}
		}
	}
	return cairnNoStamp
}

// cairnArgument returns the offset of the instruction LEAQ offset(SP), AX before an address, -1 if there is none.
// The assembler may have put an instruction without effect between them.
func cairnArgument(from, to uintptr) int {
	const most = 15
	for end := to; end+most >= to && end >= from+8; end-- {
		if pad := *(*byte)(unsafe.Pointer(end)); end < to && pad != 0x90 && pad != 0x0f && pad != 0x66 {
			continue
		}
		if *(*uint32)(unsafe.Pointer(end - 5)) == 0x24448d48 {
			return int(*(*int8)(unsafe.Pointer(end - 1)))
		}
		if *(*uint32)(unsafe.Pointer(end - 8)) == 0x24848d48 {
			return int(*(*int32)(unsafe.Pointer(end - 4)))
		}
	}
	return -1
}

// cairnIsStored reports whether a function that was interrupted at pc has put the clock into its frame.
func cairnIsStored(entry, pc uintptr) bool {
	const prologue = 64 // without large variables that are cleared
	place := cairnPlaceOf(findfunc(entry))
	if goarch.IsAmd64 == 0 || place < 0 {
		return pc-entry > prologue
	}
	for at := entry; at+8 <= pc; at++ { // MOVQ R, place(SP)
		b := (*[8]byte)(unsafe.Pointer(at))
		if b[0] != 0x48 && b[0] != 0x4c || b[1] != 0x89 || b[3] != 0x24 {
			continue
		}
		if b[2]&0xc7 == 0x44 && int(int8(b[4])) == place || b[2]&0xc7 == 0x84 && int(*(*int32)(unsafe.Pointer(at + 4))) == place {
			return true
		}
	}
	return false
}

// cairnStampIn returns the address of the clock of the first probe in a frame, 0 if it has none. top is where the
// frame's variables end, and depth how far from the end of the stack the frame is.
func cairnStampIn(f funcInfo, sp, top, depth uintptr, now int64) uintptr {
	place := cairnPlaceOf(f)
	valid := func(at uintptr) bool {
		w := *(*int64)(unsafe.Pointer(at))
		return w >= cairnBegan && w <= now
	}
	switch {
	case place >= 0:
		if at := sp + uintptr(place); at+8 <= top && valid(at) {
			return at
		}
	case place == cairnInClosure:
		for at := sp; at+16 <= top; at += 8 {
			if *(*uintptr)(unsafe.Pointer(at + 8)) == depth && valid(at) {
				return at
			}
		}
	}
	return 0
}

// cairnStamped puts the frames of a stack, the innermost first, and the address of the stamp of each.
func cairnStamped(u *unwinder, gp *g, now int64, frames []cairnFrame, stamps []uintptr) (n int) {
	for ; u.valid() && n < len(frames); u.next() {
		if u.frame.fn.funcID == abi.FuncID_goexit {
			break
		}
		at := gp.stack.hi - u.frame.sp
		frames[n] = cairnFrame{u.frame.fn.entry(), at, u.frame.pc}
		stamps[n] = cairnStampIn(u.frame.fn, u.frame.sp, u.frame.varp, at, now)
		n++
	}
	return n
}

// ---- calls that a panic or Goexit leaves ----

const cairnWasLeft = 1 << 62 // in place of a stamp: the call was reported

// cairnLeft looks at the calls of a goroutine that a panic leaves, on its way to a stack pointer.
func cairnLeft(gp *g, sp uintptr) {
	if cairnMode != cairnLogModeSpike || cairnBusy(gp) {
		return
	}
	var u unwinder
	u.init(gp, unwindSilentErrors)
	cairnLeave(gp, &u, gp.stack.hi-sp)
}

// cairnExits looks at the calls that Goexit leaves: those of its caller outwards.
func cairnExits(pc, sp uintptr) {
	gp := getg()
	if cairnMode != cairnLogModeSpike || cairnBusy(gp) {
		return
	}
	systemstack(func() {
		var u unwinder
		u.initAt(pc, sp, 0, gp, unwindSilentErrors)
		cairnLeave(gp, &u, 0)
	})
}

// cairnPanics looks at the calls of a goroutine whose panic ends the program.
func cairnPanics() {
	gp := getg().m.curg
	if gp != nil && gp._panic != nil && readgstatus(gp)&^_Gscan == _Grunning && getg() != gp && getg() != gp.m.gsignal {
		cairnLeft(gp, gp.stack.hi)
	}
}

// cairnLeave reports those of the calls of a stack that took too long, and whose frames are deeper than a place.
// The deferred calls of functions that have such reported these already.
func cairnLeave(gp *g, u *unwinder, depth uintptr) {
	var frames [cairnNumFrames]cairnFrame
	var stamps [cairnNumFrames]uintptr
	end := cairnNow()
	n := cairnStamped(u, gp, end, frames[:], stamps[:])
	for i := range n {
		if frames[i].depth <= depth {
			break
		}
		if stamps[i] == 0 || cairnPlaceOf(findfunc(frames[i].entry)) < 0 {
			continue
		}
		w := (*int64)(unsafe.Pointer(stamps[i]))
		if *w <= cairnPast {
			cairnLeftCall(gp, frames[i:n], *w, end)
		}
		*w = cairnWasLeft
	}
}

// cairnLeftCall looks at a call that began at clock w, is the innermost of some frames, and will not return.
func cairnLeftCall(gp *g, frames []cairnFrame, w, end int64) {
	began := cairnOpened(w, end)
	lo, hi := cairnLasted(gp, w, began, end)
	threshold, wanted := cairnThreshold, true
	if m := cairnMarksOf(gp, false); m != nil {
		threshold, wanted = m.judge(frames, -1)
	}
	if hi < threshold || !wanted {
		return
	}
	if lo < threshold {
		atomic.Xadd64(&cairnBorderline, 1)
		return
	}
	c := cairnWaitsOf(gp)
	if c == nil {
		return
	}
	s := cairnCall{gp: gp, w: w, began: began, end: end, lo: lo, hi: hi, frames: frames, threshold: threshold, left: true}
	s.runs(c)
	s.report(c)
}

// cairnInner looks at the calls that a panic leaves, of which cairn_ended is called in the frame at a depth: they
// come before the call that it is about. It reports whether there is a panic, or Goexit.
func cairnInner(gp *g, pc, sp, depth uintptr) bool {
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors)
	for ; u.valid() && gp.stack.hi-u.frame.sp > depth; u.next() {
		if f := u.frame.fn; f.funcID == abi.FuncID_gopanic || f.entry() == cairnGoexit {
			u.next()
			cairnLeave(gp, &u, depth)
			return true
		}
	}
	return false
}

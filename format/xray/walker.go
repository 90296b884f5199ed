package xray

import (
	"encoding/binary"
	"math"

	"github.com/cairnprof/cairn/calllog"
)

// walker iterates over the records of one block of an FDR log. Only it depends on their layout:
//
//   - a call, 8 bytes: u32 of a bit that is 0, three bits of the kind and 28 of
//     the function, then the time since the record before, u32;
//   - metadata, 16 bytes: a bit that is 1, seven bits of the kind, 15 bytes;
//   - the data of an event, after its metadata.
//
// Big-endian machines allocate bit fields from the most significant end: there the first bit is the top bit of
// the first byte, and the function is in the low bits of its word. No log of such a machine was at hand to
// check this with.
type walker struct {
	h     *header
	rec   Record // the record that step found
	cut   bool   // the file ends inside the block
	begun bool   // NewBuffer was seen
	based bool   // a record gave the time
	ended bool   // the end of a block of version 1 was seen
	open  bool   // an argument may follow
	args  int    // arguments since the last call
	typed int    // typed events so far
	base  uint64 // the time
	cpu   uint16
	pid   uint32
	tid   uint32
}

// maxData is how long an event's data may be. The runtime's buffers, which have
// to hold it, are 16 KiB unless a program asks for more.
const maxData = 16 << 20

// maxArgs is how many arguments a call may have. The runtime writes one.
const maxArgs = 1024

// What can be wrong with a record.
const (
	badCall     = "no kind of call has this number"
	badZeros    = "zeros where records are expected"
	badFunction = "a function with number 0"
	badEarly    = "a record before the first one with a time"
	badKind     = "no kind of record has this number"
	badPlace    = "a record at an unexpected position"
	badArgument = "an argument that follows no call"
	badData     = "an event whose data has an impossible size"
	badLarge    = "an event with more than 16 MiB of data"
	badNested   = "a block that begins inside a block"
	badEnd      = "an end of block, which this version does not have"
	cutRecord   = "the block ends inside a record"
	cutTyped    = "the block ends inside a record, as the runtime cuts blocks that have typed events"
	cutFile     = "the file ends inside a record"
)

// start makes w ready for a block.
func (w *walker) start(cut bool) {
	*w = walker{h: w.h, cut: cut}
}

// word returns a call in the little-endian layout.
func (w *walker) word(b []byte) (call, delta uint32) {
	if !w.h.big {
		return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	}
	call = binary.BigEndian.Uint32(b)
	return call<<4 | call>>28&7<<1 | call>>31, binary.BigEndian.Uint32(b[4:])
}

// metadata reports whether a record that begins with c is metadata, and its kind.
func (w *walker) metadata(c byte) (RecordKind, bool) {
	if w.h.big {
		return RecordKind(c & 0x7f), c&0x80 != 0
	}
	return RecordKind(c >> 1), c&1 != 0
}

// step parses the record at the beginning of b into w.rec and returns its size. With trouble it is the size to
// skip, which may be more than b has. end says that the block ends with b; otherwise a size of 0 requests more
// data.
func (w *walker) step(b []byte, end bool) (size int, trouble string) {
	w.rec = Record{}
	kind, meta := w.metadata(b[0])
	need := functionSize
	if meta {
		need = metadataSize
	}
	if len(b) < need {
		if !end {
			return 0, ""
		}
		return len(b), w.cutText()
	}
	if meta {
		size, trouble = w.stepMetadata(kind, b, end)
	} else {
		size, trouble = w.stepCall(b)
	}
	if trouble != "" {
		w.open = false
	}
	r := &w.rec
	r.Size, r.PID, r.TID = int64(size), w.pid, w.tid
	if r.Data == nil { // events may have times of their own
		r.CPU, r.Time = w.cpu, w.base
	}
	return size, trouble
}

func (w *walker) cutText() string {
	switch {
	case w.cut:
		return cutFile
	case w.typed > 0:
		return cutTyped
	}
	return cutRecord
}

func (w *walker) stepCall(b []byte) (int, string) {
	call, delta := w.word(b)
	f, kind := call>>4, calllog.Kind(call>>1&7)
	switch {
	case f == 0 && call == 0 && delta == 0:
		n := leadingZeros(b)
		if n < len(b) {
			n &^= functionSize - 1
		}
		return n, badZeros
	case kind > calllog.EnterArgs:
		return w.resync(b, functionSize), badCall
	case f == 0:
		return w.resync(b, functionSize), badFunction
	case !w.based:
		return w.unbased(b), badEarly
	}
	w.base += uint64(delta)
	w.open, w.args = kind.IsEnter(), 0
	w.rec = Record{Kind: Call, Delta: int64(delta), Event: kind, Func: calllog.FuncID(f)}
	return functionSize, ""
}

// unbased returns the size of the calls that b begins with.
func (w *walker) unbased(b []byte) int {
	n := functionSize
	for ; n+functionSize <= len(b); n += functionSize {
		if _, meta := w.metadata(b[n]); meta {
			break
		}
	}
	return n
}

func (w *walker) stepMetadata(kind RecordKind, b []byte, end bool) (int, string) {
	o := w.h.order()
	p := b[1:metadataSize]
	r := &w.rec
	r.Kind = kind
	if kind == Argument {
		if w.args++; !w.open || w.args > maxArgs {
			return metadataSize, badArgument
		}
		r.Value = o.Uint64(p)
		return metadataSize, ""
	}
	w.open = false
	switch kind {
	case Extents:
		if w.begun || w.h.version < 2 {
			return len(b), badNested
		}
		r.Value = o.Uint64(p)
	case NewBuffer:
		if w.begun {
			return len(b), badNested
		}
		w.begun, w.tid = true, o.Uint32(p)
		if w.h.version == 2 {
			w.pid = w.tid // as in llvm-xray: nothing better is known
		}
	case WallTime, Process:
		if w.based || kind == Process && w.h.version < 3 {
			return metadataSize, badPlace
		}
		if kind == Process {
			w.pid = o.Uint32(p)
		} else {
			r.Seconds, r.Micros = int64(o.Uint64(p)), int32(o.Uint32(p[8:]))
		}
	case NewCPU:
		w.cpu, w.base, w.based = o.Uint16(p), o.Uint64(p[2:]), true
	case ClockWrap:
		w.base, w.based = o.Uint64(p), true
	case EndBuffer:
		if w.h.version > 1 {
			return len(b), badEnd
		}
		w.ended = true
	case CustomData, TypedData:
		return w.stepEvent(kind, b, end)
	default:
		return w.resync(b, metadataSize), badKind
	}
	return metadataSize, ""
}

// stepEvent reads a custom or typed event. Before version 5 it has a time of its
// own, which deltas do not count from.
func (w *walker) stepEvent(kind RecordKind, b []byte, end bool) (int, string) {
	o, r, p := w.h.order(), &w.rec, b[1:metadataSize]
	length, v := int32(o.Uint32(p)), w.h.version
	if kind == TypedData {
		if v < 3 {
			return w.resync(b, metadataSize), badKind
		}
		w.typed++
	}
	if length < 0 {
		return w.resync(b, metadataSize), badData
	}
	size := metadataSize + int(length)
	if missing := size - len(b); missing > 0 {
		switch {
		case !end && length > maxData:
			return size, badLarge
		case !end:
			return 0, ""
		case !w.cut && missing > w.typed*metadataSize:
			return w.resync(b, metadataSize), badData
		}
		return len(b), w.cutText()
	}
	if length > maxData {
		return size, badLarge
	}
	r.Data, r.CPU = b[metadataSize:size], w.cpu
	if v >= 5 {
		if !w.based {
			return size, badEarly
		}
		r.Delta = int64(int32(o.Uint32(p[4:])))
		w.base += uint64(r.Delta)
		r.Time = w.base
	} else {
		r.Time = o.Uint64(p[4:])
	}
	switch {
	case kind == TypedData && v >= 5:
		r.Type = o.Uint16(p[8:])
	case kind == TypedData:
		r.Type = o.Uint16(p[12:])
	case v == 4:
		r.CPU = o.Uint16(p[12:])
	}
	return size, ""
}

// The number of records that are checked for synchronization: a few where it is most likely, and many, up to
// the very end of the block, where it may be lost.
const near, far = 8, 64

// resync returns how much of b to skip after an invalid record of the given size: not more than that and a few
// calls if good records follow, or up to the next record with the time, or all.
func (w *walker) resync(b []byte, size int) int {
	if w.plausible(b[size:], near) {
		return size
	}
	const most = 32 // calls in a row, all of them wrong
	for i := size + functionSize; i < min(len(b), size+most*functionSize); i += functionSize {
		if w.paired(b[i:]) && w.plausible(b[i:], far) {
			return i
		}
	}
	for i := 1; i+metadataSize <= len(b); i++ {
		kind, meta := w.metadata(b[i])
		if !meta || kind != NewCPU && kind != ClockWrap {
			continue
		}
		at := i + 1
		if kind == NewCPU {
			at += 2
		}
		t := w.h.order().Uint64(b[at:])
		if w.about(t) && w.plausible(b[i+metadataSize:], near) {
			return i
		}
	}
	return len(b)
}

// about reports whether a time may be of this block.
func (w *walker) about(t uint64) bool {
	const back, ahead = 1 << 36, 1 << 44 // a minute, some hours
	return !w.based || t-w.base < ahead || w.base-t < back
}

// paired reports whether one of the calls at the beginning of b returns at once, as in nearly every sequence of
// calls, and never in misaligned ones.
func (w *walker) paired(b []byte) bool {
	before := uint32(0)
	for range far {
		if len(b) < functionSize {
			break
		}
		if _, meta := w.metadata(b[0]); meta {
			break
		}
		call, _ := w.word(b)
		const returns = uint32(calllog.Exit) << 1
		if before != 0 && call == before|returns {
			return true
		}
		before = 0
		if calllog.Kind(call>>1&7) == calllog.Enter {
			before = call
		}
		b = b[functionSize:]
	}
	return false
}

// plausible reports whether b begins with n records that may be in the middle of a
// block.
func (w *walker) plausible(b []byte, n int) bool {
	for range n {
		if len(b) < functionSize {
			return len(b) == 0 || n == near
		}
		kind, meta := w.metadata(b[0])
		size := functionSize
		switch {
		case !meta:
			// A longer time has a record of its own.
			if call, delta := w.word(b); call>>4 == 0 || call>>3&1 != 0 || delta > math.MaxInt32 {
				return false
			}
		case len(b) < metadataSize:
			return true
		default:
			size = metadataSize
			switch kind {
			case NewCPU, ClockWrap, Argument:
			case EndBuffer:
				return w.h.version == 1
			case CustomData, TypedData:
				length := w.h.order().Uint32(b[1:])
				if length > math.MaxInt32 || int64(length) > int64(len(b)) {
					return false
				}
				size += int(length)
			default:
				return false
			}
		}
		b = b[min(size, len(b)):]
	}
	return true
}

package xraytest

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
)

// Thread writes the events of one thread. Times are ticks and absolute. What a
// format cannot hold is left out: events in basic logs, typed events before
// version 3 of FDR logs.
type Thread struct {
	b        *Builder
	pid, tid uint32

	cpu    uint16
	moved  bool   // the block does not know the CPU yet
	last   uint64 // the time that deltas count from
	data   []byte // the open block
	typed  int    // its typed events
	opened bool
	part   calllog.Part
}

// Thread returns a new thread.
func (b *Builder) Thread(pid, tid uint32) *Thread {
	t := &Thread{b: b, pid: pid, tid: tid}
	b.threads = append(b.threads, t)
	return t
}

// sorted returns the threads as readers list them.
func (b *Builder) sorted() []*Thread {
	return slices.SortedStableFunc(slices.Values(b.threads), func(x, y *Thread) int {
		return cmp.Or(cmp.Compare(x.shownPID(), y.shownPID()), cmp.Compare(x.tid, y.tid))
	})
}

// shownPID returns the process id that a reader can know.
func (t *Thread) shownPID() uint32 {
	switch f := t.b.Format; {
	case f.Version >= 3:
		return t.pid
	case f.FDR && f.Version == 2:
		return t.tid // as in llvm-xray
	}
	return 0
}

// CPU moves the thread to another CPU, from its next event on.
func (t *Thread) CPU(n uint16) {
	t.moved = t.moved || n != t.cpu
	t.cpu = n
}

// Enter begins a call.
func (t *Thread) Enter(f calllog.FuncID, time uint64) { t.function(calllog.Enter, f, time, nil) }

// Exit ends it.
func (t *Thread) Exit(f calllog.FuncID, time uint64) { t.function(calllog.Exit, f, time, nil) }

// TailExit ends it by a jump to another function.
func (t *Thread) TailExit(f calllog.FuncID, time uint64) { t.function(calllog.TailExit, f, time, nil) }

// EnterArgs begins a call with arguments.
func (t *Thread) EnterArgs(f calllog.FuncID, time uint64, args ...uint64) {
	t.function(calllog.EnterArgs, f, time, args)
}

func (t *Thread) function(kind calllog.Kind, f calllog.FuncID, time uint64, args []uint64) {
	e := calllog.Event{Time: time, Func: f, Kind: kind, CPU: t.cpu}
	if !t.b.Format.FDR {
		t.basic(kind, f, time, args)
		e.CPU = uint16(uint8(t.cpu))
		t.add(e, calllog.Payload{Args: args})
		return
	}
	t.open(time, 2*metadataSize+functionSize+len(args)*metadataSize)
	e.Func &= 1<<28 - 1 // the field is that short
	delta := t.advance(time)
	// The first byte distinguishes function records from metadata. Bit fields are
	// allocated from the end that the first byte is at.
	word := uint32(e.Func)<<4 | uint32(kind)<<1
	if t.b.Format.Big {
		word = uint32(e.Func) | uint32(kind)<<28
	}
	t.data = t.b.order.AppendUint32(t.data, word)
	t.data = t.b.order.AppendUint32(t.data, delta)
	for _, arg := range args {
		t.data = append(t.data, t.b.metadata(6, t.b.order.AppendUint64(nil, arg))...)
	}
	t.add(e, calllog.Payload{Args: args})
}

// Custom logs data.
func (t *Thread) Custom(time uint64, data []byte) {
	f := t.b.Format
	if !f.FDR {
		return
	}
	t.open(time, 3*metadataSize+len(data))
	p := t.eventTime(len(data), time)
	if f.Version == 4 {
		p = t.b.order.AppendUint16(p, t.cpu)
	}
	t.data = append(append(t.data, t.b.metadata(5, p)...), data...)
	t.add(calllog.Event{Time: time, Kind: calllog.Custom, CPU: t.cpu}, calllog.Payload{Data: data})
}

// Typed logs data with a type.
func (t *Thread) Typed(time uint64, kind uint16, data []byte) {
	f := t.b.Format
	if !f.FDR || f.Version < 3 {
		return
	}
	t.open(time, 3*metadataSize+len(data))
	p := t.eventTime(len(data), time)
	p = t.b.order.AppendUint16(p, kind)
	t.data = append(append(t.data, t.b.metadata(8, p)...), data...)
	t.typed++
	t.add(calllog.Event{Time: time, Kind: calllog.Typed, CPU: t.cpu}, calllog.Payload{Data: data, Type: kind})
}

// Raw puts bytes into the block that is open, without a check.
func (t *Thread) Raw(p []byte) { t.data = append(t.data, p...) }

// Metadata returns a metadata record of an FDR log. Payload bytes that are not
// given are garbage.
func (b *Builder) Metadata(kind uint8, payload []byte) []byte { return b.metadata(kind, payload) }

func (b *Builder) metadata(kind uint8, payload []byte) []byte {
	first := kind<<1 | 1
	if b.Format.Big {
		first = kind | 0x80
	}
	return pad(append([]byte{first}, payload...), metadataSize)
}

// eventTime begins the payload of an event's record: its size and time.
func (t *Thread) eventTime(size int, time uint64) []byte {
	p := t.b.order.AppendUint32(nil, uint32(size))
	if t.b.Format.Version >= 5 {
		return t.b.order.AppendUint32(p, t.advance(time))
	}
	if t.moved { // the record may have no field for it
		t.newCPU(time)
	}
	return t.b.order.AppendUint64(p, time)
}

func (t *Thread) add(e calllog.Event, p calllog.Payload) {
	if p.Args != nil || e.Kind == calllog.Custom || e.Kind == calllog.Typed {
		t.part.Payloads = append(t.part.Payloads, p)
		e.Payload = uint32(len(t.part.Payloads))
	}
	t.part.Events = append(t.part.Events, e)
}

// advance writes records of the thread's CPU and time, where deltas do not, and
// returns the delta.
func (t *Thread) advance(time uint64) uint32 {
	switch {
	case t.moved:
		t.newCPU(time)
	case time < t.last, time-t.last > math.MaxInt32:
		t.data = append(t.data, t.b.metadata(3, t.b.order.AppendUint64(nil, time))...)
	default:
		delta := uint32(time - t.last)
		t.last = time
		return delta
	}
	t.last = time
	return 0
}

func (t *Thread) newCPU(time uint64) {
	t.data = append(t.data, t.b.metadata(2, t.b.order.AppendUint64(t.b.order.AppendUint16(nil, t.cpu), time))...)
	t.moved = false
	t.last = time
}

// open begins a block, unless the open one has that much room.
func (t *Thread) open(time uint64, room int) {
	if t.opened && len(t.data)+room+metadataSize > t.b.BufferSize {
		t.Flush()
	}
	if t.opened {
		return
	}
	t.opened = true
	o := t.b.order
	t.data = append(t.data, t.b.metadata(0, o.AppendUint32(nil, t.tid))...)
	seconds, rest := time/t.b.WallHz, time%t.b.WallHz
	micros := uint64(float64(rest) / float64(t.b.WallHz) * 1e6)
	t.data = append(t.data, t.b.metadata(4, o.AppendUint32(o.AppendUint64(nil, seconds), uint32(micros)))...)
	if t.b.Format.Version >= 3 {
		t.data = append(t.data, t.b.metadata(9, o.AppendUint32(nil, t.pid))...)
	}
	t.newCPU(time)
}

// Flush ends the block that is open.
func (t *Thread) Flush() {
	if len(t.data) == 0 {
		return
	}
	f, data := t.b.Format, t.data
	switch {
	case f.FDR && f.Version == 1:
		data = pad(append(data, t.b.metadata(1, nil)...), t.b.BufferSize)
	case f.FDR:
		if t.b.TypedDefect {
			data = data[:len(data)-t.typed*metadataSize]
		}
		data = append(t.b.metadata(7, t.b.order.AppendUint64(nil, uint64(len(data)))), data...)
	}
	t.part.Break = f.FDR
	t.b.blocks = append(t.b.blocks, data)
	t.b.parts = append(t.b.parts, block{t, t.part})
	t.data, t.part, t.typed, t.opened = nil, calllog.Part{}, 0, false
}

// basic writes a record of a basic log, and those of its arguments.
func (t *Thread) basic(kind calllog.Kind, f calllog.FuncID, time uint64, args []uint64) {
	if len(t.data)+(1+len(args))*basicSize > basicBuffer {
		t.Flush()
	}
	o := t.b.order
	r := o.AppendUint16(nil, 0)
	r = append(r, uint8(t.cpu), uint8(kind))
	r = o.AppendUint64(o.AppendUint32(r, uint32(f)), time)
	r = o.AppendUint32(r, t.tid)
	if t.b.Format.Version >= 3 {
		r = o.AppendUint32(r, t.pid)
	}
	t.data = append(t.data, pad(r, basicSize)...)
	for _, arg := range args {
		r := o.AppendUint16(nil, 1)
		r = o.AppendUint32(pad(r, 4), uint32(f))
		r = o.AppendUint32(r, t.tid)
		if t.b.Format.Version >= 3 {
			r = o.AppendUint32(r, t.pid)
		}
		r = o.AppendUint64(pad(r, 16), arg)
		t.data = append(t.data, pad(r, basicSize)...)
	}
}

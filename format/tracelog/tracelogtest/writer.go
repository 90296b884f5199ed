// Package tracelogtest writes logs of spikes as the runtime does, and opens logs of programs, for
// the tests of all packages.
package tracelogtest

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// Writer makes a log. The zero value is not ready: use New.
type Writer struct {
	data []byte // whole chunks but for the last
	head tracelog.Header
	kind uint16
	seq  uint32
	room int // bytes of payload in a chunk
}

var le = binary.LittleEndian

// New returns a writer of a log with such a header.
func New(h tracelog.Header) *Writer {
	w := &Writer{head: h, data: make([]byte, wire.ChunkSize), room: wire.MaxPayload}
	d := w.data
	copy(d, wire.Magic)
	le.PutUint16(d[wire.VersionOffset:], wire.Version)
	le.PutUint16(d[wire.SizeOffset:], wire.HeaderSize)
	le.PutUint32(d[wire.PIDOffset:], h.PID)
	le.PutUint64(d[wire.RealtimeOffset:], h.Realtime)
	le.PutUint64(d[wire.MonotonicOffset:], h.Monotonic)
	le.PutUint64(d[wire.TSCOffset:], h.TSC)
	le.PutUint64(d[wire.TSCHzOffset:], h.TSCHz)
	flags := uint32(h.Calls) << wire.CallsShift
	if h.Forked {
		flags |= wire.Forked
	}
	if h.Micro {
		flags |= wire.MicroClock
	}
	le.PutUint32(d[wire.FlagsOffset:], flags)
	le.PutUint32(d[wire.ModeOffset:], h.Mode)
	le.PutUint32(d[wire.ChecksumOffset:], Checksum(d[:wire.ChecksumOffset]))
	return w
}

// Checksum is FNV-1a of 32 bits, of headers.
func Checksum(data []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range data {
		h = (h ^ uint32(b)) * 16777619
	}
	return h
}

// Room makes chunks hold only n bytes of records, so that a small log has
// several.
func (w *Writer) Room(n int) { w.room = n }

// chunk is the chunk that is written to, nil before the first.
func (w *Writer) chunk() []byte {
	at := len(w.data) / wire.ChunkSize * wire.ChunkSize
	if at == len(w.data) {
		return nil
	}
	return w.data[at:]
}

// record appends a record: type, a, and the payload after these.
func (w *Writer) record(kind uint16, t uint16, a uint32, payload []byte) {
	for len(payload)%8 != 0 {
		payload = append(payload, 0)
	}
	size := wire.RecordHeaderSize + len(payload)
	c := w.chunk()
	if c == nil || kind != w.kind || len(c)-wire.ChunkHeaderSize+size > w.room {
		w.Close()
		w.begin(kind)
	}
	w.data = le.AppendUint16(w.data, t)
	w.data = le.AppendUint16(w.data, uint16(size))
	w.data = le.AppendUint32(w.data, a)
	w.data = append(w.data, payload...)
}

func (w *Writer) begin(kind uint16) {
	h := make([]byte, wire.ChunkHeaderSize)
	le.PutUint32(h, wire.ChunkMagic)
	le.PutUint16(h[wire.ChunkKindOffset:], kind)
	le.PutUint32(h[wire.ChunkPIDOffset:], w.head.PID)
	le.PutUint32(h[wire.ChunkSequenceOffset:], w.seq)
	w.seq++
	w.kind = kind
	w.data = append(w.data, h...)
}

// Close finishes the current chunk: later records go to another one.
func (w *Writer) Close() {
	c := w.chunk()
	if c == nil {
		return
	}
	le.PutUint32(c[wire.ChunkUsedOffset:], uint32(len(c)-wire.ChunkHeaderSize))
	le.PutUint32(c[wire.ChunkChecksumOffset:], Checksum(c[:wire.ChunkChecksumOffset]))
	w.data = append(w.data, make([]byte, wire.ChunkSize-len(c))...)
}

// Bytes returns the log, with its last chunk still live, as while a process runs.
func (w *Writer) Bytes() []byte {
	out := append([]byte(nil), w.data...)
	if n := len(out) % wire.ChunkSize; n != 0 {
		out = append(out, make([]byte, wire.ChunkSize-n)...)
	}
	return out
}

func u64(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = le.AppendUint64(b, v)
	}
	return b
}

func u32(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = le.AppendUint32(b, v)
	}
	return b
}

func u16(b []byte, values ...int) []byte {
	for _, v := range values {
		b = le.AppendUint16(b, uint16(v))
	}
	return b
}

// Module writes a module.
func (w *Writer) Module(m *tracelog.Module) {
	var flags uint32
	for bit, is := range map[uint32]bool{wire.ModuleMain: m.Main, wire.ModuleInstrumented: m.Instrumented, wire.ModuleUnloaded: m.Unloaded != 0} {
		if is {
			flags |= bit
		}
	}
	b := u32(u64(nil, max(m.Time, m.Unloaded), m.Bias, m.Start, m.End), flags)
	b = u16(b, len(m.BuildID), len(m.Path))
	b = append(b, append(append([]byte(nil), m.BuildID...), make([]byte, wire.MaxBuildID+4-len(m.BuildID))...)...)
	w.record(wire.KindRecords, wire.TypeModule, m.Number, append(b, m.Path...))
}

// Episode writes an episode, then its texts and parents.
func (w *Writer) Episode(e *tracelog.Episode) {
	b := u64(nil, e.Number, e.Time, e.Peak.Lo, e.Peak.Hi, e.Threshold, e.Frame)
	b = u32(b, uint32(e.Flags), e.Switches)
	b = u16(b, len(e.Stack), len(e.Children))
	b = u64(u32(b, e.Found), e.Blind)
	for _, list := range [][]tracelog.Entry{e.Stack, e.Children} {
		for _, x := range list {
			b = u32(u64(b, x.PC, x.Time.Lo, x.Time.Hi), uint32(x.Flags), x.SP)
		}
	}
	w.record(wire.KindRecords, wire.TypeEpisode, e.TID, b)
	if e.Usage != nil {
		w.Usage(e.TID, e.Number, e.Usage)
	}
	if e.Wait != nil {
		w.Wait(e.TID, e.Number, e.Wait)
	}
	if e.Holder != nil {
		w.Holder(e.TID, e.Number, e.Holder)
	}
	for i := range e.Texts {
		w.Text(e.TID, e.Number, &e.Texts[i])
	}
	for i := range e.Parents {
		w.Parent(e.TID, e.Number, &e.Parents[i])
	}
}

// Parent writes the end of a caller.
func (w *Writer) Parent(tid uint32, number uint64, p *tracelog.Parent) {
	b := u64(nil, number, p.Ended, p.Time.Lo, p.Time.Hi, p.PC, p.Threshold)
	w.record(wire.KindRecords, wire.TypeParent, tid, u32(b, uint32(p.Flags), p.SP))
}

// Usage writes the kernel's data about a call.
func (w *Writer) Usage(tid uint32, number uint64, u *tracelog.Usage) {
	b := u64(nil, number, u.Ended, u.CPU.Lo, u.CPU.Hi, u.Since)
	b = u32(b, u.Minor, u.Major, u.Voluntary, u.Involuntary, u.SP, uint32(w.number(u.Call)+1))
	w.record(wire.KindRecords, wire.TypeUsage, tid, u16(b, int(u.Waits), int(u.InCall), int(u.Ready), 0))
}

// number returns the number of a system call in the table of the log, -1 for none.
func (w *Writer) number(call string) int {
	n := -1
	for w.head.Calls.Name(n) != call {
		n++
	}
	return n
}

// Holder writes which thread ended a wait.
func (w *Writer) Holder(tid uint32, number uint64, x *tracelog.Holder) {
	b := u64(u32(u64(nil, number, x.Ended), x.SP, uint32(x.Reason)), x.At, x.Waited)
	b = u64(u16(u32(b, x.TID), len(x.Addrs), 0), x.Object)
	w.record(wire.KindRecords, wire.TypeHolder, tid, u64(b, x.Addrs...))
}

// Wait writes what a call waited for.
func (w *Writer) Wait(tid uint32, number uint64, x *tracelog.Wait) {
	b := u64(u32(u64(nil, number, x.Ended), x.SP, uint32(x.On)), x.Longest)
	b = u16(b, len(x.Reasons), len(x.Addrs), len(x.Peer), 0)
	for _, r := range x.Reasons {
		b = u64(u32(b, uint32(r.Reason), r.Count), r.Time)
	}
	b = append(u64(b, x.Addrs...), x.Peer...)
	w.record(wire.KindRecords, wire.TypeWait, tid, b)
}

// Freeze writes a time in which the process stood still.
func (w *Writer) Freeze(f tracelog.Freeze) {
	w.record(wire.KindRecords, wire.TypeFreeze, 0, u64(nil, f.From, f.To, f.Waited, f.CPU))
}

// Text writes a text of the program. Episode number 0 means the next episode of
// the thread.
func (w *Writer) Text(tid uint32, number uint64, t *tracelog.Text) {
	b := u16(u64(nil, number, t.Time), int(t.Kind), len(t.Text))
	b = u64(u32(b, t.SP), t.PC)
	w.record(wire.KindRecords, wire.TypeText, tid, append(b, t.Text...))
}

// Thread writes the name of a thread, and who started it.
func (w *Writer) Thread(t tracelog.Thread) {
	b := append(u32(u16(u64(nil, 0), len(t.Name), len(t.Starters)), 0), t.Name...)
	if len(t.Starters) > 0 {
		b = u64(append(b, make([]byte, -len(b)&7)...), t.Starters...)
	}
	w.record(wire.KindRecords, wire.TypeThread, t.TID, b)
}

// Stall writes a stall.
func (w *Writer) Stall(s tracelog.Stall) {
	w.record(wire.KindRecords, wire.TypeStall, 0, u64(nil, s.From, s.To, s.Waited))
}

// Trailer writes the sums.
func (w *Writer) Trailer(t *tracelog.Trailer) {
	var flags uint32
	if t.Final {
		flags |= wire.TrailerFinal
	}
	if t.Off {
		flags |= wire.TrailerOff
	}
	tick := uint32(wire.TickThread)
	if t.Signal {
		tick = wire.TickSignal
	}
	b := u64(nil, t.Time, t.Ticks, t.Blind, t.Late, t.WorstGap, t.Borderline, t.Slow, t.Dropped, t.Limited, t.Threshold, t.Period, t.Low)
	if t.Exact {
		tick = wire.TickExact
	}
	b = u64(u32(b, tick, t.Threads), t.Idle, t.TickerCPU, t.Episodes, t.Ring/wire.ChunkCalls|uint64(t.NoWindow)<<32)
	b = u64(u32(b, t.Window, t.Signalled, t.Blocked, t.RateError), t.TSCHz, t.Backwards)
	w.record(wire.KindRecords, wire.TypeTrailer, flags, b)
}

// Seen writes how often a stack was seen.
func (w *Writer) Seen(s *tracelog.Seen) {
	w.record(wire.KindSeen, wire.TypeSeen, 0, u64(nil, s.PC, s.Hash, s.Count, s.Worst, s.Sum, s.Last, s.Episode))
}

// Raw writes a record of any type.
func (w *Writer) Raw(t uint16, a uint32, payload []byte) { w.record(wire.KindRecords, t, a, payload) }

// Queue writes a chunk whose first queue has the records that write adds: before is the
// number of bytes that the thread had added earlier and that were taken out.
func (w *Writer) Queue(before uint64, write func(q *Writer)) {
	q := New(w.head)
	write(q)
	records := q.data[wire.ChunkSize+wire.ChunkHeaderSize:]
	w.Close()
	w.begin(wire.KindQueue)
	ring := make([]byte, wire.QueueRoom)
	at := before
	for len(records) > 0 {
		size := uint64(le.Uint16(records[2:]))
		if rest := wire.QueueRoom - at%wire.QueueRoom; rest < size {
			le.PutUint16(ring[at%wire.QueueRoom:], wire.QueueSkip)
			at += rest
		}
		copy(ring[at%wire.QueueRoom:], records[:size])
		at += size
		records = records[size:]
	}
	w.data = append(u64(w.data, at, before), ring...)
	w.data = append(w.data, make([]byte, wire.ChunkSize-len(w.chunk()))...)
}

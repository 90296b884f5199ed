// Package perfdatatest writes files as perf record does, for tests: `perf script`
// reads them. It can make files that machines without branch records cannot record.
package perfdatatest

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/sample"
)

// Bits of sample_type, for SampleType of Event.
const (
	IP          = 1 << 0
	TID         = 1 << 1
	Time        = 1 << 2
	Addr        = 1 << 3
	Read        = 1 << 4
	Callchain   = 1 << 5
	ID          = 1 << 6
	CPU         = 1 << 7
	Period      = 1 << 8
	StreamID    = 1 << 9
	Raw         = 1 << 10
	BranchStack = 1 << 11
	RegsUser    = 1 << 12
	StackUser   = 1 << 13
	Identifier  = 1 << 16
)

// HWIndex is the bit of BranchType that puts a number before the branches.
const HWIndex = 1 << 17

// Counters is the bit of BranchType that puts a number after the branches for each of them.
const Counters = 1 << 19

// Event is an event that is counted.
type Event struct {
	Kind, Config uint64
	SampleType   uint64
	ReadFormat   uint64
	BranchType   uint64
	Regs         uint64 // mask of the registers of RegsUser
	Flags        uint64 // of the event, beside those of mappings and ids
	ID           uint64
	Name         string
}

// Sample is a sample as the kernel writes it.
type Sample struct {
	Event      int
	IP         uint64
	PID, TID   uint32
	Time       uint64
	Period     uint64
	Callchain  []uint64 // with the marks of contexts
	Branches   []sample.Branch
	Mispredict uint64   // bit i is for Branches[i]
	Flags      []uint64 // more flags of each branch: cycles, type, speculation
	Raw        []byte   // 4 bytes more than a multiple of 8
	ABI        uint64   // of User: 0 of a thread of the kernel, 1 for 32 bits, 2 for 64
	User       sample.UserState
	Room       int // bytes that the kernel reserved for the copy of the stack, a multiple of 8
}

// Writer makes a file. Its fields are set before the first record.
type Writer struct {
	Big      bool // byte order
	Pipe     bool
	Compress bool // the records of the kernel
	Events   []Event
	Command  []string
	BuildIDs map[string][20]byte
	Features map[int][]byte // of other tools

	cpu    uint64   // of records
	pieces []uint64 // where those of traces are in the data
	data   []byte
	packed []byte // records that will be compressed
	zip    *zstd.Encoder
	zipped chunk
}

type chunk struct{ b []byte }

func (c *chunk) Write(b []byte) (int, error) { c.b = append(c.b, b...); return len(b), nil }

func (w *Writer) order() binary.AppendByteOrder {
	if w.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (w *Writer) u32(b []byte, v uint32) []byte { return w.order().AppendUint32(b, v) }
func (w *Writer) u64(b []byte, v ...uint64) []byte {
	for _, v := range v {
		b = w.order().AppendUint64(b, v)
	}
	return b
}

// Record adds a record as it is.
func (w *Writer) Record(kind uint32, misc uint16, body []byte) {
	const header, own = 8, 64
	r := w.u32(nil, kind)
	r = w.order().AppendUint16(r, misc)
	r = w.order().AppendUint16(r, uint16(header+len(body)))
	r = append(r, body...)
	if w.Compress && kind < own {
		w.packed = append(w.packed, r...)
		return
	}
	w.data = append(w.data, r...)
}

// Pack writes what was recorded since the last call in one compressed record.
func (w *Writer) Pack() error {
	if w.zip == nil {
		z, err := zstd.NewWriter(&w.zipped, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		w.zip = z
	}
	if _, err := w.zip.Write(w.packed); err != nil {
		return err
	}
	if err := w.zip.Flush(); err != nil {
		return err
	}
	w.packed = nil
	const compressed = 81
	body := w.zipped.b
	w.zipped.b = nil
	w.Record(compressed, 0, body)
	return nil
}

// Round ends a round over the buffers of all processors.
func (w *Writer) Round() { w.Record(68, 0, nil) }

// text adds a string with NULs to a multiple of 8.
func text(b []byte, s string) []byte {
	b = append(b, s...)
	for n := 8 - len(s)%8; n > 0; n-- {
		b = append(b, 0)
	}
	return b
}

// id adds the trailer of a record that is not a sample: its thread, time and event.
func (w *Writer) id(b []byte, pid, tid uint32, time uint64) []byte {
	t := w.Events[0].SampleType
	if t&TID != 0 {
		b = w.u32(w.u32(b, pid), tid)
	}
	if t&Time != 0 {
		b = w.u64(b, time)
	}
	for _, bit := range []uint64{ID, StreamID, CPU, Identifier} {
		if t&bit != 0 {
			v := w.Events[0].ID
			if bit == CPU {
				v = w.cpu
			}
			b = w.u64(b, v)
		}
	}
	return b
}

// Map adds an MMAP2 record.
func (w *Writer) Map(pid uint32, time uint64, m sample.Mapping) {
	b := w.u32(w.u32(nil, pid), pid)
	b = w.u64(b, m.Start, m.Size, m.Offset)
	misc := uint16(2) // of a program
	if m.BuildID != "" {
		misc |= 1 << 14
		b = append(b, 20, 0, 0, 0)
		b = append(b, m.BuildID...)
	} else {
		b = w.u64(w.u32(w.u32(b, 0xfe), 1), 543, 0)
	}
	prot := uint32(1)
	if m.Exec {
		prot |= 4
	}
	b = w.u32(w.u32(b, prot), 2)
	w.Record(10, misc, w.id(text(b, m.Path), pid, pid, time))
}

// Comm adds a COMM record.
func (w *Writer) Comm(pid uint32, time uint64, name string, exec bool) {
	misc := uint16(0)
	if exec {
		misc = 1 << 13
	}
	w.Record(3, misc, w.id(text(w.u32(w.u32(nil, pid), pid), name), pid, pid, time))
}

// Fork adds a FORK record.
func (w *Writer) Fork(pid, parent uint32, time uint64) {
	b := w.u32(w.u32(w.u32(w.u32(nil, pid), parent), pid), parent)
	w.Record(7, 0, w.id(w.u64(b, time), parent, parent, time))
}

// Sample adds a SAMPLE record.
func (w *Writer) Sample(s Sample) {
	e := &w.Events[s.Event]
	t := e.SampleType
	var b []byte
	word := func(bit, v uint64) {
		if t&bit != 0 {
			b = w.u64(b, v)
		}
	}
	word(Identifier, e.ID)
	word(IP, s.IP)
	if t&TID != 0 {
		b = w.u32(w.u32(b, s.PID), s.TID)
	}
	word(Time, s.Time)
	word(Addr, 0)
	word(ID, e.ID)
	word(StreamID, e.ID)
	word(CPU, 0)
	word(Period, s.Period)
	if t&Read != 0 {
		const group, id, enabled = 8, 4, 1
		n := s.Time // counters go up, or perf leaves the sample out
		switch e.ReadFormat {
		case 0:
			b = w.u64(b, n)
		case id | enabled:
			b = w.u64(b, n, 100, e.ID)
		case group | id:
			b = w.u64(b, 2, n, e.ID, n, e.ID+1)
		}
	}
	if t&Callchain != 0 {
		b = w.u64(w.u64(b, uint64(len(s.Callchain))), s.Callchain...)
	}
	if t&Raw != 0 {
		b = append(w.u32(b, uint32(len(s.Raw))), s.Raw...)
	}
	if t&BranchStack != 0 {
		b = w.branches(b, e, &s)
	}
	if t&RegsUser != 0 {
		if b = w.u64(b, s.ABI); s.ABI != 0 {
			b = w.u64(b, s.User.Regs...)
		}
	}
	if t&StackUser != 0 {
		if b = w.u64(b, uint64(s.Room)); s.Room > 0 {
			b = append(append(b, s.User.Stack...), make([]byte, s.Room-len(s.User.Stack))...)
			b = w.u64(b, uint64(len(s.User.Stack)))
		}
	}
	w.Record(9, 2, b)
}

// fromTheTop returns the flags of a branch as machines of the other byte order have them: compilers allot bit fields from
// the highest bit there.
func fromTheTop(flags uint64) (out uint64) {
	at := 0
	for _, size := range []int{1, 1, 1, 1, 16, 4, 2, 4, 3, 31} { // of struct perf_branch_entry
		field := flags >> at & (1<<size - 1)
		at += size
		out |= field << (64 - at)
	}
	return out
}

func (w *Writer) branches(b []byte, e *Event, s *Sample) []byte {
	b = w.u64(b, uint64(len(s.Branches)))
	if e.BranchType&HWIndex != 0 {
		b = w.u64(b, 3)
	}
	for i, br := range s.Branches {
		flags := uint64(1 << 1) // predicted
		if s.Mispredict>>i&1 != 0 {
			flags = 1
		}
		if i < len(s.Flags) {
			flags |= s.Flags[i]
		}
		if w.Big {
			flags = fromTheTop(flags)
		}
		b = w.u64(b, br.From, br.To, flags)
	}
	if e.BranchType&Counters != 0 {
		for range s.Branches {
			b = w.u64(b, 0x0101) // an event of each of two counters
		}
	}
	return b
}

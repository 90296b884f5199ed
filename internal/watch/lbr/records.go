package lbr

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/sample"
)

// Record is a record of the runtime. One field is set.
type Record struct {
	PID    int32   // of the process of Maps
	Maps   []byte  // its /proc/self/maps, before its first sample and when a module was loaded
	Sample *Sample // only until the next record
	End    *Totals // a process ended in order
	Plain  string  // why a process or a library runs without a copy
	Lost   uint64  // an address in code without a copy, after which its module ran without one
}

// Sample is a sample with the true stack of calls.
type Sample struct {
	PID, TID int32
	IP       uint64          // the instruction that was sampled
	Stack    []uint64        // IP, then return addresses outwards, by frame pointers
	Branches []sample.Branch // the latest ones, oldest first
	Calls    []OpenCall      // outermost first; empty if they were not asked for
	Cut      uint32          // inner calls that were not kept
}

// OpenCall is a call that has not returned. A tail call took the place of the call
// before it.
type OpenCall struct {
	Kind     Kind // Call, IndirectCall, TailCall, or FromOutside, whose From is 0
	From, To uint64
}

// Totals are the counts of a process.
type Totals struct {
	Branches, Samples, Threads uint64
	Faults                     uint64 // that continued in copies
	Instructions               uint64
}

// The types of records, and the size of the largest: c/lbr.h.
const (
	recordMaps   = 1
	recordSample = 2
	recordEnd    = 3
	recordLost   = 4
	recordPlain  = 5
	maxRecord    = 1 << 20
)

// MaxDepth is the largest number of branches in a sample.
const MaxDepth = 64

// MaxStack is the maximum number of frames in a sample, as that of perf, and MaxCalls that of samples
// whose stacks are the open calls.
const (
	MaxStack = 127
	MaxCalls = 1023
)

// Records reads the runtime's output. A truncated record, as after a crash of the machine,
// is an error, and the last value that is yielded.
func Records(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		in := bufio.NewReaderSize(r, 1<<20)
		var s Sample
		buf := make([]byte, 0, 1<<16)
		for offset := int64(0); ; {
			var head [8]byte
			if _, err := io.ReadFull(in, head[:]); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Record{}, fmt.Errorf("offset %d: %w", offset, err))
				}
				return
			}
			size := binary.LittleEndian.Uint32(head[:])
			if size < 8 || size > maxRecord {
				yield(Record{}, fmt.Errorf("offset %d: invalid size of a record: %d bytes", offset, size))
				return
			}
			buf = append(buf[:0], make([]byte, size-8)...)
			if _, err := io.ReadFull(in, buf); err != nil {
				yield(Record{}, fmt.Errorf("offset %d: the last record is truncated", offset))
				return
			}
			rec, err := decode(binary.LittleEndian.Uint32(head[4:]), bytecur.New(buf, offset+8), &s)
			if !yield(rec, err) || err != nil {
				return
			}
			offset += int64(size)
		}
	}
}

func decode(kind uint32, c *bytecur.Cursor, s *Sample) (Record, error) {
	var rec Record
	switch kind {
	case recordMaps:
		rec.PID = int32(c.U32())
		c.U32()
		rec.Maps = c.Bytes(uint64(c.Len()))
	case recordSample:
		s.decode(c)
		rec.Sample = s
	case recordEnd:
		rec.End = &Totals{c.U64(), c.U64(), c.U64(), c.U64(), c.U64()}
	case recordLost:
		rec.Lost = c.U64()
	case recordPlain:
		rec.Plain = string(c.Bytes(uint64(c.Len())))
	default:
		c.Failf("unknown record type %d", kind)
	}
	return rec, c.Err()
}

// decode reads struct sample of c/lbr.h and the arrays after it.
func (s *Sample) decode(c *bytecur.Cursor) {
	s.PID, s.TID = int32(c.U32()), int32(c.U32())
	s.IP = c.U64()
	counts := [3]int{}
	for i, size := range []int{8, 16, 24} {
		off := c.Off()
		counts[i] = c.CheckCount(off, uint64(c.U32()), "entries", maxRecord, size)
	}
	s.Cut = c.U32()
	s.Stack, s.Branches, s.Calls = s.Stack[:0], s.Branches[:0], s.Calls[:0]
	for range counts[0] {
		s.Stack = append(s.Stack, c.U64())
	}
	for range counts[1] {
		s.Branches = append(s.Branches, sample.Branch{From: c.U64(), To: c.U64()})
	}
	for range counts[2] {
		s.Calls = append(s.Calls, OpenCall{Kind(c.U64()), c.U64(), c.U64()})
	}
}

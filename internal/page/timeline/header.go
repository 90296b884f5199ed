package timeline

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Lane is a thread.
type Lane struct {
	Name   string `json:"name"`
	Log    int    `json:"log"` // index of its log
	PID    uint32 `json:"pid,omitempty"`
	TID    uint32 `json:"tid"`
	Stack  uint32 `json:"stack,omitempty"` // which of the thread's stacks
	Calls  uint64 `json:"calls"`
	Events uint64 `json:"events,omitempty"`
	Deeper uint64 `json:"deeper,omitempty"` // calls that are deeper than is drawn
	Depth  int    `json:"depth"`            // that is drawn
	Busy   uint64 `json:"busy"`             // time of the outermost calls
	First  uint64 `json:"first"`            // times of its first and last event
	Last   uint64 `json:"last"`
	// Step is the step of the clock in ns, see calllog.Clock: calls begin and end less than a step after the times
	// of their records.
	Step uint64 `json:"step,omitempty"`
}

// header is the directory of an index without its chunks.
type header struct {
	unit   string
	end    uint64
	notes  []string
	names  []string // of functions
	shades []uint8
	lanes  []Lane
}

func (h *header) append(b []byte) []byte {
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	numbers := func(list ...uint64) {
		for _, v := range list {
			b = binary.AppendUvarint(b, v)
		}
	}
	text(h.unit)
	numbers(h.end, uint64(len(h.notes)))
	for _, s := range h.notes {
		text(s)
	}
	numbers(uint64(len(h.names)))
	for i, s := range h.names {
		text(s)
		b = append(b, h.shades[i])
	}
	numbers(uint64(len(h.lanes)))
	for i := range h.lanes {
		l := &h.lanes[i]
		text(l.Name)
		numbers(uint64(l.Log), uint64(l.PID), uint64(l.TID), uint64(l.Stack), l.Calls, l.Events, l.Deeper, uint64(l.Depth), l.Busy, l.First, l.Last, l.Step)
	}
	return b
}

// Limits of a directory.
const (
	maxText  = 1 << 20
	maxItems = 1 << 26
)

func readHeader(c *bytecur.Cursor) *header {
	h := &header{unit: string(c.String("a unit", maxText)), end: c.Uvarint()}
	for range c.Count("notes", maxItems, 1) {
		h.notes = append(h.notes, string(c.String("a note", maxText)))
	}
	for range c.Count("functions", maxItems, 2) {
		h.names = append(h.names, string(c.String("a name", maxText)))
		h.shades = append(h.shades, c.U8())
	}
	for range c.Count("lanes", maxItems, 13) {
		l := Lane{Name: string(c.String("a name", maxText)), Log: int(uint32(c.Uvarint())), PID: uint32(c.Uvarint()), TID: uint32(c.Uvarint()), Stack: uint32(c.Uvarint())}
		l.Calls, l.Events, l.Deeper = c.Uvarint(), c.Uvarint(), c.Uvarint()
		l.Depth = int(min(c.Uvarint(), maxTrackDepth))
		l.Busy, l.First, l.Last, l.Step = c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
		h.lanes = append(h.lanes, l)
	}
	return h
}

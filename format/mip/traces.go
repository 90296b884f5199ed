package mip

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// minTrace is the minimum size of a trace: a length, a weight, a key, a byte and another length.
const minTrace = 12

// appendTraces writes the traces of m. A function is written as the difference from the one after the previous
// function: functions that are adjacent in the binary often run one after the other.
func appendTraces(b []byte, m *prof.Module) []byte {
	b = binary.AppendUvarint(b, m.TracesSeen)
	b = binary.AppendUvarint(b, uint64(len(m.Traces)))
	for i := range m.Traces {
		t := &m.Traces[i]
		b = appendString(b, t.Scenario)
		b = binary.AppendUvarint(b, t.Weight)
		b = binary.LittleEndian.AppendUint64(b, t.Key)
		cut := byte(0)
		if t.Cut {
			cut = 1
		}
		b = append(b, cut)
		b = binary.AppendUvarint(b, uint64(len(t.Funcs)))
		next := uint64(0)
		for _, fn := range t.Funcs {
			b = appendDelta(b, uint64(fn), next)
			next = uint64(fn) + 1
		}
	}
	return b
}

// readTraces reads what appendTraces wrote.
func readTraces(c *bytecur.Cursor, m *prof.Module) {
	m.TracesSeen = c.Uvarint()
	n := c.Count("traces", MaxTraces, minTrace)
	for range n {
		off := c.Off()
		t := prof.Trace{Scenario: string(c.String("scenario", MaxName)), Weight: c.Uvarint(), Key: c.U64()}
		switch c.U8() {
		case 0:
		case 1:
			t.Cut = true
		default:
			c.FailAt(off, "a trace that is neither whole nor cut")
		}
		next := uint64(0)
		for range c.Count("functions of a trace", MaxFuncs, 1) {
			fn := readDelta(c, next)
			if fn >= uint64(len(m.Funcs)) {
				c.FailAt(off, "a trace has function %d of %d", fn, len(m.Funcs))
				return
			}
			t.Funcs = append(t.Funcs, uint32(fn))
			next = fn + 1
		}
		if c.Err() != nil {
			return
		}
		m.Traces = append(m.Traces, t)
	}
	if c.Err() == nil {
		if err := checkTraces(m); err != nil {
			c.Failf("%v", err)
		}
	}
}

// checkTraces reports the first rule that the traces of m break.
func checkTraces(m *prof.Module) error {
	if len(m.Traces) > MaxTraces {
		return fmt.Errorf("%d traces, at most %d are allowed", len(m.Traces), MaxTraces)
	}
	if m.TracesSeen < uint64(len(m.Traces)) {
		return fmt.Errorf("%d traces of %d runs", len(m.Traces), m.TracesSeen)
	}
	last := make([]int, len(m.Funcs)) // by function: the last trace that has it, from 1
	for i := range m.Traces {
		t := &m.Traces[i]
		if err := checkName("scenario", t.Scenario); err != nil {
			return err
		}
		switch {
		case t.Weight == 0:
			return fmt.Errorf("trace %d of scenario %q has no weight", i, t.Scenario)
		case i > 0 && CompareTraces(&m.Traces[i-1], t) > 0:
			return fmt.Errorf("trace %d of scenario %q: out of order", i, t.Scenario)
		}
		for _, fn := range t.Funcs {
			if int64(fn) >= int64(len(m.Funcs)) {
				return fmt.Errorf("trace %d has function %d of %d", i, fn, len(m.Funcs))
			}
			if last[fn] == i+1 {
				return fmt.Errorf("trace %d has function %q twice", i, m.Funcs[fn].Name)
			}
			last[fn] = i + 1
		}
	}
	return nil
}

// CompareTraces is the order of traces in a module.
func CompareTraces(a, b *prof.Trace) int {
	return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Key, b.Key))
}

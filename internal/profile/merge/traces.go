package merge

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Run is the result of one run of a module.
type Run struct {
	ID uint64 // identifies it, see RunID; 0 if it is unknown
	// Single reports that the process had one thread, or that Data was not counted by threads
	// at all: its counts are exact.
	Single bool
	// Changed reports that Data are not those that the process had at its end: either it continued to run, or they
	// are damaged. Each function that ran counts one call, at least.
	Changed bool
	Data    []byte // image of the raw section, which may be shorter if the rest is zero
	// Slots are the records of first executions, oldest first, of functions
	// whose mode has slots. Next is the number of all first executions: if it
	// is higher than the number of slots, the first are missing.
	Slots []uint32
	Next  uint64
	// Funcs is the order of first executions if it does not come from Data and Slots, as
	// indexes into the map's functions.
	Funcs []uint32

	// MaxCalls limits the weight of the run, so that a false run does not outweigh others. If
	// it has more calls, all its call counts are scaled down to this sum, and are inexact;
	// positions of first executions are at most the number of functions. 0 is no limit.
	MaxCalls uint64

	// Properties of the run's trace, see prof.Trace.
	Scenario string
	Weight   uint64
	Key      uint64
}

// A SlotError reports a slot of a run with a record that no function has.
type SlotError struct {
	Slot   int
	Record uint32
}

func (e *SlotError) Error() string {
	return fmt.Sprintf("slot %d of the first executions names a record at %#x of the raw section, where no function has one", e.Slot, e.Record)
}

// AddRun adds a run. A damaged one changes nothing. Its trace is kept if it has one of the
// lowest keys, up to the accumulator's limit: such a sample of the runs is uniform,
// independently of the order of adding.
func (a *Accumulator) AddRun(r *Run) error {
	slots := make([]uint32, len(r.Slots)) // the functions
	for i, record := range r.Slots {
		fn, ok := a.l.slot(record)
		if !ok {
			return &SlotError{i, record}
		}
		slots[i] = fn
	}
	if err := a.addImage(r); err != nil {
		return err
	}
	if r.ID != 0 {
		a.ids = append(a.ids, r.ID)
	}
	a.addSlots(r, slots)
	if len(r.Funcs) == 0 && len(a.l.slots) == 0 && len(a.l.counters) == 0 || len(r.Slots) == 0 && isZero(r.Data) {
		return nil // a mode without order, or nothing ran
	}
	if !a.traces.wants(r.Key) {
		a.traces.seen++
		return nil
	}
	funcs := r.Funcs
	if len(funcs) == 0 {
		funcs = a.l.trace(r, slots)
	}
	if len(funcs) > 0 {
		a.traces.add(prof.Trace{
			Scenario: r.Scenario, Weight: max(r.Weight, 1), Key: r.Key, Funcs: funcs,
			Cut: r.Next > uint64(len(r.Slots)),
		})
	}
	return nil
}

// addSlots adds the indexes of first executions, of the functions in slots, to
// their sums.
func (a *Accumulator) addSlots(r *Run, slots []uint32) {
	if len(slots) > 0 && a.orders == nil {
		a.orders = make([]uint64, len(a.l.m.Funcs))
		a.seen = make([]uint64, len(a.l.m.Funcs))
	}
	start := r.start()
	for i, fn := range slots {
		if a.seen[fn] == a.raws {
			continue // a second slot of the run, which no whole file has
		}
		a.seen[fn] = a.raws
		a.orders[fn] += a.l.position(start+uint64(i), r.MaxCalls > 0)
	}
}

// start returns the index of the run's first slot, from 1.
func (r *Run) start() uint64 { return max(r.Next, uint64(len(r.Slots))) - uint64(len(r.Slots)) + 1 }

// slotRecord is a record whose function's first execution goes to a slot.
type slotRecord struct {
	record uint32
	fn     uint32
}

// addSlotRecords lists the functions with slots.
func (l *Layout) addSlotRecords() {
	for i := range l.m.Funcs {
		if f := &l.m.Funcs[i]; f.Mode.HasSlots() {
			l.slots = append(l.slots, slotRecord{uint32(f.Record), uint32(i)})
		}
	}
	stablesort.Func(l.slots, func(a, b slotRecord) int { return cmp.Or(cmp.Compare(a.record, b.record), cmp.Compare(a.fn, b.fn)) })
}

// slot returns the function whose record is at an offset of the raw section.
func (l *Layout) slot(record uint32) (fn uint32, ok bool) {
	i, ok := slices.BinarySearchFunc(l.slots, record, func(s slotRecord, record uint32) int { return cmp.Compare(s.record, record) })
	if !ok {
		return 0, false
	}
	return l.slots[i].fn, true
}

// trace returns the functions of a run in the order of their first execution. Both records and
// slots may contain it, if parts of a module differ in mode: each counts separately, and
// functions with the same number in both are adjacent. slots are the functions of r.Slots.
func (l *Layout) trace(r *Run, slots []uint32) []uint32 {
	var ran []uint32     // functions as they are found
	var indexes []uint64 // the index of each, and in the low half its place in ran
	const inCall = 1<<32 - 1
	add := func(index uint64, fn uint32) {
		indexes = append(indexes, min(index, inCall)<<32|uint64(len(ran)))
		ran = append(ran, fn)
	}
	for i := range l.counters {
		c := &l.counters[i]
		if c.off >= len(r.Data) {
			break
		}
		var record [wire.CountSize]byte
		if copy(record[:], r.Data[c.off:]); binary.LittleEndian.Uint64(record[:]) == 0 {
			continue
		}
		index := uint64(binary.LittleEndian.Uint32(record[wire.OrderOffset:]) &^ wire.OrderInexact)
		if index == 0 {
			index = inCall // during its first call: the last
		}
		add(index, uint32(c.fn))
	}
	for i, fn := range slots {
		add(r.start()+uint64(i), fn)
	}
	sortIndexes(indexes)
	funcs := make([]uint32, 0, len(ran))
	for _, v := range indexes {
		funcs = append(funcs, ran[uint32(v)])
	}
	if len(slots) == 0 {
		return funcs // a function has one record
	}
	seen := make(map[uint32]bool, len(funcs))
	return slices.DeleteFunc(funcs, func(fn uint32) bool {
		twice := seen[fn]
		seen[fn] = true
		return twice
	})
}

// sortIndexes sorts numbers whose high halves are, in complete files, 1 to their number, so
// that each contains its position.
func sortIndexes(indexes []uint64) {
	sorted := make([]uint64, len(indexes))
	for _, v := range indexes {
		at := v>>32 - 1
		if at >= uint64(len(sorted)) || sorted[at] != 0 {
			slices.Sort(indexes)
			return
		}
		sorted[at] = v
	}
	copy(indexes, sorted)
}

// sample is a uniform sample of traces: those with the lowest keys. Such samples can be
// merged, and the result is the sample of all.
type sample struct {
	limit  int
	seen   uint64
	traces []prof.Trace // ascending by key
}

// wants reports whether a trace with this key would be in the sample.
func (s *sample) wants(key uint64) bool {
	return len(s.traces) < s.limit || s.limit > 0 && key <= s.traces[len(s.traces)-1].Key
}

func (s *sample) add(t prof.Trace) {
	s.seen++
	at, _ := slices.BinarySearchFunc(s.traces, &t, func(a prof.Trace, b *prof.Trace) int { return compareKeys(&a, b) })
	s.traces = slices.Insert(s.traces, at, t)
	s.traces = s.traces[:min(len(s.traces), s.limit)]
}

func (s *sample) merge(o *sample) {
	seen := saturate.Add(s.seen, o.seen)
	for i := range o.traces {
		s.add(o.traces[i])
	}
	s.seen = seen
}

// byScenario returns the sample in the order of a profile.
func (s *sample) byScenario() []prof.Trace {
	traces := slices.Clone(s.traces)
	stablesort.Func(traces, func(a, b prof.Trace) int { return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), compareKeys(&a, &b)) })
	return traces
}

// compareKeys orders by key; the other fields decide between equal keys, so that a sample
// depends on nothing else.
func compareKeys(a, b *prof.Trace) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Weight, b.Weight), slices.Compare(a.Funcs, b.Funcs))
}

// Sample keeps the traces of m with the lowest keys, at most n.
func Sample(m *prof.Module, n int) {
	s := sample{limit: n, traces: slices.Clone(m.Traces)}
	stablesort.Func(s.traces, func(a, b prof.Trace) int { return compareKeys(&a, &b) })
	s.traces = s.traces[:min(n, len(s.traces))]
	m.Traces = s.byScenario()
}

// joinTraces adds the traces of b to a.
func joinTraces(a, b *prof.Module) {
	a.TracesSeen = saturate.Add(a.TracesSeen, b.TracesSeen)
	s := sample{traces: slices.Concat(a.Traces, b.Traces)}
	a.Traces = s.byScenario()
}

package merge

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/prof"
)

const (
	flagMask   = 0x0101010101010101 // mask of the valid values of eight flags
	maxPending = 255                // images that a byte of a lane can count
)

// FlagError reports a flag in an image with a value that no probe writes: the image is of
// another module, or damaged.
type FlagError struct {
	Off   int // in the raw section
	Value byte
	Func  string // whose flag it is
	Odd   byte   // another valid value besides 0 and 1, or 0
}

func (e *FlagError) Error() string {
	return fmt.Sprintf("at offset %#x of the raw section: flag of %s is %#x, not %s", e.Off, e.Func, e.Value, e.Valid())
}

// Valid lists the valid values.
func (e *FlagError) Valid() string {
	if e.Odd > 1 {
		return fmt.Sprintf("0, 1 or %#x", e.Odd)
	}
	return "0 or 1"
}

// tally is the sum of the counters of one function.
type tally struct {
	calls, orders, runs uint64
	// Most functions have one first caller in all runs; others go to the map.
	caller     int32
	callerRuns uint64
	inexact    bool
	edges      *edgeTally // nil before a run
}

// callerKey is a first caller of the function of counter i.
type callerKey struct {
	i            int
	displacement int32
}

// Accumulator sums images of one module. It is not safe for concurrent use; each worker has
// its own, and Merge joins them.
type Accumulator struct {
	l       *Layout
	raws    uint64
	lanes   []uint64 // by lane: eight sums of up to maxPending images
	pending int      // images in lanes
	sums    []uint64 // by lane and byte
	tallies []tally  // by counter
	callers map[callerKey]uint64
	unions  []uint64 // by union
	orders  []uint64 // by function: sum of the indexes of its slots; nil before the first
	seen    []uint64 // by function: the last image with a slot of it
	traces  sample
	ids     []uint64 // of runs

	solver edges.Solver
	words  []uint64 // counters of a record, reused
}

// NewAccumulator returns an empty sum, which keeps this many traces of runs.
func NewAccumulator(l *Layout, traces int) *Accumulator {
	return &Accumulator{
		l:       l,
		lanes:   make([]uint64, l.lanes),
		sums:    make([]uint64, l.lanes*8),
		tallies: make([]tally, len(l.counters)),
		callers: make(map[callerKey]uint64),
		unions:  make([]uint64, len(l.unions)),
		traces:  sample{limit: traces},
	}
}

// Raws returns the number of images added.
func (a *Accumulator) Raws() uint64 { return a.raws }

// Add adds an image of the raw section of a process that had one thread. The image may be
// shorter than the section if the rest is zero. A damaged image changes nothing.
func (a *Accumulator) Add(data []byte) error { return a.addImage(&Run{Data: data, Single: true}) }

// addImage adds the image of a run.
func (a *Accumulator) addImage(r *Run) error {
	data := r.Data
	if uint64(len(data)) > a.l.m.RawSize {
		return fmt.Errorf("image of %d bytes, but the raw section has %d", len(data), a.l.m.RawSize)
	}
	if !a.l.flagsValid(data) {
		return a.l.flagError(data)
	}
	a.raws++
	a.addFlags(data)
	if a.pending++; a.pending == maxPending {
		a.flush()
	}
	im := counted{data: data, racing: !r.Single, changed: r.Changed, orders: r.Funcs != nil, maxCalls: r.MaxCalls}
	if im.maxCalls > 0 {
		im.calls = a.l.callsIn(data)
	}
	a.addCounters(&im)
	a.addUnions(data)
	return nil
}

// tailOf returns the number of whole chunks of data and the rest as a chunk.
func tailOf(data []byte) (whole int, tail uint64) {
	var b [8]byte
	whole = len(data) / 8
	copy(b[:], data[whole*8:])
	return whole, binary.LittleEndian.Uint64(b[:])
}

// flagsValid reports whether all flags have values that probes write.
func (l *Layout) flagsValid(data []byte) bool {
	if l.odd != nil {
		return l.oddFlagsValid(data)
	}
	whole, tail := tailOf(data)
	seen := uint64(0)
	for _, r := range l.runs {
		n := min(r.n, whole-r.chunk)
		if n < 0 {
			break
		}
		words := data[r.chunk*8:][:n*8]
		for ; len(words) >= 32; words = words[32:] {
			seen |= binary.LittleEndian.Uint64(words) | binary.LittleEndian.Uint64(words[8:]) |
				binary.LittleEndian.Uint64(words[16:]) | binary.LittleEndian.Uint64(words[24:])
		}
		for ; len(words) >= 8; words = words[8:] {
			seen |= binary.LittleEndian.Uint64(words)
		}
		if n < r.n {
			seen |= tail
		}
	}
	for _, c := range l.scattered {
		if c.chunk < whole {
			seen |= binary.LittleEndian.Uint64(data[c.chunk*8:]) & c.mask
		} else if c.chunk == whole {
			seen |= tail & c.mask
		} else {
			break
		}
	}
	return seen&^flagMask == 0
}

// oddFlagsValid is flagsValid for a module whose flags may have odd values.
func (l *Layout) oddFlagsValid(data []byte) bool {
	whole, tail := tailOf(data)
	bad := uint64(0)
	for _, r := range l.runs {
		n := min(r.n, whole-r.chunk)
		if n < 0 {
			break
		}
		words := data[r.chunk*8:][:n*8]
		for i := range n {
			bad |= l.odd.invalid(r.chunk+i, binary.LittleEndian.Uint64(words[i*8:]))
		}
		if n < r.n {
			bad |= l.odd.invalid(whole, tail)
		}
	}
	for _, c := range l.scattered {
		if c.chunk < whole {
			bad |= l.odd.invalid(c.chunk, binary.LittleEndian.Uint64(data[c.chunk*8:])&c.mask)
		} else if c.chunk == whole {
			bad |= l.odd.invalid(whole, tail&c.mask)
		} else {
			break
		}
	}
	return bad == 0
}

// addFlags adds flags that are valid to the lanes. All values but 0 are odd and count as one.
func (a *Accumulator) addFlags(data []byte) {
	whole, tail := tailOf(data)
	for _, r := range a.l.runs {
		n := min(r.n, whole-r.chunk)
		if n < 0 {
			break
		}
		words := data[r.chunk*8:][:n*8]
		lanes := a.lanes[r.lane:][:n]
		for i := range lanes {
			lanes[i] += binary.LittleEndian.Uint64(words[i*8:]) & flagMask
		}
		if n < r.n {
			a.lanes[r.lane+n] += tail & flagMask
		}
	}
	for _, c := range a.l.scattered {
		if c.chunk < whole {
			a.lanes[c.lane] += binary.LittleEndian.Uint64(data[c.chunk*8:]) & c.mask & flagMask
		} else if c.chunk == whole {
			a.lanes[c.lane] += tail & c.mask & flagMask
		} else {
			break
		}
	}
}

// flagError returns the first bad flag in the order of the map.
func (l *Layout) flagError(data []byte) error {
	for i := range l.m.Funcs {
		start, n := flagsOf(&l.m.Funcs[i])
		for off := start; off < min(start+n, len(data)); off++ {
			if odd := l.oddFlag(off); data[off] > 1 && data[off] != odd {
				return &FlagError{Off: off, Value: data[off], Func: l.m.Funcs[i].Name, Odd: odd}
			}
		}
	}
	return nil
}

// oddFlag returns what the probe of the flag at off may write besides 1, or 0. Loaders move programs by whole
// pages, so the low byte of an address is the same in all runs.
func (l *Layout) oddFlag(off int) byte {
	if l.odd == nil {
		return 0
	}
	return wire.OddFlag(l.m.RawAddr + uint64(off))
}

// flush empties the lanes into the sums.
func (a *Accumulator) flush() {
	a.pending = 0
	for i, w := range a.lanes {
		if w == 0 {
			continue
		}
		a.lanes[i] = 0
		for k := range a.sums[i*8:][:8] {
			a.sums[i*8+k] += w >> (k * 8) & 0xff
		}
	}
}

// counted is an image while its counters are added.
type counted struct {
	data     []byte
	racing   bool   // threads may have lost counts to each other
	changed  bool   // counts may be wrong
	orders   bool   // nothing is known but the order of first executions
	last     uint64 // the highest order in data, once it is needed
	maxCalls uint64 // 0 for any number
	calls    uint64 // in data, if maxCalls is set
}

// scaled returns how many of n calls count if there are more than maxCalls.
func (im *counted) scaled(n uint64) uint64 {
	hi, lo := bits.Mul64(n, im.maxCalls)
	q, rest := bits.Div64(hi, lo, im.calls) // n is at most all calls: it fits
	if rest > 0 {
		q++ // a called function keeps a call
	}
	return q
}

// whole returns the record of the counter at off if all of it is in data.
func whole(data []byte, off int) (record []byte, ok bool) {
	if off+wire.FullHeaderSize > len(data) {
		return nil, false
	}
	return data[off:][:wire.FullHeaderSize], true
}

// cut returns the record of the counter at off, of which the end of data cuts a part.
func cut(data []byte, off int) []byte {
	record := make([]byte, wire.FullHeaderSize)
	copy(record, data[off:])
	return record
}

// callsIn returns the calls in data.
func (l *Layout) callsIn(data []byte) (n uint64) {
	for i := range l.counters {
		off := l.counters[i].off
		record, ok := whole(data, off)
		if !ok {
			if off >= len(data) {
				return n
			}
			record = cut(data, off)
		}
		n += uint64(-binary.LittleEndian.Uint32(record))
	}
	return n
}

// addCounters adds the counters of an image.
func (a *Accumulator) addCounters(im *counted) {
	for i := range a.l.counters {
		off := a.l.counters[i].off
		record, ok := whole(im.data, off)
		if !ok {
			if off >= len(im.data) {
				return
			}
			record = cut(im.data, off)
		}
		switch {
		case binary.LittleEndian.Uint64(record) != 0:
			a.addCounter(i, record, im)
		case a.l.counters[i].plan != nil && !im.changed && !im.orders && a.countedInside(i, im):
			if a.addEdges(i, 0, im) {
				a.tallies[i].inexact = true
			}
		}
	}
}

// addCounter adds the record of counter i of an image in which the function
// ran.
//
// The image may have been taken during a first call. A function whose count is set and whose
// order is not would have become the next one, so it counts as that: omitting it would make
// its mean position too early. One whose order is set and whose count is not was called at
// least once, or exactly 1<<32 times: its count is inexact.
//
// Of an image that may be damaged a count says nothing but that the function ran, if its order says so as well.
func (a *Accumulator) addCounter(i int, record []byte, im *counted) {
	t := &a.tallies[i]
	word := binary.LittleEndian.Uint32(record)
	order := binary.LittleEndian.Uint32(record[wire.OrderOffset:])
	if im.changed && order == 0 {
		return
	}
	t.runs++
	calls := uint64(-word)
	if im.calls > im.maxCalls {
		calls, t.inexact = im.scaled(calls), true
	}
	if im.changed {
		calls, t.inexact = 1, true
	}
	t.calls += calls
	t.inexact = t.inexact || word == 0 || order&wire.OrderInexact != 0 || im.racing && !a.l.counters[i].atomic
	if a.l.counters[i].plan != nil && !im.changed && !im.orders && a.addEdges(i, uint64(-word), im) {
		t.inexact = true
	}
	index := uint64(order &^ wire.OrderInexact)
	if index == 0 {
		if im.last == 0 {
			im.last = a.l.lastOrder(im.data)
		}
		index = im.last + 1
	}
	t.orders += a.l.position(index, im.maxCalls > 0)
	if a.l.counters[i].size != wire.FullHeaderSize {
		return
	}
	// No call returns to the record itself: 0 was not written yet.
	if caller := int32(binary.LittleEndian.Uint32(record[wire.CallerOffset:])); caller != 0 {
		a.addCaller(i, caller, 1)
	}
}

func (a *Accumulator) addCaller(i int, displacement int32, runs uint64) {
	t := &a.tallies[i]
	switch {
	case t.callerRuns == 0:
		t.caller, t.callerRuns = displacement, runs
	case t.caller == displacement:
		t.callerRuns += runs
	default:
		a.callers[callerKey{i, displacement}] += runs
	}
}

// position returns the position of a first execution. If it is bounded, it is at most the
// number of functions, which a run exceeds only by races of its threads.
func (l *Layout) position(index uint64, bounded bool) uint64 {
	if bounded {
		return min(index, uint64(len(l.m.Funcs)))
	}
	return index
}

// lastOrder returns the highest order in data.
func (l *Layout) lastOrder(data []byte) (last uint64) {
	for i := range l.counters {
		off := l.counters[i].off + wire.OrderOffset
		if off >= len(data) {
			break
		}
		var word [4]byte // the end of the data may truncate the zeros of a word
		copy(word[:], data[off:])
		last = max(last, uint64(binary.LittleEndian.Uint32(word[:])&^wire.OrderInexact))
	}
	return last
}

// Merge adds the sums of other, which has the same layout and does not change.
func (a *Accumulator) Merge(other *Accumulator) {
	if a.l != other.l {
		panic("merge: accumulators of different layouts")
	}
	a.flush()
	other.flush()
	a.raws += other.raws
	for i, v := range other.sums {
		a.sums[i] += v
	}
	for i, v := range other.unions {
		a.unions[i] += v
	}
	for i := range other.tallies {
		t, o := &a.tallies[i], &other.tallies[i]
		t.calls += o.calls
		t.orders += o.orders
		t.runs += o.runs
		t.inexact = t.inexact || o.inexact
		if o.callerRuns > 0 {
			a.addCaller(i, o.caller, o.callerRuns)
		}
		if o.edges != nil {
			if t.edges == nil {
				t.edges = newEdgeTally(&a.l.m.Funcs[a.l.counters[i].fn])
			}
			t.edges.merge(o.edges)
		}
	}
	for k, runs := range other.callers {
		a.addCaller(k.i, k.displacement, runs)
	}
	if other.orders != nil && a.orders == nil {
		a.orders, a.seen = make([]uint64, len(other.orders)), make([]uint64, len(other.orders))
	}
	for i, v := range other.orders {
		a.orders[i] += v
	}
	a.traces.merge(&other.traces)
	a.ids = append(a.ids, other.ids...)
}

// Module returns the map with the sums.
func (a *Accumulator) Module() prof.Module {
	return prof.Module{
		Map: *a.l.m, Raws: a.raws, Counts: a.Counts(),
		Traces: a.traces.byScenario(), TracesSeen: a.traces.seen,
		Held: runSet(slices.Clone(a.ids), false),
	}
}

// Counts returns the sums in the order of the map's functions.
func (a *Accumulator) Counts() []prof.Counts {
	a.flush()
	counts := make([]prof.Counts, len(a.l.m.Funcs))
	for i := range a.tallies {
		t, fn := &a.tallies[i], a.l.counters[i].fn
		c := &counts[fn]
		c.Runs, c.Calls, c.OrderSum, c.Inexact = t.runs, t.calls, t.orders, t.inexact
		if t.callerRuns > 0 {
			c.Callers = append(c.Callers, prof.Site{Addr: a.l.site(fn, t.caller), Runs: t.callerRuns})
		}
		if a.l.counters[i].plan != nil {
			sums := newEdgeTally(&a.l.m.Funcs[fn])
			if t.edges != nil {
				sums.merge(t.edges)
			}
			c.Blocks, c.Times = sums.runs, sums.times
		}
	}
	for k, runs := range a.callers {
		fn := a.l.counters[k.i].fn
		counts[fn].Callers = append(counts[fn].Callers, prof.Site{Addr: a.l.site(fn, k.displacement), Runs: runs})
	}
	unions := a.unions
	for i, first := range a.l.flags {
		f, c := &a.l.m.Funcs[i], &counts[i]
		var flags []uint64
		if _, n := flagsOf(f); n > 0 {
			flags = a.sums[first:][:n]
		}
		if !f.Mode.HasCalls() {
			c.Runs = flags[0]
		}
		if f.Mode.Estimated() { // it has no records: raw files say nothing of it
			c.Blocks, c.Times = make([]uint64, f.NumBlocks()-1), make([]uint64, f.NumBlocks()-1)
		}
		if f.Mode.HasBlocks() && !f.Mode.HasEdges() {
			c.Blocks, unions = blockSums(f, flags, c.Runs, unions)
		}
		c.Callers = joinSites(c.Callers)
		if a.orders != nil && f.Mode.HasSlots() {
			c.OrderSum = a.orders[i]
		}
	}
	return counts
}

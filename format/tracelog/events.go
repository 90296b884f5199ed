package tracelog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: memory must hold only the part of a log of all calls that is read, and functions that several
// processes have at different addresses must have one number.
//
// Choice: a thread's parts are its chunks, which are found from their headers alone. A function's number is its
// address in its file, in units of 4 bytes, with the number of the object above it. An object here is 64 MiB of
// a file: what 24 bits can number.

// DetectTrace reports whether a file that begins with head is a log of all
// calls, of mode trace. It needs 56 bytes.
func DetectTrace(head []byte) bool {
	return Detect(head) && len(head) >= wire.ModeOffset+4 && binary.LittleEndian.Uint32(head[wire.ModeOffset:]) == wire.ModeTrace
}

// clockUnit returns the nanoseconds of a tick in a log of all calls. With 20 us, 32 bits
// last for a day, and a thread that makes no call for that long is rare. With 1 us, the
// writer begins another chunk before the 32 bits overflow.
func (h *Header) clockUnit() uint64 {
	if h.Micro {
		return 1000
	}
	return wire.ClockUnit
}

// stale bounds how far, in ticks (89 minutes), the clock may go back: to events that a signal handler recorded
// and that the thread did not overwrite before it was killed.
const stale = 1 << 28

// chunkRef is a chunk of events.
type chunkRef struct {
	offset   int64
	tid      uint32
	sequence uint32
	before   uint32 // sequence of the one before plus 1, 0 if there is none
	first    uint64 // ticks
	live     bool
}

// Trace describes the whole process in a log of all calls.
type Trace struct {
	Time     uint64 // ns of CLOCK_MONOTONIC when this was written
	Ticks    uint64 // of the clock
	Period   uint64 // ns between two of them, at best
	WorstGap uint64 // ns
	Ring     uint64 // bytes that were overwritten in turn, 0: none
	Chunks   uint64 // that were begun
	Over     uint64 // of those, overwritten
	Dropped  uint32 // events lost for lack of room
}

// Events is an open log of all calls. It implements calllog.Log.
type Events struct {
	Header  Header
	Modules []Module
	// About is nil if the record was lost.
	About *Trace

	// Empty is the number of bytes at the end of the file in which nothing was recorded: a ring that did not get full.
	Empty int64

	info    calllog.Info
	threads []calllog.Thread
	chunks  [][]chunkRef // by thread
	named   map[uint32]*Thread
	spans   []span
	reloads bool // modules were unloaded: addresses may have been of several
	r       io.ReaderAt
}

// OpenEvents opens a log of all calls, of size bytes. name is used in messages. objects numbers its modules;
// nil if no other log must agree.
func OpenEvents(r io.ReaderAt, size int64, name string, objects *Objects) (*Events, error) {
	h, err := headerOf(r, size, name)
	if err != nil {
		return nil, err
	}
	if h.Mode != wire.ModeTrace {
		return nil, fmt.Errorf("%s: not a log of all calls, but of mode %d (cairn spikes reads those of mode spike)", name, h.Mode)
	}
	e := &Events{Header: h, r: r}
	e.info = calllog.Info{File: name, Format: "cairn log of all calls", Size: size, Clock: h.eventClock()}
	var all []chunkRef
	end := int64(2 * wire.ChunkSize) // of what was recorded
	for off := int64(wire.ChunkSize); off < size; off += wire.ChunkSize {
		ref, err := e.chunkHead(off)
		switch {
		case err != nil:
			return nil, err
		case ref != nil:
			all = append(all, *ref)
			end = off + wire.ChunkSize
		}
	}
	e.group(all)
	e.Empty = max(0, size-end)
	if objects == nil {
		objects = &Objects{}
	}
	e.place(objects)
	for i := range e.threads {
		if t := &e.threads[i]; e.named[t.TID] != nil {
			for _, addr := range e.named[t.TID].Starters {
				t.Starters = append(t.Starters, e.functionAt(addr, objects))
			}
		}
	}
	e.notes()
	return e, nil
}

// eventClock is the clock of a log of all calls, which is 1 at the start of the log.
func (h *Header) eventClock() calllog.Clock {
	unit := h.clockUnit()
	return calllog.Clock{Hz: 1e9 / unit, Mono: true, Base: h.Monotonic - min(h.Monotonic, unit), Boot: h.Boot()}
}

func (e *Events) damage(off, size int64, format string, args ...any) *calllog.Damage {
	return &calllog.Damage{File: e.info.File, Offset: off, Size: size, What: fmt.Sprintf(format, args...)}
}

func (e *Events) noteDamage(d *calllog.Damage) {
	if len(e.info.Damage) < maxDamage {
		e.info.Damage = append(e.info.Damage, d)
	}
}

// chunkHead reads the header of a chunk. It returns nil if there are no events
// in it that can be read.
func (e *Events) chunkHead(off int64) (*chunkRef, error) {
	size := min(e.info.Size-off, wire.ChunkSize)
	head := make([]byte, min(size, wire.ChunkHeaderSize))
	if n, err := e.r.ReadAt(head, off); n < len(head) {
		return nil, fmt.Errorf("%s: offset %#x: %w", e.info.File, off, err)
	}
	if len(head) < wire.ChunkHeaderSize {
		if !zero(head) {
			e.noteDamage(e.damage(off, size, "the file ends within the header of a chunk"))
		}
		return nil, nil
	}
	le := binary.LittleEndian
	magic, kind := le.Uint32(head), le.Uint16(head[wire.ChunkKindOffset:])
	used := le.Uint32(head[wire.ChunkUsedOffset:])
	switch {
	case magic == 0: // not begun, or being reused at this moment
		return nil, nil
	case magic != wire.ChunkMagic:
		e.noteDamage(e.damage(off, size, "no chunk starts here (%#x)", magic))
	case kind == wire.KindRecords:
		return nil, e.readRecords(off, size)
	case kind != wire.KindEvents || le.Uint16(head[wire.ChunkFormOffset:]) != 0:
		e.noteDamage(e.damage(off, size, "unknown chunk: kind %d, form %d", kind, le.Uint16(head[wire.ChunkFormOffset:])))
	case used != 0 && le.Uint32(head[wire.ChunkChecksumOffset:]) != checksum(head[:wire.ChunkChecksumOffset]):
		e.noteDamage(e.damage(off, size, "the header of a chunk is damaged (checksum)"))
	default:
		first := le.Uint64(head[wire.ChunkFirstOffset:])
		if first < e.Header.Monotonic || (first-e.Header.Monotonic)/e.Header.clockUnit() > 1<<48 {
			e.noteDamage(e.damage(off, size, "a chunk was begun before the log"))
			return nil, nil
		}
		return &chunkRef{
			offset: off, tid: le.Uint32(head[wire.ChunkTIDOffset:]),
			sequence: le.Uint32(head[wire.ChunkSequenceOffset:]), before: le.Uint32(head[wire.ChunkBeforeOffset:]),
			first: (first-e.Header.Monotonic)/e.Header.clockUnit() + 1, live: used == 0,
		}, nil
	}
	return nil, nil
}

// readRecords takes the records of the chunk at off.
func (e *Events) readRecords(off, size int64) error {
	chunk := make([]byte, size)
	if n, err := e.r.ReadAt(chunk, off); n < len(chunk) {
		return fmt.Errorf("%s: offset %#x: %w", e.info.File, off, err)
	}
	for at := wire.ChunkHeaderSize; at+wire.RecordHeaderSize <= len(chunk); {
		kind := binary.LittleEndian.Uint16(chunk[at:])
		n := int(binary.LittleEndian.Uint16(chunk[at+2:]))
		if kind == 0 {
			return nil
		}
		if n < wire.RecordHeaderSize || n%8 != 0 || n > len(chunk)-at {
			e.noteDamage(e.damage(off+int64(at), size-int64(at), "a record of %d bytes", n))
			return nil
		}
		if err := e.record(kind, chunk[at:at+n], off+int64(at)); err != nil {
			what := err.Error()
			var located *bytecur.Error
			if errors.As(err, &located) {
				what = located.What
			}
			e.noteDamage(e.damage(off+int64(at), int64(n), "%s", what))
		}
		at += n
	}
	return nil
}

// unload notes that a module was unloaded, by a record of its number and the time.
func (e *Events) unload(gone *Module) {
	for i := len(e.Modules) - 1; i >= 0; i-- {
		if m := &e.Modules[i]; m.Number == gone.Number {
			m.Unloaded = gone.Unloaded
			return
		}
	}
}

// join notes that the module of a number has probes.
func join(modules []Module, number uint32) {
	for i := len(modules) - 1; i >= 0; i-- {
		if m := &modules[i]; m.Number == number {
			m.Instrumented = true
			return
		}
	}
}

// record takes one record.
func (e *Events) record(kind uint16, data []byte, base int64) error {
	switch kind {
	case wire.TypeModule:
		rec, err := decode(data, base, CallsOlder)
		if err == nil && rec.module.Unloaded != 0 {
			e.unload(rec.module)
			return nil
		}
		if err == nil && rec.module.Start >= rec.module.End {
			err = errors.New("a module ends before it begins")
		}
		if err == nil && len(e.Modules) < maxModules {
			e.Modules = append(e.Modules, *rec.module)
		}
		return err
	case wire.TypeJoined:
		rec, err := decode(data, base, CallsOlder)
		if err == nil {
			join(e.Modules, *rec.joined)
		}
		return err
	case wire.TypeThread: // the name of a goroutine, which says what started it
		rec, err := decode(data, base, CallsOlder)
		if err == nil {
			if e.named == nil {
				e.named = map[uint32]*Thread{}
			}
			if e.named[rec.thread.TID] != nil || len(e.named) < maxThreads {
				e.named[rec.thread.TID] = rec.thread
			}
		}
		return err
	case wire.TypeTrace:
		c := bytecur.New(data, base)
		c.Bytes(wire.RecordHeaderSize)
		t := &Trace{}
		for _, f := range []*uint64{&t.Time, &t.Ticks, &t.Period, &t.WorstGap, &t.Ring, &t.Chunks, &t.Over} {
			*f = c.U64()
		}
		if t.Dropped = binary.LittleEndian.Uint32(data[4:]); c.Err() == nil {
			e.About = t
		}
		return c.Err()
	}
	return nil
}

// group groups the chunks into threads. A reused id is another thread: its first chunk has no predecessor.
func (e *Events) group(all []chunkRef) {
	stablesort.Func(all, func(a, b chunkRef) int {
		return cmp.Or(cmp.Compare(a.tid, b.tid), cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.offset, b.offset))
	})
	for i, c := range all {
		if n := len(e.threads); n == 0 || e.threads[n-1].TID != c.tid || c.before == 0 {
			t := calllog.Thread{PID: e.Header.PID, TID: c.tid}
			if e.Header.Micro { // by a Go program
				t.Name = fmt.Sprintf("goroutine %d", c.tid)
				if n := e.named[c.tid]; n != nil {
					t.Name = n.Name
				}
			}
			e.threads = append(e.threads, t)
			e.chunks = append(e.chunks, nil)
		}
		n := len(e.threads) - 1
		e.threads[n].Parts++
		e.threads[n].Bytes += min(e.info.Size-c.offset, wire.ChunkSize)
		e.chunks[n] = append(e.chunks[n], c)
		if e.threads[n].Parts > 1 {
			continue
		}
		if first := e.firstTime(&c); i == 0 || first < e.info.Clock.Start {
			e.info.Clock.Start = first
		}
	}
}

// firstTime returns the time of a chunk's first event, or of its beginning.
func (e *Events) firstTime(c *chunkRef) uint64 {
	var b [wire.EventSize]byte
	if n, _ := e.r.ReadAt(b[:], c.offset+wire.ChunkHeaderSize); n == len(b) && [wire.EventSize]byte{} != b {
		if forward := binary.LittleEndian.Uint32(b[:]) - uint32(c.first); forward < 1<<32-stale {
			return c.first + uint64(forward)
		}
	}
	return c.first
}

// notes adds notes on what may be missing, and on the resolution of times.
func (e *Events) notes() {
	add := func(format string, args ...any) { e.info.Notes = append(e.info.Notes, fmt.Sprintf(format, args...)) }
	if a, b := e.overlap(); a != nil {
		add("addresses in %s and %s differ only in their upper halves, which are not in the log: some functions of one may be shown with names of the other", a.path, b.path)
	}
	switch t := e.About; {
	case t == nil:
		add("it has no settings: events may be missing")
	default:
		if t.Over > 0 {
			add("it has the last %d MB of events, %d of %d chunks were overwritten: CAIRN_TRACE=size=1GB keeps more, CAIRN_TRACE=file all",
				t.Ring>>20, t.Over, t.Chunks)
		}
		if t.Dropped > 0 {
			add("%d events are missing: there was no room for them", t.Dropped)
		}
		if e.Header.Micro {
			break
		}
		e.info.Clock.Step = t.Period
		add("the clock was updated every %d us, more often where calls are frequent (at worst after %d us): sums over many calls are more accurate than single calls",
			t.Period/1000, max(t.WorstGap, t.Period)/1000)
		add(wallClock)
	}
	if len(e.Modules) == 0 && len(e.threads) > 0 {
		add("it names no program: functions have no names")
	}
}

// overlap returns two pieces of modules whose addresses have overlapping low halves, or nil.
func (e *Events) overlap() (a, b *span) {
	for i := range e.spans {
		for k := range e.spans[:i] {
			if a, b = &e.spans[k], &e.spans[i]; (b.low-a.low < a.size || a.low-b.low < b.size) && (a.to == 0 || a.to >= b.from) && (b.to == 0 || b.to >= a.from) {
				return a, b
			}
		}
	}
	return nil, nil
}

// Info implements calllog.Log.
func (e *Events) Info() *calllog.Info { return &e.info }

// Threads implements calllog.Log.
func (e *Events) Threads() []calllog.Thread { return slices.Clone(e.threads) }

// PartTime implements trace.PartTimer.
func (e *Events) PartTime(thread, part int) (ticks uint64, ok bool) {
	return e.chunks[thread][part].first, true
}

// Batches implements calllog.Log.
func (e *Events) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		d := decoder{events: e, buf: make([]byte, wire.ChunkSize)}
		batch := calllog.Batch{Events: make([]calllog.Event, 0, wire.MaxPayload/wire.EventSize)}
		for i := from; i < to; i++ {
			c := &e.chunks[thread][i]
			batch.Break = c.before != 0 && (i == 0 || e.chunks[thread][i-1].sequence+1 != c.before)
			batch.Events = batch.Events[:0]
			damage, err := d.chunk(c, func(_ int64, ev calllog.Event) bool {
				batch.Events = append(batch.Events, ev)
				return true
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if (len(batch.Events) > 0 || batch.Break) && !yield(&batch, nil) {
				return
			}
			if damage != nil && !yield(nil, damage) {
				return
			}
		}
	}
}

// EventRecord is an event and its place in the file.
type EventRecord struct {
	Offset int64
	TID    uint32
	calllog.Event
}

// Records yields the events in the order of the file; damage is a *trace.Damage.
func (e *Events) Records() iter.Seq2[EventRecord, error] {
	return func(yield func(EventRecord, error) bool) {
		var all []chunkRef
		for _, list := range e.chunks {
			all = append(all, list...)
		}
		stablesort.Func(all, func(a, b chunkRef) int { return cmp.Compare(a.offset, b.offset) })
		d := decoder{events: e, buf: make([]byte, wire.ChunkSize)}
		for i := range all {
			more := true
			damage, err := d.chunk(&all[i], func(off int64, ev calllog.Event) bool {
				more = yield(EventRecord{off, all[i].tid, ev}, nil)
				return more
			})
			switch {
			case !more:
				return
			case err != nil:
				yield(EventRecord{}, err)
				return
			case damage != nil && !yield(EventRecord{Offset: damage.Offset, TID: all[i].tid}, damage):
				return
			}
		}
	}
}

// decoder decodes chunks of events into a buffer that is reused.
type decoder struct {
	events *Events
	buf    []byte
	near   span // that of the previous function
}

var kindOf = [...]calllog.Kind{wire.EventEnter: calllog.Enter, wire.EventExit: calllog.Exit, wire.EventTailExit: calllog.TailExit, wire.EventArrive: calllog.Arrive}

var stackKinds = [...]calllog.Kind{wire.EventSuspend: calllog.Suspend, wire.EventResume: calllog.Resume}

// chunk yields the events of a chunk, until emit returns false. The clock's high half follows from the time at
// which the chunk was begun.
//
// Events older than the previous one belong to a signal handler that interrupted the recording between taking
// its place and its time, and get the previous event's time. At the end of an incomplete chunk they are what a
// handler left in places that were to be reused.
func (d *decoder) chunk(c *chunkRef, emit func(int64, calllog.Event) bool) (*calllog.Damage, error) {
	e := d.events
	buf := d.buf[:min(e.info.Size-c.offset, wire.ChunkSize)]
	if n, err := e.r.ReadAt(buf, c.offset); n < len(buf) {
		return nil, fmt.Errorf("%s: offset %#x: %w", e.info.File, c.offset, err)
	}
	now, older := c.first, 0 // up to where events are known to be older
	for at := wire.ChunkHeaderSize; at+wire.EventSize <= len(buf); at += wire.EventSize {
		clock, word := binary.LittleEndian.Uint32(buf[at:]), binary.LittleEndian.Uint32(buf[at+4:])
		if word == 0 {
			continue
		}
		kind := word & wire.EventKindMask
		off := c.offset + int64(at)
		if word == wire.EventSuspend || word == wire.EventResume {
			if !emit(off, calllog.Event{Time: now, Func: calllog.FuncID(clock), Kind: stackKinds[word]}) {
				return nil, nil
			}
			continue
		}
		if int(kind) >= len(kindOf) {
			return e.damage(off, int64(len(buf)-at), "an event of kind %d", kind), nil
		}
		if forward := clock - uint32(now); forward < 1<<32-stale {
			now += uint64(forward)
		} else if at >= older {
			if older = newer(buf, at, uint32(now)); older == len(buf) && c.live {
				return nil, nil
			}
		}
		if !emit(off, calllog.Event{Time: now, Func: d.function(word&^wire.EventKindMask, now), Kind: kindOf[kind]}) {
			return nil, nil
		}
	}
	return nil, nil
}

// newer returns the offset of the first event after at that is not older than
// now, or the end.
func newer(buf []byte, at int, now uint32) int {
	for ; at+wire.EventSize <= len(buf); at += wire.EventSize {
		if binary.LittleEndian.Uint32(buf[at+4:]) > wire.EventKindMask && binary.LittleEndian.Uint32(buf[at:])-now < 1<<32-stale {
			return at
		}
	}
	return len(buf)
}

func (d *decoder) function(low uint32, now uint64) calllog.FuncID {
	if low-d.near.low >= d.near.size || d.events.reloads {
		d.near = d.events.span(low, now)
	}
	return d.near.function(low)
}

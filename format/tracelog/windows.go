package tracelog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// DetectWindows reports whether a file that begins with head is a log of spikes
// with a flight recorder. It needs 56 bytes.
func DetectWindows(head []byte) bool {
	return Detect(head) && len(head) >= wire.ModeOffset+4 && binary.LittleEndian.Uint32(head[wire.ModeOffset:]) == wire.ModeSpike &&
		binary.LittleEndian.Uint32(head[wire.FlagsOffset:])&wire.Flight != 0
}

// Window has the calls of one thread in some time, on one of its stacks.
type Window struct {
	Episode  uint64 // its spike; 0: contents of the thread's ring at the end
	TID      uint32
	Stack    int    // 0: the thread's own; each other stack that it switched to has its own window
	From, To uint64 // ns of CLOCK_MONOTONIC
	Calls    uint64

	chunks []flightChunk
	tops   []stackTop // of its other stacks
	end    uint64     // of all of its stacks
}

// AllWindows selects the windows of all spikes.
const AllWindows = 1<<64 - 1

// Windows is an open log of spikes with the calls around them. It implements calllog.Log, in which each window
// is a thread.
//
// The log has entries with their stack pointers, and the ends of calls that no later entry on their stack
// implies, or that took long by the coarse clock. The end of a call is the event before the one that implies
// it.
//
// Older recorders have ends of long calls only. Then the caller is not certain: see Uncertain.
type Windows struct {
	Windows []Window // by the thread and the time of their ends
	events  *Events  // has the modules
	info    calllog.Info
}

// flightChunk is a chunk of a window.
type flightChunk struct {
	offset   int64
	sequence uint32
	top      uint32
	used     int    // bytes of its payload, in a live chunk all
	first    uint64 // time when it was begun
}

// OpenWindows opens the calls around the spikes of a log, of size bytes. name is used in messages. objects
// numbers its modules; nil if no other log must agree. spike is the number of one spike, 0 for the recorder's
// contents at the end, or AllWindows.
func OpenWindows(r io.ReaderAt, size int64, name string, objects *Objects, spike uint64) (*Windows, error) {
	l, err := Open(r, size, name)
	if err != nil {
		return nil, err
	}
	w := &Windows{
		events: &Events{Header: l.Header, Modules: l.Modules, r: r},
		info:   calllog.Info{File: name, Format: "calls around spikes", Size: size, Clock: calllog.Clock{Hz: 1e9, Mono: true, Boot: l.Header.Boot()}, Damage: l.Damage},
	}
	w.events.info = calllog.Info{File: name, Size: size}
	if err := w.find(spike); err != nil {
		return nil, err
	}
	var parts []Window
	for i := range w.Windows {
		of, err := w.measure(&w.Windows[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, of...)
	}
	w.Windows = parts
	stablesort.Func(w.Windows, byThread)
	if objects == nil {
		objects = &Objects{}
	}
	w.events.place(objects)
	w.notes(l.Trailer)
	return w, nil
}

// find makes the windows of the chunks of the log.
func (w *Windows) find(spike uint64) error {
	type key struct {
		episode uint64
		tid     uint32
	}
	index := make(map[key]int)
	head := make([]byte, wire.ChunkHeaderSize)
	le := binary.LittleEndian
	for off := int64(wire.ChunkSize); off+wire.ChunkHeaderSize <= w.info.Size; off += wire.ChunkSize {
		if n, err := w.events.r.ReadAt(head, off); n < len(head) {
			return fmt.Errorf("%s: offset %#x: %w", w.info.File, off, err)
		}
		if le.Uint32(head) != wire.ChunkMagic || le.Uint16(head[wire.ChunkKindOffset:]) != wire.KindFlight {
			continue
		}
		k := key{le.Uint64(head[wire.ChunkEpisodeOffset:]), le.Uint32(head[wire.ChunkTIDOffset:])}
		if k.episode != spike && (spike != AllWindows || k.episode == 0) {
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(w.Windows)
			index[k] = i
			w.Windows = append(w.Windows, Window{Episode: k.episode, TID: k.tid})
		}
		c := flightChunk{
			offset: off, sequence: le.Uint32(head[wire.ChunkSequenceOffset:]), top: le.Uint32(head[wire.ChunkTopOffset:]),
			used:  int(le.Uint32(head[wire.ChunkUsedOffset:])),
			first: le.Uint64(head[wire.ChunkFirstOffset:]),
		}
		if c.used == 0 || c.used > wire.MaxPayload {
			c.used = wire.MaxPayload
		}
		w.Windows[i].chunks = append(w.Windows[i].chunks, c)
	}
	for i := range w.Windows {
		stablesort.Func(w.Windows[i].chunks, func(a, b flightChunk) int {
			return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.offset, b.offset))
		})
	}
	return nil
}

// measure counts the calls of a window and finds its time, stack by stack.
func (w *Windows) measure(win *Window) ([]Window, error) {
	r := flightReader{windows: w, buf: make([]byte, wire.MaxPayload)}
	err := r.all(win, func(_ *flightChunk, function, sp uint32, _ uint64) {
		if function == wire.FlightStack || function == wire.FlightHandlers {
			win.addTop(stackTop{sp, function == wire.FlightHandlers})
		}
	})
	if err != nil {
		return nil, err
	}
	parts := make([]Window, len(win.tops)+1)
	at, last := ownStackNumber, max(win.chunks[0].first, w.events.Header.Monotonic)
	for i := range parts {
		parts[i] = win.part(i)
	}
	err = r.all(win, func(c *flightChunk, function, sp uint32, now uint64) {
		last = max(last, now)
		if !isPlace(function) {
			return
		}
		if stack := win.stackOf(sp, c.top); !win.handles(stack) {
			at = stack
		}
		p := &parts[at]
		if p.To = max(p.To, now); function != wire.FlightExit {
			if p.Calls++; p.Calls == 1 {
				p.From = now
			}
		}
	})
	if err != nil {
		return nil, err
	}
	parts = slices.DeleteFunc(parts, func(p Window) bool { return p.Calls == 0 && p.Stack != ownStackNumber })
	if len(parts) > 1 && parts[0].Calls == 0 {
		parts = parts[1:]
	}
	for i := range parts {
		p := &parts[i]
		p.end = last
		if p.To = max(p.To, p.From); p.Stack == ownStackNumber || len(parts) == 1 {
			p.To = last
		}
		if p.Calls == 0 {
			p.From = p.To
		}
		if w.info.Clock.Start == 0 || p.From < w.info.Clock.Start {
			w.info.Clock.Start = p.From
		}
	}
	return parts, nil
}

// isPlace reports whether an event is of a call, by the word that holds its function.
func isPlace(function uint32) bool {
	return function != wire.FlightTime && function != wire.FlightStack && function != wire.FlightHandlers
}

// flightReader reads the events of chunks.
type flightReader struct {
	windows *Windows
	buf     []byte
}

// all yields the events of all chunks of a window, with their times.
func (r *flightReader) all(win *Window, emit func(c *flightChunk, function, sp uint32, now uint64)) error {
	for i := range win.chunks {
		c := &win.chunks[i]
		err := r.chunk(c, func(function, sp uint32, now uint64) bool {
			emit(c, function, sp, now)
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chunk yields the events of a chunk with their times, until emit returns false. Time events are yielded as
// well.
func (r *flightReader) chunk(c *flightChunk, emit func(function, sp uint32, now uint64) bool) error {
	w := r.windows
	begin := w.events.Header.Monotonic
	buf := r.buf[:min(int64(c.used), max(0, w.info.Size-c.offset-wire.ChunkHeaderSize))]
	if n, err := w.events.r.ReadAt(buf, c.offset+wire.ChunkHeaderSize); n < len(buf) {
		return fmt.Errorf("%s: offset %#x: %w", w.info.File, c.offset, err)
	}
	clock := uint64(1) // microseconds
	if c.first > begin {
		clock += min((c.first-begin)/1000, 1<<50)
	}
	for ; len(buf) >= wire.EventSize; buf = buf[wire.EventSize:] {
		function, sp := binary.LittleEndian.Uint32(buf), binary.LittleEndian.Uint32(buf[4:])
		switch {
		case function == wire.FlightTime && sp == 0:
			continue // no event
		case function == wire.FlightTime:
			if forward := sp - uint32(clock); forward < 1<<31 { // an earlier time is one that a signal handler left
				clock += uint64(forward)
			}
		}
		if !emit(function, sp, begin+(clock-1)*1000) {
			return nil
		}
	}
	return nil
}

func (w *Windows) notes(t *Trailer) {
	add := func(format string, args ...any) { w.info.Notes = append(w.info.Notes, fmt.Sprintf(format, args...)) }
	if len(w.Windows) == 0 {
		return
	}
	if w.events.Header.Ends {
		add("it has only the calls around spikes")
	} else {
		add("it has only the calls around spikes; the ends of calls are inferred from later calls, so callers are not certain")
	}
	if t != nil {
		w.info.Clock.Step = t.Period
		add("the clock was updated every %d us (at worst after %d us): sums over many calls are more accurate than single calls",
			t.Period/1000, max(t.WorstGap, t.Period)/1000)
	}
}

// Info implements calllog.Log.
func (w *Windows) Info() *calllog.Info { return &w.info }

// Threads implements calllog.Log.
func (w *Windows) Threads() []calllog.Thread {
	list := make([]calllog.Thread, len(w.Windows))
	for i := range w.Windows {
		win := &w.Windows[i]
		list[i] = calllog.Thread{PID: w.events.Header.PID, TID: win.TID, Stack: uint32(win.Stack), Parts: 1, Bytes: int64(len(win.chunks)) * wire.ChunkSize}
	}
	return list
}

// Batches implements calllog.Log: a window is one part, as finding the ends of calls takes all of its events.
func (w *Windows) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		if from >= to {
			return
		}
		win := &w.Windows[thread]
		f := flight{decoder: decoder{events: w.events}, window: win, ends: w.events.Header.Ends}
		r := flightReader{windows: w, buf: make([]byte, wire.MaxPayload)}
		for i := range win.chunks {
			c := &win.chunks[i]
			if i > 0 && c.sequence != win.chunks[i-1].sequence+1 {
				f.closeAll()
			}
			err := r.chunk(c, func(function, sp uint32, now uint64) bool {
				f.event(c.top, function, sp, now)
				return true
			})
			if err == nil && len(f.out) > 0 && !yield(&calllog.Batch{Events: f.out}, nil) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			f.out = f.out[:0]
		}
	}
}

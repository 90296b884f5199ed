package tracelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// Follower reads what a process writes to a log after it was opened. A record may be incomplete when it is
// first seen, so it is read when it is seen the second time: leave some time between readings, for instance 100
// ms.
type Follower struct {
	log    *Log
	next   int64 // earlier chunks are complete
	chunks map[int64]*followed
	joiner joiner
	since  map[uint32]int // reading in which the open episode of a thread came
	count  int            // of readings
	ready  []*Episode
}

// followed is the number of records of a chunk that were seen, and read.
type followed struct{ seen, taken int }

// Follow begins to follow a log. With skip it does not return the log's existing contents.
func (l *Log) Follow(skip bool) (*Follower, error) {
	f := &Follower{log: l, next: wire.ChunkSize, chunks: make(map[int64]*followed), since: make(map[uint32]int)}
	f.joiner = joiner{open: make(map[uint32][]*Episode), texts: make(map[uint32][]Text), yield: func(e *Episode, _ error) bool {
		f.ready = append(f.ready, e)
		return true
	}}
	// Twice, so that all existing records are read.
	for range 2 {
		if !skip {
			break
		}
		if err := f.read(); err != nil {
			return nil, err
		}
	}
	clear(f.joiner.open)
	f.joiner.opened = 0
	f.ready = nil
	return f, nil
}

// Read returns the episodes that have become complete since the last reading of the log, whose size is now
// size: another episode of the thread followed, or two readings added nothing. It updates the modules, threads
// and the trailer of the log.
func (f *Follower) Read(size int64) ([]*Episode, error) {
	f.log.Size = max(size, f.log.Size)
	f.count++
	if err := f.read(); err != nil {
		return nil, err
	}
	const attempts = 2
	for _, tid := range slices.Sorted(maps.Keys(f.joiner.open)) {
		if first, ok := f.since[tid]; ok && f.count-first >= attempts {
			f.ready = append(f.ready, f.joiner.open[tid]...)
			f.joiner.opened -= len(f.joiner.open[tid])
			delete(f.joiner.open, tid)
			delete(f.since, tid)
		}
	}
	list := f.ready
	f.ready = nil
	return list, nil
}

// read reads the new records.
func (f *Follower) read() error {
	buf := make([]byte, wire.ChunkSize)
	for at := f.next; at+wire.ChunkHeaderSize <= f.log.Size; at += wire.ChunkSize {
		chunk := buf[:min(wire.ChunkSize, f.log.Size-at)]
		if n, err := f.log.r.ReadAt(chunk, at); n < len(chunk) {
			return fmt.Errorf("%s: offset %#x: %w", f.log.Name, at, err)
		}
		if !f.chunk(chunk, at) && at == f.next {
			f.next += wire.ChunkSize
			delete(f.chunks, at)
		}
	}
	return f.trailer()
}

// chunk reads the new records of a chunk and reports whether more may come.
func (f *Follower) chunk(chunk []byte, at int64) bool {
	le := binary.LittleEndian
	if le.Uint32(chunk) != wire.ChunkMagic {
		return true // not begun
	}
	if le.Uint16(chunk[wire.ChunkKindOffset:]) != wire.KindRecords {
		return false
	}
	c := f.chunks[at]
	if c == nil {
		c = &followed{}
		f.chunks[at] = c
	}
	sealed := used(chunk) != 0
	now, most := 0, c.seen
	if sealed {
		most = 1 << 30
	}
	f.log.chunk(chunk, at, allTypes, nil, func(rec record, err error) bool {
		now++
		if now > c.taken && now <= most {
			c.taken = now
			f.keep(&rec, err)
		}
		return true
	})
	c.seen = max(c.seen, now)
	return !sealed
}

func (f *Follower) keep(rec *record, err error) {
	l := f.log
	switch {
	case err != nil:
		var d *calllog.Damage
		if errors.As(err, &d) {
			l.Damaged += d.Size
		}
	case rec.slot:
	case rec.episode != nil, rec.parent != nil, rec.text != nil, rec.usage != nil, rec.wait != nil, rec.suspended != nil:
		f.joiner.add(rec)
		if rec.episode != nil {
			f.since[rec.tid] = f.count
		}
	case rec.freeze != nil:
		l.Freezes = append(l.Freezes, *rec.freeze)
	case rec.module != nil:
		if !slices.ContainsFunc(l.Modules, func(m Module) bool {
			return m.Number == rec.module.Number && m.Unloaded == 0 && rec.module.Unloaded == 0
		}) {
			l.keepModule(rec.module)
		}
	case rec.joined != nil:
		join(l.Modules, *rec.joined)
	case rec.thread != nil:
		f.name(rec.thread)
	}
}

// name replaces the name of a thread.
func (f *Follower) name(th *Thread) {
	l := f.log
	if i := slices.IndexFunc(l.Threads, func(old Thread) bool { return old.TID == th.TID }); i >= 0 {
		l.Threads[i] = *th
	} else if len(l.Threads) < maxThreads {
		l.Threads = append(l.Threads, *th)
	}
}

// trailer reads the first record of the log again, which is kept up to date.
func (f *Follower) trailer() error {
	data := make([]byte, wire.TrailerSize)
	const at = wire.ChunkSize + wire.ChunkHeaderSize
	if f.log.Size < at+wire.TrailerSize {
		return nil
	}
	if n, err := f.log.r.ReadAt(data, at); n < len(data) {
		return fmt.Errorf("%s: offset %#x: %w", f.log.Name, at, err)
	}
	if rec, err := decode(data, at, CallsOlder); err == nil && rec.trailer != nil {
		f.log.Trailer = rec.trailer
	}
	return nil
}

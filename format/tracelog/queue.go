package tracelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// queues yields the records that threads had queued but the writer had not copied to chunks of records when the
// process ended or the log was read. The chunks of queues are at offsets. The last record of the chunks of
// records, last, may be in a queue as well.
func (l *Log) queues(offsets []int64, last []byte, want wanted, yield func(record, error) bool) {
	buf := make([]byte, wire.ChunkSize)
	for _, off := range offsets {
		chunk := buf[:max(min(int64(len(buf)), l.Size-off), 0)]
		if n, err := l.r.ReadAt(chunk, off); n < len(chunk) {
			yield(record{}, fmt.Errorf("%s: offset %#x: %w", l.Name, off, err))
			return
		}
		for i := range wire.Queues {
			at := wire.ChunkHeaderSize + i*wire.QueueSize
			if at+wire.QueueSize > len(chunk) {
				break
			}
			if !l.queue(chunk[at:at+wire.QueueSize], off+int64(at), last, want, yield) {
				return
			}
		}
	}
}

// queue yields the records of one queue.
func (l *Log) queue(data []byte, base int64, last []byte, want wanted, yield func(record, error) bool) bool {
	le := binary.LittleEndian
	head, read := le.Uint64(data), le.Uint64(data[wire.QueueReadOffset:])
	ring := data[wire.QueueHeaderSize:]
	damage := func(what string, args ...any) bool {
		return yield(record{}, &calllog.Damage{File: l.Name, Offset: base, Size: wire.QueueSize, What: fmt.Sprintf(what, args...)})
	}
	if read > head || head-read > wire.QueueRoom || (head|read)%8 != 0 {
		return damage("a queue from %d to %d", read, head)
	}
	for first := true; read < head; first = false {
		at := int(read % wire.QueueRoom)
		room := min(wire.QueueRoom-at, int(head-read))
		kind, size := le.Uint16(ring[at:]), int(le.Uint16(ring[at+2:]))
		if kind == wire.QueueSkip {
			if at+room != wire.QueueRoom {
				return damage("the end of a queue is inconsistent")
			}
			read += uint64(room)
			continue
		}
		if size < wire.RecordHeaderSize || size%8 != 0 || size > room {
			return damage("a record of %d bytes in a queue", size)
		}
		data := ring[at : at+size]
		read += uint64(size)
		if kind == wire.TypeFrames || kind >= 32 || want>>kind&1 == 0 || first && sameRecord(data, last) {
			continue
		}
		off := base + wire.QueueHeaderSize + int64(at)
		rec, err := decode(data, off, l.Header.Calls)
		if err != nil {
			var located *bytecur.Error
			what := err.Error()
			if errors.As(err, &located) {
				what = located.What
			}
			err = &calllog.Damage{File: l.Name, Offset: off, Size: int64(size), What: what}
		}
		if !yield(rec, err) {
			return false
		}
	}
	return true
}

// sameRecord reports whether a record of a queue is the last one of the chunks of records. Only the latter has
// what the writer adds to an episode, so number and time are compared.
func sameRecord(queued, last []byte) bool {
	const end = 24
	if len(last) >= wire.EpisodeSize && binary.LittleEndian.Uint16(last) == wire.TypeEpisode {
		return len(queued) == len(last) && bytes.Equal(queued[:end], last[:end])
	}
	return bytes.Equal(queued, last)
}

// A stack is the key of Seen.
type stack struct{ pc, hash uint64 }

// queuedSeen counts the episodes in queues, which the process had not counted yet.
func (l *Log) queuedSeen() map[stack]*Seen {
	found := make(map[stack]*Seen)
	l.queues(l.queued, l.last, 1<<wire.TypeEpisode, func(rec record, err error) bool {
		e := rec.episode
		if err != nil || e == nil || len(e.Stack) == 0 || e.Flags&Snapshot != 0 {
			return true
		}
		k := stack{e.Stack[0].PC, hashOf(e.Stack)}
		s := found[k]
		if s == nil {
			s = &Seen{PC: k.pc, Hash: k.hash, Episode: e.Number}
			found[k] = s
		}
		s.Count++
		s.Sum += e.Peak.Lo
		s.Worst = max(s.Worst, e.Peak.Lo)
		s.Last = max(s.Last, e.Time)
		return true
	})
	return found
}

// hashOf is the hash of a stack as the runtime computes it.
func hashOf(entries []Entry) uint64 {
	h := uint64(14695981039346656037)
	for i := range entries {
		h = (h ^ entries[i].PC) * 1099511628211
		h ^= h >> 29
	}
	return h
}

// with adds later counts.
func (s *Seen) with(more *Seen) {
	s.Count += more.Count
	s.Sum += more.Sum
	s.Worst = max(s.Worst, more.Worst)
	s.Last = max(s.Last, more.Last)
}

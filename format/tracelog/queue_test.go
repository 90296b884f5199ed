package tracelog_test

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// TestQueue checks that records in the queues of threads when a process ended are read once, as
// if they had been in chunks.
func TestQueue(t *testing.T) {
	t.Parallel()
	const size = wire.EpisodeSize + 3*wire.EntrySize
	for _, c := range []struct {
		name   string
		before uint64 // bytes that were in the queue once
		logged int    // episodes of those that are in a chunk of records
		taken  int    // of those that are not in the queue any more
	}{
		{"empty log", 0, 0, 0},
		{"two", 2 * size, 2, 2},
		{"the end of the ring", wire.QueueRoom - size - 8, 1, 1},
		{"behind the end", wire.QueueRoom - 8, 1, 1},
		{"ended between", 8, 2, 1},
		{"all ended between", 8, 4, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var want []*tracelog.Episode
			for n := range uint64(4) {
				e := episode(7, n+1)
				e.Texts, e.Parents, e.Order, e.Blind = nil, nil, n, 0
				want = append(want, e)
			}
			parent := tracelog.Parent{PC: 0x401100, Ended: 9e9, Threshold: 1e7, Time: tracelog.Interval{Lo: 2e7, Hi: 3e7}}
			want[3].Parents = []tracelog.Parent{parent}
			w := tracelogtest.New(header)
			w.Trailer(trailer())
			for _, e := range want[:c.logged] {
				old := *e
				old.Parents, old.Blind = nil, 0
				w.Episode(&old)
			}
			w.Queue(c.before, func(q *tracelogtest.Writer) {
				for _, e := range want[c.taken:] {
					q.Episode(e)
				}
			})
			l, got, seen := read(t, w.Bytes())
			if len(l.Damage) > 0 || l.Unknown > 0 || l.Written != 4 {
				t.Errorf("damage %v, %d unknown, %d written", l.Damage, l.Unknown, l.Written)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			count := uint64(0)
			for _, s := range seen {
				count += s.Count
			}
			if count != uint64(4-c.logged) {
				t.Errorf("%d were counted, %d are in the queue alone", count, 4-c.logged)
			}
		})
	}
}

// A queue that makes no sense is damage, and nothing of it is read.
func TestQueueDamage(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	const at = wire.ChunkSize + wire.ChunkHeaderSize
	for name, break_ := range map[string]func(data []byte){
		"too much":       func(d []byte) { le.PutUint64(d[at:], wire.QueueRoom+8) },
		"backwards":      func(d []byte) { le.PutUint64(d[at+8:], 1<<40) },
		"odd":            func(d []byte) { le.PutUint64(d[at:], 4) },
		"a long record":  func(d []byte) { le.PutUint16(d[at+wire.QueueHeaderSize+2:], 0xfff8) },
		"a short record": func(d []byte) { le.PutUint16(d[at+wire.QueueHeaderSize+2:], 0) },
		"no end":         func(d []byte) { le.PutUint16(d[at+wire.QueueHeaderSize:], wire.QueueSkip) },
	} {
		w := tracelogtest.New(header)
		w.Queue(0, func(q *tracelogtest.Writer) { q.Episode(episode(7, 1)) })
		data := w.Bytes()
		break_(data)
		if l, list, _ := read(t, data); len(list) > 0 || len(l.Damage) == 0 {
			t.Errorf("%s: %d episodes, damage %v", name, len(list), l.Damage)
		}
	}
}

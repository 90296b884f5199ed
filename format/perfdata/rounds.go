package perfdata

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// rounds sorts records by time. perf reads the buffers of all processors in turn, and marks the end of each
// round: records older than the newest one of the previous round have then been read for all of them.
type rounds struct {
	waiting []waiting
	data    []byte // of those that wait
	spare   []byte // memory for the data of the next round
	held    int    // bytes of those that wait in blocks
	newest  uint64
	limit   uint64 // the newest of the round before
}

type waiting struct {
	time     uint64
	from, to int    // in the data
	block    *block // that is held, nil for data of the queue
	inBlock  []byte
	offset   int64
}

// maxWaiting bounds the data of waiting records, and their number times 64. The buffers of a processor have 512 kB by
// default.
const maxWaiting = 256 << 20

// add queues a record. If too much is waiting, the older half is released.
func (q *rounds) add(r record, time uint64, out func(record)) {
	w := waiting{time: time, offset: r.offset}
	if r.block != nil {
		r.block.Hold()
		w.block, w.inBlock = r.block, r.data
		q.held += len(r.data)
	} else {
		w.from = len(q.data)
		q.data = append(q.data, r.data...)
		w.to = len(q.data)
	}
	q.waiting = append(q.waiting, w)
	q.newest = max(q.newest, time)
	if len(q.data)+q.held > maxWaiting || len(q.waiting) > maxWaiting/64 {
		q.sort()
		q.flush(q.waiting[len(q.waiting)/2].time, out)
	}
}

// end ends a round.
func (q *rounds) end(out func(record)) {
	q.flush(q.limit, out)
	q.limit = q.newest
}

func (q *rounds) sort() {
	byTime := func(a, b waiting) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(q.waiting, byTime) { // it is for one processor
		stablesort.Func(q.waiting, byTime)
	}
}

// flush releases records up to the time limit.
func (q *rounds) flush(limit uint64, out func(record)) {
	q.sort()
	n := 0
	for n < len(q.waiting) && q.waiting[n].time <= limit {
		w := &q.waiting[n]
		data := w.inBlock
		if w.block == nil {
			data = q.data[w.from:w.to]
		}
		out(record{data, w.offset, w.block})
		if w.block != nil {
			w.block.Release()
			q.held -= len(data)
		}
		n++
	}
	if n == 0 {
		return
	}
	data := q.spare[:0]
	rest := q.waiting[n:]
	for i := range rest {
		w := &rest[i]
		from := len(data)
		data = append(data, q.data[w.from:w.to]...)
		w.from, w.to = from, len(data)
	}
	q.waiting = append(q.waiting[:0], rest...)
	q.data, q.spare = data, q.data
}

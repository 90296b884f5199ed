package spikeset

import (
	"cmp"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// lanes is a log with threads that have no calls.
type lanes struct {
	calllog.Log // may be nil
	info        calllog.Info
	threads     []calllog.Thread
	from        []int // their indexes in Log, -1 for none
}

// sort puts the threads in order: ascending by process, by id, then as they were.
func (l *lanes) sort() {
	order := make([]int, len(l.threads))
	for i := range order {
		order[i] = i
	}
	stablesort.Func(order, func(a, b int) int {
		x, y := l.threads[a], l.threads[b]
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID))
	})
	threads, from := l.threads, l.from
	l.threads, l.from = nil, nil
	for _, i := range order {
		l.threads, l.from = append(l.threads, threads[i]), append(l.from, from[i])
	}
}

// Info implements calllog.Log.
func (l *lanes) Info() *calllog.Info { return &l.info }

// Threads implements calllog.Log.
func (l *lanes) Threads() []calllog.Thread { return slices.Clone(l.threads) }

// Batches implements calllog.Log.
func (l *lanes) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	if l.from[thread] < 0 {
		return func(func(*calllog.Batch, error) bool) {}
	}
	return l.Log.Batches(l.from[thread], from, to)
}

package logset

import (
	"iter"
	"sync/atomic"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/verb"
)

// Progress shows on a terminal how much of the logs is done. Call report with
// the bytes that are, and stop at the end.
func (t *Set) Progress() (report func(bytes int64), stop func()) {
	const mega = 1 << 20
	var total int64
	for _, log := range t.Logs {
		total += bytesOf(log)
	}
	var done atomic.Int64
	return func(bytes int64) { done.Store(min(bytes, total) / mega) }, verb.StartProgress(t.Streams, "MB", &done, int(total/mega))
}

// bytesOf is the size of all threads of a log.
func bytesOf(log calllog.Log) (n int64) {
	for _, th := range log.Threads() {
		n += th.Bytes
	}
	return n
}

// Watch returns the logs so that reading them, by one goroutine, shows progress.
func (t *Set) Watch() (logs []calllog.Log, stop func()) {
	report, stop := t.Progress()
	var bytes int64
	for _, log := range t.Logs {
		logs = append(logs, &watchedLog{log, func(n int64) {
			bytes += n
			report(bytes)
		}})
	}
	return logs, stop
}

type watchedLog struct {
	calllog.Log
	read func(bytes int64)
}

// Batches reads several parts at a time, and reports their size in bytes.
func (w *watchedLog) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	const step = 16
	return func(yield func(*calllog.Batch, error) bool) {
		th := w.Threads()[thread]
		for ; from < to; from += step {
			end := min(from+step, to)
			for b, err := range w.Log.Batches(thread, from, end) {
				if !yield(b, err) {
					return
				}
			}
			w.read(th.Bytes * int64(end-from) / int64(th.Parts))
		}
	}
}

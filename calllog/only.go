package calllog

import (
	"iter"
	"slices"
)

// Only returns log with only the threads that keep accepts. Other methods of the whole log are accessible
// through the method Unwrap of the result.
func Only(log Log, keep func(Thread) bool) Log {
	o := &only{Log: log}
	for i, t := range log.Threads() {
		if keep(t) {
			o.threads = append(o.threads, t)
			o.index = append(o.index, i)
		}
	}
	return o
}

type only struct {
	Log
	threads []Thread
	index   []int // in the whole log
}

// Unwrap returns the whole log.
func (o *only) Unwrap() Log { return o.Log }

func (o *only) Threads() []Thread { return slices.Clone(o.threads) }

func (o *only) Batches(thread, from, to int) iter.Seq2[*Batch, error] {
	return o.Log.Batches(o.index[thread], from, to)
}

package unwind

import (
	"context"
	"errors"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/sample"
)

// Run counts all samples of a source on a number of goroutines, on which the result does not
// depend. An error of the source ends it; the source's Stats has what was skipped.
func Run(ctx context.Context, src sample.Source, code *machinecode.Set, opt Options, workers int) (*Result, error) {
	r := Start(code, opt, workers)
	for b, err := range src.Batches(ctx) {
		if err != nil {
			r.Result()
			return nil, err
		}
		r.Add(b)
	}
	result := r.Result()
	return result, r.Err()
}

// Runner distributes batches to several unwinders.
type Runner struct {
	unwinders []*Unwinder
	work      []chan work // of each unwinder, none if the only one is called by Add
	running   sync.WaitGroup
	next      int // index of the next worker
	faults    []error
}

// work is a batch, or the events of a batch for another unwinder.
type work struct {
	batch  *sample.Batch
	events []sample.Event
}

// Start returns a Runner with this many goroutines, which end with Result. With fewer than two, Add itself unwinds.
func Start(code *machinecode.Set, opt Options, workers int) *Runner {
	r := &Runner{}
	if workers < 2 {
		r.unwinders = []*Unwinder{New(code, opt)}
		return r
	}
	for range workers {
		u, in := New(code, opt), make(chan work, 4)
		r.unwinders, r.work = append(r.unwinders, u), append(r.work, in)
	}
	r.faults = make([]error, workers)
	for i, in := range r.work {
		r.running.Go(func() {
			for w := range in {
				if err := r.unwinders[i].take(w); err != nil {
					r.faults[i] = err
				}
			}
			r.unwinders[i].settleSteps()
		})
	}
	return r
}

// take processes what a worker got. Samples may be in a file that is mapped.
func (u *Unwinder) take(w work) (err error) {
	if w.batch == nil {
		u.apply(w.events)
		return nil
	}
	defer logfile.Guard("samples", &err)()
	u.Add(w.batch)
	w.batch.Release()
	return nil
}

// Err returns why samples could not be processed, after Result.
func (r *Runner) Err() error { return errors.Join(r.faults...) }

// Add processes a batch, and releases it afterwards. Each unwinder gets all events before the
// samples that follow them.
func (r *Runner) Add(b *sample.Batch) {
	if len(r.work) == 0 {
		r.unwinders[0].Add(b)
		b.Release()
		return
	}
	events := b.Events // the batch may be released before all workers have them
	for i, in := range r.work {
		switch {
		case i == r.next:
			in <- work{batch: b}
		case len(events) > 0:
			in <- work{events: events}
		}
	}
	r.next = (r.next + 1) % len(r.work)
}

// Result waits for the unwinders and returns the sums.
func (r *Runner) Result() *Result {
	for _, in := range r.work {
		close(in)
	}
	r.running.Wait()
	u := r.unwinders[0]
	for _, other := range r.unwinders[1:] {
		u.merge(other)
	}
	return u.Result()
}

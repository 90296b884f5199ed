package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/objectstore"
)

// reader reads the records of a journal.
type reader struct {
	j     *Journal
	at    uint64 // first number of the next object
	from  uint64 // number of the first record that is wanted
	queue []journal.Record
	polls int
}

// Read returns a reader of the records from the given number on.
func (j *Journal) Read(from uint64) (journal.Reader, error) {
	from = max(from, 1)
	last, err := j.Last()
	if err != nil {
		return nil, err
	}
	if from > last+1 {
		return nil, fmt.Errorf("%s: record %d is to be read next, but the last is %d", j.store, from, last)
	}
	list, err := j.store.ListAll(j.ctx, prefix, "")
	if err != nil {
		return nil, unavailable(err)
	}
	trimmed, err := j.trimmed(j.ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if from <= trimmed {
		return nil, fmt.Errorf("%s: record %d: %w", j.store, from, journal.ErrTrimmed)
	}
	r := &reader{j: j, at: trimmed + 1, from: from}
	for i := range list {
		if first, ok := firstOf(&list[i]); ok && first > trimmed && first <= from {
			r.at = first
		}
	}
	return r, nil
}

// Close closes the reader.
func (r *reader) Close() error { return nil }

// Next returns the next record.
func (r *reader) Next(ctx context.Context) (journal.Record, error) {
	for {
		for len(r.queue) > 0 {
			record := r.queue[0]
			r.queue = r.queue[1:]
			if record.Seq >= r.from {
				return record, nil
			}
		}
		if r.j.ctx.Err() != nil {
			return journal.Record{}, journal.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return journal.Record{}, err
		}
		found, err := r.fetch(ctx)
		switch {
		case err == nil && found:
		case err == nil:
			err = r.wait(ctx)
		case objectstore.Again(err) && !errors.Is(err, journal.ErrTrimmed) && ctx.Err() == nil && r.j.ctx.Err() == nil:
			err = r.wait(ctx) // the store fails at present
		}
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return journal.Record{}, err
		}
	}
}

// wait waits until there may be more, or for a while.
func (r *reader) wait(ctx context.Context) error {
	next, grown := r.j.state()
	if next > r.at {
		grown = nil // it should be there: something is wrong for now
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-grown:
	case <-timer.C:
	case <-r.j.closing:
		return journal.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fetch puts the records of the next object into the queue, and reports whether there were any.
func (r *reader) fetch(ctx context.Context) (bool, error) {
	image := r.j.cached(r.at)
	if image == nil {
		var err error
		image, err = r.j.get(ctx, r.at)
		if errors.Is(err, objectstore.ErrNone) {
			return r.missing(ctx)
		}
		if err != nil {
			return false, err
		}
	}
	records, damage := segment.ReadImage(r.at, image)
	for i, data := range records {
		r.queue = append(r.queue, journal.Record{Seq: r.at + uint64(i), Data: data})
	}
	if len(records) == 0 {
		if damage == nil {
			damage = errors.New("an object without records")
		}
		r.queue = append(r.queue, journal.Record{Seq: r.at, Lost: 1, Why: fmt.Sprintf("%s: %v", name(r.at), damage)})
	}
	// If the object has lost its end, the next object has a number that is not the next one, and missing tells.
	r.at += uint64(max(1, len(records)))
	r.j.known(r.at)
	return true, nil
}

// missing finds out why there is no next object: most often it was not written yet.
func (r *reader) missing(ctx context.Context) (bool, error) {
	r.polls++
	if next, _ := r.j.state(); next <= r.at && r.polls%pollsTrim != 0 {
		return false, nil
	}
	list, err := r.j.store.ListAll(ctx, prefix, name(r.at-1))
	if err != nil {
		return false, err
	}
	trimmed, err := r.j.trimmed(ctx)
	if err != nil {
		return false, err
	}
	if trimmed >= r.at {
		return false, fmt.Errorf("%s: record %d: %w", r.j.store, r.at, journal.ErrTrimmed)
	}
	if len(list) == 0 {
		return false, nil
	}
	first, ok := firstOf(&list[0])
	if !ok || first <= r.at {
		return false, nil // it was written in between
	}
	why := fmt.Sprintf("%s/%s is missing or damaged, but %s is there", r.j.store, name(r.at), list[0].Name)
	r.queue = append(r.queue, journal.Record{Seq: first - 1, Lost: first - r.at, Why: why})
	r.at = first
	return true, nil
}

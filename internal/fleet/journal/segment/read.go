package segment

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

// reader reads the records of a journal.
type reader struct {
	j    *Journal
	next uint64 // number of the record that is returned next
	walk walker
	held *journal.Record // the record after lost ones
	why  string          // the last damage before next
}

// Read returns a reader of the records from the given number on. Next says how many are lost if the segments of
// records before the first one are missing.
func (j *Journal) Read(from uint64) (journal.Reader, error) {
	from = max(from, 1)
	if last, _ := j.state(); from > last+1 {
		return nil, fmt.Errorf("%s: record %d is to be read next, but the last is %d", j.dir, from, last)
	}
	if s := j.segmentOf(from); from == 1 && s.first > 1 {
		return nil, fmt.Errorf("%s: record 1 is not there any more, the first is %d: the snapshot of those before is missing", j.dir, s.first)
	}
	return &reader{j: j, next: from}, nil
}

// Next returns the next record.
func (r *reader) Next(ctx context.Context) (journal.Record, error) {
	if r.held != nil {
		record := *r.held
		r.held = nil
		r.next = record.Seq + 1
		return record, nil
	}
	for {
		last, grown := r.j.state()
		if r.next <= last {
			return r.read(last)
		}
		select {
		case <-grown:
		case <-r.j.closing:
			return journal.Record{}, journal.ErrClosed
		case <-ctx.Done():
			return journal.Record{}, ctx.Err()
		}
	}
}

// read returns the record next, or the records that are lost from there on. last is durable, and next or
// behind it.
func (r *reader) read(last uint64) (journal.Record, error) {
	if r.walk.file == nil {
		if err := r.open(r.j.segmentOf(r.next)); err != nil {
			return journal.Record{}, err
		}
	}
	for {
		size, err := r.j.durable(r.walk.id, r.walk.file)
		if err != nil {
			return journal.Record{}, err
		}
		seq, data, damage, err := r.walk.next(size)
		if damage != nil {
			r.why = damage.String()
			r.j.setAside(r.walk.file, damage)
		}
		switch {
		case err == nil && seq < r.next:
		case err == nil:
			record := journal.Record{Seq: seq, Data: data}
			if seq > r.next {
				r.held = &record
				return r.lost(seq - 1), nil
			}
			r.next = seq + 1
			return record, nil
		case err != io.EOF:
			return journal.Record{}, fmt.Errorf("%s: %w", r.walk.file.Name(), err)
		default:
			following, ok := r.j.after(r.walk.id)
			if !ok { // what was durable cannot be read any more
				return r.lost(last), nil
			}
			if err := r.open(following); err != nil {
				return journal.Record{}, err
			}
		}
	}
}

// lost says that the records from next up to a number are lost.
func (r *reader) lost(through uint64) journal.Record {
	record := journal.Record{Seq: through, Lost: through - r.next + 1, Why: r.why}
	r.next, r.walk.seq = through+1, max(r.walk.seq, through+1)
	return record
}

func (r *reader) open(s id) error {
	f, err := os.Open(r.j.path(s))
	if err != nil {
		return err
	}
	if s.first > max(r.next, r.walk.seq) {
		r.why = fmt.Sprintf("%s: the segment before this one is missing, or its end", f.Name())
	}
	err = r.Close()
	r.walk = walker{id: s, file: f, off: headerSize, seq: s.first}
	return err
}

// Close closes the reader.
func (r *reader) Close() error {
	if r.walk.file == nil {
		return nil
	}
	return r.walk.file.Close()
}

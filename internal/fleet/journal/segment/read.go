package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

// reader reads the records of a journal.
type reader struct {
	j    *Journal
	next uint64 // number of the record that is read next

	file *os.File
	off  int64
	seq  uint64 // number of the record at off
}

// Read returns a reader of the records from the given number on.
func (j *Journal) Read(from uint64) (journal.Reader, error) {
	from = max(from, 1)
	if last, _ := j.state(); from > last+1 {
		return nil, fmt.Errorf("%s: record %d is to be read next, but the last is %d: the journal is older than its snapshot", j.dir, from, last)
	}
	if _, err := j.segmentOf(from); err != nil {
		return nil, err
	}
	return &reader{j: j, next: from}, nil
}

// Next returns the next record.
func (r *reader) Next(ctx context.Context) (journal.Record, error) {
	for {
		last, grown := r.j.state()
		if r.next <= last {
			break
		}
		select {
		case <-grown:
		case <-r.j.closing:
			return journal.Record{}, journal.ErrClosed
		case <-ctx.Done():
			return journal.Record{}, ctx.Err()
		}
	}
	for {
		data, err := r.read()
		if err != nil {
			return journal.Record{}, err
		}
		r.seq++
		r.off += recordHead + int64(len(data))
		if r.seq > r.next {
			r.next = r.seq
			return journal.Record{Seq: r.seq - 1, Data: data}, nil
		}
	}
}

// read returns the record at the reader's place, and goes to the next segment if this one ends.
func (r *reader) read() ([]byte, error) {
	if r.file == nil {
		first, err := r.j.segmentOf(r.next)
		if err != nil {
			return nil, err
		}
		if err := r.open(first); err != nil {
			return nil, err
		}
	}
	data, err := r.record()
	if err != io.EOF {
		return data, err
	}
	// The record is durable, hence in the next segment.
	if err := r.open(r.seq); err != nil {
		return nil, err
	}
	return r.record()
}

// record reads the record at off. The file may be longer than the durable records.
func (r *reader) record() ([]byte, error) {
	st, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	data, err := readRecord(r.file, r.off, st.Size(), r.seq)
	if errors.Is(err, errTorn) {
		err = fmt.Errorf("%s: at offset %#x: record %d is damaged: the disk lost acknowledged data; restore a backup, or move the file away to continue without its records", r.file.Name(), r.off, r.seq)
	}
	return data, err
}

func (r *reader) open(first uint64) error {
	f, err := os.Open(filepath.Join(r.j.dir, fileName(first)))
	if err != nil {
		return err
	}
	if err := checkHeader(f, first); err != nil {
		return errors.Join(err, f.Close())
	}
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.off, r.seq = f, headerSize, first
	return nil
}

// Close closes the reader.
func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

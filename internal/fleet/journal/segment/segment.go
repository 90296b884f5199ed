// Package segment keeps a journal in files of one directory, with nothing else to set up.
//
// Appends of all goroutines that wait are written and synced together (group commit): a sync
// takes one to ten milliseconds, regardless of its size. A file that is large enough is followed
// by a new one; a file is removed when all its records are in a snapshot.
//
// # Segment (.seg)
//
// The name is the number of the first record in 20 digits. Numbers are little-endian.
//
//	0   [8]   "CAIRNSEG"
//	8   u32   version, 1
//	12  u64   number of the first record
//	20  u32   CRC-32C of the bytes before
//	24        records, each:
//	u32     bytes of data
//	u32     CRC-32C of the record's number (u64), the bytes of data (u32) and the data
//	        data
//
// If a process or a machine dies while it writes, the last segment can end with an incomplete record. It was
// never acknowledged, and is removed when the journal is opened. Earlier segments are complete: if one is
// not, the disk is damaged, and opening the journal fails.
package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

const (
	defaultSegment = 64 << 20
	groupBytes     = 4 << 20 // maximum of appends that are written together
)

// Options are settings of a journal.
type Options struct {
	SegmentSize int64 // bytes after which the next segment begins; 64 MB if 0
	// Torn, if not nil, is called if the end of the last segment was cut off.
	Torn func(path string, off, bytes int64)
}

// Journal is a journal in a directory.
type Journal struct {
	dir     string
	limit   int64
	appends chan *pending
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	last   uint64        // durable
	grown  chan struct{} // closed, and replaced, when last grows
	firsts []uint64      // of all segments, ascending
	failed error         // of a sync, after which the content of the file is not known
	lock   *journal.Lock

	// The writer's own.
	file *os.File
	size int64
	seq  uint64
	buf  []byte
}

// pending is an append that waits.
type pending struct {
	data   []byte
	seq    uint64
	result chan error
}

// Open opens the journal in dir, which is created if it does not exist. Another process that
// has it open is an error.
func Open(dir string, o Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{
		dir: dir, limit: o.SegmentSize, appends: make(chan *pending), grown: make(chan struct{}),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	if j.limit == 0 {
		j.limit = defaultSegment
	}
	if err := j.open(&o); err != nil {
		j.release()
		return nil, err
	}
	go j.write()
	return j, nil
}

func (j *Journal) open(o *Options) (err error) {
	if j.lock, err = journal.TakeLock(j.dir); err != nil {
		return err
	}
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	for _, name := range names { // sorted
		if first, ok := firstOf(name.Name()); ok {
			j.firsts = append(j.firsts, first)
		}
	}
	return j.openLast(o)
}

// openLast opens the last segment for appending after its last complete record.
func (j *Journal) openLast(o *Options) error {
	for len(j.firsts) > 0 {
		first := j.firsts[len(j.firsts)-1]
		f, err := os.OpenFile(filepath.Join(j.dir, fileName(first)), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		st, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if err := checkHeader(f, first); err != nil {
			f.Close()
			if st.Size() > headerSize {
				return err
			}
			// The process died while it created the file, which has no record.
			if err := os.Remove(f.Name()); err != nil {
				return err
			}
			if j.firsts = j.firsts[:len(j.firsts)-1]; len(j.firsts) == 0 {
				return j.create(first)
			}
			continue
		}
		return j.recover(f, first, st.Size(), o)
	}
	return j.create(1)
}

// recover finds the end of the last segment.
func (j *Journal) recover(f *os.File, first uint64, size int64, o *Options) error {
	off, seq := int64(headerSize), first
	for {
		data, err := readRecord(f, off, size, seq)
		if err == io.EOF {
			break
		}
		if errors.Is(err, errTorn) {
			if o.Torn != nil {
				o.Torn(f.Name(), off, size-off)
			}
			if err := f.Truncate(off); err != nil {
				return errors.Join(err, f.Close())
			}
			break
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		off += recordHead + int64(len(data))
		seq++
	}
	// Records that the last process wrote but did not sync can be read now, and be lost with the next power failure.
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.size, j.seq, j.last = f, off, seq, seq-1
	return nil
}

// create begins the segment whose first record has this number.
func (j *Journal) create(first uint64) error {
	path := filepath.Join(j.dir, fileName(first))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(header(first), 0)
	err = errors.Join(err, f.Sync(), syncDir(j.dir))
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.size, j.seq = f, headerSize, first
	j.mu.Lock()
	defer j.mu.Unlock()
	j.firsts = append(j.firsts, first)
	j.last = first - 1
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Append appends a record.
func (j *Journal) Append(ctx context.Context, data []byte) (uint64, error) {
	if len(data) > MaxRecord {
		return 0, fmt.Errorf("%w: %d bytes, at most %d are allowed", journal.ErrTooLarge, len(data), MaxRecord)
	}
	p := &pending{data: data, result: make(chan error, 1)}
	select {
	case j.appends <- p:
	case <-j.closing:
		return 0, journal.ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	// The writer still uses the data: the caller may change them once Append returns.
	err := <-p.result
	return p.seq, err
}

// write is the only goroutine that writes.
func (j *Journal) write() {
	defer close(j.done)
	for {
		select {
		case p := <-j.appends:
			group := j.group(p)
			err := j.commit(group)
			for _, p := range group {
				p.result <- err
			}
		case <-j.closing:
			return
		}
	}
}

// group returns the appends that wait, p first.
func (j *Journal) group(p *pending) []*pending {
	group, bytes := []*pending{p}, len(p.data)
	for bytes < groupBytes {
		select {
		case p := <-j.appends:
			group = append(group, p)
			bytes += len(p.data)
		default:
			return group
		}
	}
	return group
}

// commit makes a group durable, or says why it is not.
func (j *Journal) commit(group []*pending) error {
	if j.failed != nil {
		return j.failed
	}
	if j.size >= j.limit {
		if err := j.create(j.seq); err != nil {
			return full(err)
		}
	}
	j.buf = j.buf[:0]
	for i, p := range group {
		p.seq = j.seq + uint64(i)
		j.buf = appendRecord(j.buf, p.seq, p.data)
	}
	if _, err := j.file.WriteAt(j.buf, j.size); err != nil {
		// A part of the group may be in the file: no record may follow it.
		if cut := j.file.Truncate(j.size); cut != nil {
			return j.fail(errors.Join(err, cut))
		}
		return full(err)
	}
	if err := j.file.Sync(); err != nil {
		// Linux drops pages that it could not write, and reports that once: a second sync that succeeds
		// proves nothing. A disk that runs full late, as with delayed allocation, ends here, too.
		return j.fail(err)
	}
	j.size += int64(len(j.buf))
	j.seq += uint64(len(group))
	if cap(j.buf) > 2*groupBytes {
		j.buf = nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = j.seq - 1
	close(j.grown)
	j.grown = make(chan struct{})
	return nil
}

// full marks errors for lack of space.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	return err
}

// fail ends all appending: the content of the file is not known until it is opened again.
func (j *Journal) fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = fmt.Errorf("the journal accepts no records until it is opened again: %w", err)
	return j.failed
}

// Last returns the number of the last durable record.
func (j *Journal) Last() (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last, nil
}

// state returns the number of the last durable record, and a channel that is closed when there is another.
func (j *Journal) state() (last uint64, grown chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last, j.grown
}

// Trim removes the segments of which all records are trimmed.
func (j *Journal) Trim(through uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.firsts) > 1 && j.firsts[1] <= through+1 {
		err := os.Remove(filepath.Join(j.dir, fileName(j.firsts[0])))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		j.firsts = j.firsts[1:]
	}
	return nil
}

// segmentOf returns the first number of the segment that has a record, or will have it.
func (j *Journal) segmentOf(seq uint64) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := slices.BinarySearch(j.firsts, seq)
	if !ok {
		i--
	}
	if i < 0 {
		return 0, fmt.Errorf("%s: record %d is not there any more, the first is %d", j.dir, seq, j.firsts[0])
	}
	return j.firsts[i], nil
}

// Close closes the journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	select {
	case <-j.closing:
		j.mu.Unlock()
		return nil
	default:
	}
	close(j.closing)
	j.mu.Unlock()
	<-j.done
	return j.release()
}

// release closes the files.
func (j *Journal) release() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	if j.lock != nil { // last
		err = errors.Join(err, j.lock.Close())
	}
	return err
}

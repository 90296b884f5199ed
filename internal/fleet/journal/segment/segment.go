// Package segment keeps a journal in files of one directory, with nothing else to set up.
//
// Appends of all goroutines that wait are written and synced together (group commit): a sync
// takes one to ten milliseconds, regardless of its size. A file that is large enough is followed
// by a new one; a file is removed when all its records are in a snapshot.
//
// # Segment (.seg)
//
// The name is the number of the first record in 20 digits, "-", and a random number in 16 hexadecimal
// digits, the salt. Numbers are little-endian. Checksums are CRC-32C, of the salt (u64) and the bytes.
//
//	0   [8]   "CAIRNSEG"
//	8   u32   version, 2
//	12  u32   0
//	16        records, each:
//	0   [4]     "CREC"
//	4   u32     bytes of data
//	8   u64     the record's number
//	16  u32     checksum of the data
//	20  u32     checksum of the 20 bytes before
//	24          data
//
// A part of a segment that has no whole record is passed: whole records after it are found by their
// heads, and are kept. What was passed is copied into a file beside the segment, NAME.OFFSET.damaged, and
// a reader says how many records are lost. If no record follows, it may be one that a process or a machine
// was writing when it died, which was never acknowledged; it is copied as well, and removed.
package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
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
	// Damaged, if not nil, is called for each damaged part that is found, once.
	Damaged func(Damage)
}

// Journal is a journal in a directory.
type Journal struct {
	dir     string
	limit   int64
	damaged func(Damage)
	appends chan *pending
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	last   uint64        // durable
	end    int64         // of it, in the last segment
	grown  chan struct{} // closed, and replaced, when last grows
	ids    []id          // of all segments, ascending
	failed error         // of a sync, after which the content of the file is not known
	told   map[string]bool
	lock   *journal.Lock

	// The writer's own.
	writing sync.Mutex
	file    *os.File
	id      id
	size    int64
	seq     uint64
	buf     []byte
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
		dir: dir, limit: o.SegmentSize, damaged: o.Damaged, told: make(map[string]bool), appends: make(chan *pending), grown: make(chan struct{}),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	if j.limit == 0 {
		j.limit = defaultSegment
	}
	if err := j.open(); err != nil {
		j.release()
		return nil, err
	}
	go j.write()
	return j, nil
}

func (j *Journal) open() (err error) {
	if j.lock, err = journal.TakeLock(j.dir); err != nil {
		return err
	}
	if j.ids, err = list(j.dir); err != nil {
		return err
	}
	if len(j.ids) == 0 {
		return j.create(1)
	}
	return j.recover()
}

// list returns the segments in a directory, ascending.
func list(dir string) ([]id, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []id
	for _, e := range entries { // sorted
		if s, ok := idOf(e.Name()); ok {
			ids = append(ids, s)
		} else if isVersion1(e.Name()) {
			return nil, fmt.Errorf("%s: a segment of version 1, of an older cairn: let that end by SIGTERM, then remove the file", filepath.Join(dir, e.Name()))
		}
	}
	return ids, nil
}

func (j *Journal) path(s id) string { return filepath.Join(j.dir, s.fileName()) }

// recover opens the last segment for appending after its last whole record.
func (j *Journal) recover() error {
	s := j.ids[len(j.ids)-1]
	f, err := os.OpenFile(j.path(s), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	seg, err := s.walk(f, true, func(d *Damage) { j.setAside(f, d) })
	if err == nil {
		err = f.Truncate(seg.end)
	}
	if err == nil && seg.end == headerSize { // the process may have died before it wrote the header
		_, err = f.WriteAt(header(), 0)
	}
	// Records that the last process wrote but did not sync can be read now, and be lost with the next power failure.
	if err = errors.Join(err, f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.id, j.size, j.seq, j.end, j.last = f, s, seg.end, seg.next, seg.end, seg.next-1
	return nil
}

// setAside sets a damaged part aside and reports it, unless that was done before.
func (j *Journal) setAside(f *os.File, d *Damage) {
	key := fmt.Sprint(d.File, d.Off)
	j.mu.Lock()
	known := j.told[key]
	j.told[key] = true
	j.mu.Unlock()
	if known {
		return
	}
	d.setAside(f)
	if j.damaged != nil {
		j.damaged(*d)
	}
}

// create begins the segment whose first record has this number.
func (j *Journal) create(first uint64) error {
	s := id{first, rand.Uint64()}
	path := j.path(s)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(header(), 0)
	err = errors.Join(err, f.Sync(), syncDir(j.dir))
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.id, j.size, j.seq = f, s, headerSize, first
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ids = append(j.ids, s)
	j.last, j.end = first-1, headerSize
	return nil
}

// Advance makes last the number of the last record if the journal has fewer: a snapshot has the others.
func (j *Journal) Advance(last uint64) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if last < j.seq {
		return nil
	}
	return j.create(last + 1)
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
			group := journal.Gather(p, j.appends, groupBytes)
			err := j.commit(group)
			for _, p := range group {
				p.result <- err
			}
		case <-j.closing:
			return
		}
	}
}

// Len returns the bytes of the record.
func (p *pending) Len() int { return len(p.data) }

// commit makes a group durable, or says why it is not.
func (j *Journal) commit(group []*pending) error {
	j.writing.Lock()
	defer j.writing.Unlock()
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
		j.buf = j.id.appendRecord(j.buf, p.seq, p.data)
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
	j.last, j.end = j.seq-1, j.size
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
	for len(j.ids) > 1 && j.ids[1].first <= through+1 {
		err := os.Remove(j.path(j.ids[0]))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		j.ids = j.ids[1:]
	}
	return nil
}

// segmentOf returns the segment that has a record or will have it, or the first one.
func (j *Journal) segmentOf(seq uint64) id {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := slices.BinarySearchFunc(j.ids, seq, func(s id, seq uint64) int { return cmp.Compare(s.first, seq) })
	if !ok {
		i--
	}
	return j.ids[max(i, 0)]
}

// after returns the segment that follows one, and whether there is one.
func (j *Journal) after(s id) (id, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, t := range j.ids {
		if t.first > s.first {
			return t, true
		}
	}
	return id{}, false
}

// durable returns the end of the durable records in a segment that is open as f.
func (j *Journal) durable(s id, f *os.File) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s == j.ids[len(j.ids)-1] {
		return j.end, nil
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return max(st.Size(), headerSize), nil
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

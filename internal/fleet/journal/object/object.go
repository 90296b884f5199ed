// Package object keeps a journal in an object store, for any number of collectors that all append to it:
//
//	journal/N     a segment (package segment) whose first record has the number N, in 20 decimal digits
//	journal.trim  the number of the last record that was removed, in decimal digits
//
// The objects are one sequence without gaps: the name of the next one follows from the content of the last. An append
// creates the next object on condition that there is none. Of several collectors that try this at the same time, one
// succeeds; the others read its object and try the number after it. So the store decides the order, and all collectors
// read the same records in the same order. Appends that come while one is under way are written as one object.
//
// A collector may pause for any time, while others append, and remove objects that are in snapshots. Then it may create an
// object whose number was in use before. So each collector reads journal.trim after it has created an object, and before
// it acknowledges, and after it has read an object, and before it uses it: if the number is not above that in
// journal.trim, it was in use, and the object is not part of the journal. The number in journal.trim only grows, and is
// written before objects are removed. No decision depends on a clock.
package object

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/objectstore"
)

const (
	prefix   = "journal/"
	trimName = "journal.trim"

	// mostMisses is how often in a row an object may be there and not be there. Once happens: others remove objects.
	mostMisses = 10

	maxBatch = 8 << 20  // bytes of the records of an object with more than one
	maxKept  = 64 << 20 // bytes of objects that are kept in memory for the reader, so that it does not ask for them
)

// Intervals at which a reader asks for the next object when there is none, and whether it was trimmed.
const (
	poll      = time.Second
	pollsTrim = 10
)

// Journal is a journal in an object store.
type Journal struct {
	store   *objectstore.Bucket
	appends chan *pending
	closing chan struct{}
	ctx     context.Context // ends when the journal is closed
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	once    sync.Once

	mu        sync.Mutex
	next      uint64            // number after the last record that is known
	grown     chan struct{}     // closed and replaced when next changes
	kept      map[uint64][]byte // objects that the reader needs soon, by first number
	keptBytes int
}

// pending is an append under way.
type pending struct {
	data []byte
	done chan result // has room for the result
}

// Len returns the bytes of the record.
func (p *pending) Len() int { return len(p.data) }

type result struct {
	seq uint64
	err error
}

// Open opens the journal below a place in an object store. It fails if the store does not answer, or refuses.
func Open(store *objectstore.Bucket) (*Journal, error) {
	j := &Journal{
		store: store, appends: make(chan *pending), closing: make(chan struct{}), next: 1, grown: make(chan struct{}), kept: make(map[uint64][]byte),
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	if _, err := j.Last(); err != nil {
		j.cancel()
		return nil, err
	}
	j.ended.Go(j.write)
	return j, nil
}

func name(first uint64) string { return fmt.Sprintf("%s%020d", prefix, first) }

// first returns the number in the name of an object.
func firstOf(o *objectstore.Object) (uint64, bool) {
	digits := strings.TrimPrefix(o.Name, prefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && len(digits) == 20 && n > 0
}

// known records that there are no more records than those before next, as far as this process knows.
func (j *Journal) known(next uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if next > j.next {
		j.next = next
		close(j.grown)
		j.grown = make(chan struct{})
	}
}

func (j *Journal) state() (next uint64, grown chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next, j.grown
}

// keep keeps an object for the reader.
func (j *Journal) keep(first uint64, image []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keptBytes+len(image) > maxKept {
		clear(j.kept) // the reader is far behind
		j.keptBytes = 0
	}
	if _, ok := j.kept[first]; !ok && len(image) <= maxKept {
		j.kept[first] = image
		j.keptBytes += len(image)
	}
}

// cached returns an object that is kept, nil if it is not.
func (j *Journal) cached(first uint64) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	image := j.kept[first]
	delete(j.kept, first)
	j.keptBytes -= len(image)
	return image
}

// unavailable returns the error of a call that may succeed later.
func unavailable(err error) error {
	if e := (*objectstore.Error)(nil); errors.As(err, &e) && e.Status == http.StatusInsufficientStorage {
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	if objectstore.Again(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	return err
}

// Append appends a record.
func (j *Journal) Append(ctx context.Context, data []byte) (uint64, error) {
	if len(data) > segment.MaxRecord {
		return 0, fmt.Errorf("%w: %d bytes", journal.ErrTooLarge, len(data))
	}
	p := &pending{data: data, done: make(chan result, 1)}
	select {
	case <-j.closing:
		return 0, journal.ErrClosed
	default:
	}
	select {
	case j.appends <- p:
	case <-j.closing:
		return 0, journal.ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case r := <-p.done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// write writes appends until the journal is closed.
func (j *Journal) write() {
	for {
		select {
		case p := <-j.appends:
			batch := journal.Gather(p, j.appends, maxBatch)
			first, err := j.create(batch)
			for i, p := range batch {
				p.done <- result{first + uint64(i), err}
			}
		case <-j.closing:
			return
		}
	}
}

// create writes a batch as the next object, and returns the number of its first record.
func (j *Journal) create(batch []*pending) (uint64, error) {
	var salt [8]byte
	rand.Read(salt[:]) //nolint:errcheck // it never fails
	records := make([][]byte, len(batch))
	for i, p := range batch {
		records[i] = p.data
	}
	for misses := 0; ; {
		first, _ := j.state()
		image := segment.Image(first, binary.LittleEndian.Uint64(salt[:]), records)
		_, err := j.store.Put(j.ctx, name(first), image, objectstore.Condition{Absent: true})
		if errors.Is(err, objectstore.ErrExists) {
			var ours bool
			if ours, err = j.follow(first, image); err == nil && !ours {
				next, _ := j.state()
				if next > first {
					misses = 0
					continue
				}
				if misses++; misses < mostMisses {
					continue
				}
				err = fmt.Errorf("%w: %s: the store refuses to create this object because it exists, and says that it does not exist", journal.ErrUnavailable, name(first))
			}
		}
		if err != nil {
			return 0, unavailable(err)
		}
		trimmed, err := j.trimmed(j.ctx)
		if err != nil {
			return 0, unavailable(err)
		}
		if first > trimmed {
			j.keep(first, image)
			j.known(first + uint64(len(batch)))
			return first, nil
		}
		// The number was in use before. Nobody reads this object.
		if err := j.store.Delete(j.ctx, name(first)); err != nil {
			return 0, unavailable(err)
		}
		if _, err := j.Last(); err != nil {
			return 0, err
		}
	}
}

// follow reads the object that has taken a number. It may be ours: the response to an earlier request was lost.
func (j *Journal) follow(first uint64, image []byte) (ours bool, err error) {
	got, err := j.get(j.ctx, first)
	if errors.Is(err, objectstore.ErrNone) || errors.Is(err, journal.ErrTrimmed) { // it was removed in between
		_, err = j.Last()
		return false, err
	}
	if err != nil {
		return false, err
	}
	if string(got) == string(image) {
		return true, nil
	}
	j.keep(first, got)
	j.known(first + count(first, got))
	return false, nil
}

// get returns the object with this first number. It is ErrTrimmed if that is not part of the journal any more.
func (j *Journal) get(ctx context.Context, first uint64) ([]byte, error) {
	image, _, err := j.store.Get(ctx, name(first))
	if err != nil {
		return nil, err
	}
	trimmed, err := j.trimmed(ctx)
	if err == nil && first <= trimmed {
		err = fmt.Errorf("%s: record %d: %w", j.store, first, journal.ErrTrimmed)
	}
	return image, err
}

// count returns how many numbers an object has: at least one, even if it is damaged from its beginning on, so that all
// collectors continue with the same number.
func count(first uint64, image []byte) uint64 {
	records, _ := segment.ReadImage(first, image) // the reader reports damage
	return uint64(max(1, len(records)))
}

// trimmed returns the number of the last record that was removed, 0 if none was.
func (j *Journal) trimmed(ctx context.Context) (uint64, error) {
	n, _, err := j.readTrim(ctx)
	return n, err
}

func (j *Journal) readTrim(ctx context.Context) (n uint64, etag string, err error) {
	data, etag, err := j.store.Get(ctx, trimName)
	if errors.Is(err, objectstore.ErrNone) {
		return 0, "", nil
	}
	if err == nil {
		n, err = strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	}
	return n, etag, err
}

// Last returns the number of the last record of all collectors.
func (j *Journal) Last() (uint64, error) {
	if j.ctx.Err() != nil {
		return 0, journal.ErrClosed
	}
	for {
		next, _ := j.state()
		list, err := j.store.ListAll(j.ctx, prefix, name(next-1))
		if err != nil {
			return 0, unavailable(err)
		}
		// After the list: what was removed before it is at or below this number.
		trimmed, err := j.trimmed(j.ctx)
		if err != nil {
			return 0, unavailable(err)
		}
		j.known(trimmed + 1)
		if len(list) == 0 {
			break
		}
		first, ok := firstOf(&list[len(list)-1])
		if !ok {
			return 0, fmt.Errorf("%s: an object of another program: %s", j.store, list[len(list)-1].Name)
		}
		if first <= trimmed {
			break
		}
		image, err := j.get(j.ctx, first)
		if errors.Is(err, objectstore.ErrNone) || errors.Is(err, journal.ErrTrimmed) {
			continue // it was removed in between
		}
		if err != nil {
			return 0, unavailable(err)
		}
		j.keep(first, image)
		j.known(first + count(first, image))
		break
	}
	next, _ := j.state()
	return next - 1, nil
}

// Trim removes objects all of whose records have that number at most, but never the last one.
func (j *Journal) Trim(through uint64) error {
	list, err := j.store.ListAll(j.ctx, prefix, "")
	if err != nil {
		return unavailable(err)
	}
	last := uint64(0)
	for i := range list {
		if first, ok := firstOf(&list[i]); ok && first-1 <= through {
			last = max(last, first-1)
		}
	}
	if err := j.setTrimmed(last); err != nil {
		return unavailable(err)
	}
	for i := range list {
		if first, ok := firstOf(&list[i]); ok && first <= last {
			if err := j.store.Delete(j.ctx, list[i].Name); err != nil {
				return unavailable(err)
			}
		}
	}
	return nil
}

// setTrimmed raises the number of the last record that may be removed.
func (j *Journal) setTrimmed(last uint64) error {
	for {
		n, etag, err := j.readTrim(j.ctx)
		if err != nil || n >= last {
			return err
		}
		_, err = j.store.Put(j.ctx, trimName, fmt.Appendf(nil, "%d\n", last), objectstore.Condition{Absent: etag == "", Match: etag})
		if !errors.Is(err, objectstore.ErrExists) {
			return err
		}
	}
}

// Close waits for appends under way.
func (j *Journal) Close() error {
	j.once.Do(func() { close(j.closing) })
	j.ended.Wait()
	j.cancel()
	return nil
}

package depot

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/prof"
)

// Bucket is a depot in an object store, for any number of collectors that all write snapshots to it:
//
//	objects/SHA256-RANDOM  named by the SHA-256 of its content and 16 random digits; never changes
//	head                   the lists of the last two snapshots; the last line is the SHA-256 of what is before it
//
// A head is replaced on condition that it is the one that this collector has read, so that of two snapshots at the same
// time one fails, with collector.ErrSuperseded. A head lists only objects of the head before it, and objects that were
// written since that was read. So a collector may remove the objects that were there before it replaced the head and that
// neither list has: nobody can list them any more, however late it removes them. Random names are never used again. No
// decision depends on a clock, but for how often is tried what another one may be doing (see claim.go).
//
// Which objects are there a collector knows from the snapshots that it has read and from what it has sent itself. A list
// of all objects takes as long as there are many, and some stores take longer for each of them the more there are; so it
// is asked for seldom, and beside all else, to find what collectors left that were killed (see sweep.go).
//
// What this collector has put or read is in a directory of its own as well, from which it is read again. Objects that no
// snapshot lists yet are only there.
//
// One goroutine at a time uses the methods for heads.
type Bucket struct {
	store *objectstore.Bucket
	etag  string // of the head that was read or written last, "" for none
	claim claim
	sweep sweep

	mu   sync.Mutex
	near *Dir            // by the SHA-256 in the names
	late map[string]bool // objects that are not in the store yet
}

const (
	objectPrefix = "objects/"
	debugPrefix  = "debug/"
	debugOrder   = "debug.order"
	randomSize   = 8

	// patience is how long a request of a snapshot may take, with all attempts.
	patience = 2 * time.Minute

	parallel = 16 // requests for objects at a time
)

// NewBucket returns the depot below a place in an object store. dir is an empty directory.
func NewBucket(store *objectstore.Bucket, dir string) (*Bucket, error) {
	near, err := Open(dir)
	return &Bucket{store: store, near: near, late: make(map[string]bool), claim: newClaim(), sweep: sweep{there: make(map[string]bool)}}, err
}

func patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// Put stores an object and returns its name. It is in the store after the next SetHead.
func (b *Bucket) Put(data []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum, err := b.near.Put(data)
	if err != nil {
		return "", err
	}
	random := make([]byte, randomSize)
	rand.Read(random) //nolint:errcheck // it never fails
	name := sum + "-" + hex.EncodeToString(random)
	b.late[name] = true
	return name, nil
}

// Get returns an object. It is an error if the content does not have the SHA-256 of the name.
func (b *Bucket) Get(name string) ([]byte, error) {
	sum, _, ok := strings.Cut(name, "-")
	if !ok || !isName(sum) {
		return nil, fmt.Errorf("%.80q is not the name of an object", name)
	}
	b.mu.Lock()
	data, err := b.near.Get(sum)
	b.mu.Unlock()
	if err == nil {
		return data, nil
	}
	ctx, cancel := patient()
	defer cancel()
	data, _, err = b.store.Get(ctx, objectPrefix+name)
	if errors.Is(err, objectstore.ErrNone) { // it was in a snapshot that others have replaced
		return nil, fmt.Errorf("%w: %w", collector.ErrObjects, err)
	}
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("%s/%s%s: damaged: its SHA-256 is %x", b.store, objectPrefix, name, got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err = b.near.Put(data)
	return data, err
}

// Check reads an object from the store if it is not in the directory: others may remove it from the store while this
// collector uses it. What is in the directory was put or checked by this process.
func (b *Bucket) Check(name string) error {
	if b.has(name) {
		return nil
	}
	_, err := b.Get(name)
	return err
}

func (b *Bucket) has(name string) bool {
	sum, _, _ := strings.Cut(name, "-")
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.near.have[sum]
}

// Fetch reads objects from the store that are not in the directory, many at a time. Check reports those that it could
// not read.
func (b *Bucket) Fetch(names []string) {
	each(names, func(name string) error { return b.Check(name) }) //nolint:errcheck // see above
}

// each calls f with all names, some at a time, until there is an error, which it returns.
func each(names []string, f func(name string) error) error {
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	slots := make(chan struct{}, parallel)
	for _, name := range names {
		slots <- struct{}{}
		if failed.Load() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if err := f(name); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ReadAt reads a part of an object, which must have that part.
func (b *Bucket) ReadAt(name string, p []byte, off int64) error {
	sum, _, _ := strings.Cut(name, "-")
	b.mu.Lock()
	err := b.near.ReadAt(sum, p, off)
	b.mu.Unlock()
	if err == nil {
		return nil
	}
	data, err := b.Get(name)
	if err == nil && off+int64(len(p)) > int64(len(data)) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		copy(p, data[off:])
	}
	return err
}

// Send puts the objects into the store that are not there yet. What it has put it does not put again, if it fails.
func (b *Bucket) Send() error {
	b.mu.Lock()
	names := slices.Sorted(maps.Keys(b.late))
	b.mu.Unlock()
	return each(names, func(name string) error {
		ctx, cancel := patient()
		defer cancel()
		data, err := b.Get(name)
		if err == nil {
			b.sweep.add(name)
			_, err = b.store.Put(ctx, objectPrefix+name, data, objectstore.Condition{})
		}
		if err == nil {
			b.mu.Lock()
			delete(b.late, name)
			b.mu.Unlock()
			b.stay()
		}
		return err
	})
}

// Heads returns the last two heads, the newest first, and none if none was set.
func (b *Bucket) Heads() (heads []collector.Head, err error) {
	ctx, cancel := patient()
	defer cancel()
	data, etag, err := b.store.Get(ctx, head)
	if errors.Is(err, objectstore.ErrNone) {
		b.etag = ""
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b.etag = etag
	list, before, ok := parseHeads(data)
	if !ok {
		return []collector.Head{{Err: fmt.Errorf("%s/%s: damaged: its last line is not the SHA-256 of what is before it", b.store, head)}}, nil
	}
	heads = append(heads, collector.Head{List: list})
	if before != nil {
		heads = append(heads, collector.Head{List: before})
	}
	return heads, nil
}

// formatHeads returns both lists as one object: the number of bytes of the first, the lists, and the checksum.
func formatHeads(list, before []byte) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(list)))
	return seal(slices.Concat(data, list, before))
}

func parseHeads(data []byte) (list, before []byte, ok bool) {
	const size = 8
	data, ok = unseal(data)
	if !ok || len(data) < size {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint64(data)
	if data = data[size:]; n > uint64(len(data)) {
		return nil, nil, false
	}
	if list = data[:n]; uint64(len(data)) > n {
		before = data[n:]
	}
	return list, before, true
}

// SetHead replaces the head. If another collector did so since Heads, it returns ErrSuperseded.
func (b *Bucket) SetHead(list, before []byte) error {
	if err := b.Send(); err != nil {
		return err
	}
	survey := b.sweep.surveyed() // before the head is replaced
	ctx, cancel := patient()
	defer cancel()
	data := formatHeads(list, before)
	etag, err := b.store.Put(ctx, head, data, objectstore.Condition{Absent: b.etag == "", Match: b.etag})
	if errors.Is(err, objectstore.ErrExists) {
		// It may be this one: the response to an earlier request was lost.
		now, current, err := b.store.Get(ctx, head)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, data) {
			return collector.ErrSuperseded
		}
		etag = current
	} else if err != nil {
		return err
	}
	b.etag = etag
	b.sweep.replaced(survey)
	return nil
}

// Keep removes what is not used from the directory. Sweep removes it from the store.
func (b *Bucket) Keep(used map[string]bool) error {
	b.sweep.keep(used)
	return b.forget(used)
}

// forget removes what is not used from the directory.
func (b *Bucket) forget(used map[string]bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	near := make(map[string]bool)
	for name := range used {
		sum, _, _ := strings.Cut(name, "-")
		near[sum] = true
	}
	for name := range b.late {
		if !used[name] {
			delete(b.late, name)
		}
	}
	return b.near.Keep(near)
}

// DebugBucket keeps programs and debug files in an object store, as DebugDir does in a directory:
//
//	debug/BUILDID.executable, debug/BUILDID.debuginfo
//	debug.order  ids of the builds in hexadecimal, a line for each, that whose file came last first
//
// The store's times of objects are too coarse for the order.
type DebugBucket struct {
	store  *objectstore.Bucket
	builds int // that are kept, 0 for all
}

// NewDebugBucket returns the files below a place in an object store. builds is the number of builds whose files are kept,
// 0 for all.
func NewDebugBucket(store *objectstore.Bucket, builds int) *DebugBucket {
	return &DebugBucket{store: store, builds: builds}
}

var debugKinds = []string{"executable", "debuginfo"}

func debugName(id, kind string) string { return debugPrefix + id + "." + kind }

// PutDebug stores a file.
func (d *DebugBucket) PutDebug(ctx context.Context, id prof.BuildID, kind string, f *os.File) error {
	text := hex.EncodeToString([]byte(id))
	if err := d.store.PutFile(ctx, debugName(text, kind), "application/octet-stream", f); err != nil {
		return err
	}
	old, err := d.setFirst(ctx, text)
	if err != nil {
		return err
	}
	for _, id := range old {
		for _, kind := range debugKinds {
			if err := d.store.Delete(ctx, debugName(id, kind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// setFirst makes a build the first in the order, and returns those that are too many.
func (d *DebugBucket) setFirst(ctx context.Context, id string) (old []string, err error) {
	if d.builds == 0 {
		return nil, nil
	}
	for {
		data, etag, err := d.store.Get(ctx, debugOrder)
		if err != nil && !errors.Is(err, objectstore.ErrNone) {
			return nil, err
		}
		ids := []string{id}
		for _, other := range strings.Fields(string(data)) {
			if other != id {
				ids = append(ids, other)
			}
		}
		old = ids[min(d.builds, len(ids)):]
		ids = ids[:len(ids)-len(old)]
		_, err = d.store.Put(ctx, debugOrder, []byte(strings.Join(ids, "\n")+"\n"), objectstore.Condition{Absent: etag == "", Match: etag})
		if !errors.Is(err, objectstore.ErrExists) {
			return old, err
		}
	}
}

// Debug returns a file.
func (d *DebugBucket) Debug(ctx context.Context, id prof.BuildID, kind string) (io.ReadCloser, int64, error) {
	r, size, err := d.store.OpenObject(ctx, debugName(hex.EncodeToString([]byte(id)), kind))
	if errors.Is(err, objectstore.ErrNone) {
		return nil, 0, fmt.Errorf("%w: no %s of %s", tally.ErrNone, kind, id)
	}
	return r, size, err
}

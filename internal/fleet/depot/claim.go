package depot

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/objectstore"
)

// claim is what a collector knows of the object head.claim: the tag of the head that a collector is about to replace,
// the name of that collector, and how often it has written the object since. It saves collectors from writing the same
// snapshot at the same time, of which the store would take one. Snapshots are right without it: a claim that nobody
// renews is void, and a collector that pauses and continues finds that the head was replaced.
type claim struct {
	owner string // the name of this collector, random

	mu    sync.Mutex
	etag  string // of the object that this collector wrote
	head  string // that it has claimed to replace
	count int
	wrote time.Time

	other string // the object of another one
	since time.Time
}

const (
	claimName = "head.claim"

	renewAfter = 10 * time.Second
	voidAfter  = time.Minute // without renewal
)

func newClaim() claim {
	var random [randomSize]byte
	rand.Read(random[:]) //nolint:errcheck // it never fails
	return claim{owner: hex.EncodeToString(random[:])}
}

// Begin returns ErrSuperseded if another collector has replaced the head since Heads or SetHead, and ErrUnderWay if
// another is about to.
func (b *Bucket) Begin() error {
	ctx, cancel := patient()
	defer cancel()
	_, etag, err := b.store.Get(ctx, head)
	if err != nil && !errors.Is(err, objectstore.ErrNone) {
		return err
	}
	if etag != b.etag {
		return collector.ErrSuperseded
	}
	data, tag, err := b.store.Get(ctx, claimName)
	if err != nil && !errors.Is(err, objectstore.ErrNone) {
		return err
	}
	c := &b.claim
	c.mu.Lock()
	defer c.mu.Unlock()
	if fields := strings.Split(string(data), "\n"); len(fields) > 1 && fields[0] == etag && fields[1] != c.owner {
		if c.other != string(data) {
			c.other, c.since = string(data), time.Now()
		}
		if time.Since(c.since) < voidAfter {
			return collector.ErrUnderWay
		}
	}
	c.head, c.etag = etag, tag
	if err := b.writeClaim(); errors.Is(err, objectstore.ErrExists) {
		return collector.ErrUnderWay
	} else if err != nil {
		return err
	}
	return nil
}

// writeClaim writes the claim in place of the one that this collector has read or written.
func (b *Bucket) writeClaim() (err error) {
	ctx, cancel := patient()
	defer cancel()
	c := &b.claim
	c.count++
	c.wrote = time.Now()
	data := fmt.Appendf(nil, "%s\n%s\n%d\n", c.head, c.owner, c.count)
	c.etag, err = b.store.Put(ctx, claimName, data, objectstore.Condition{Absent: c.etag == "", Match: c.etag})
	return err
}

// stay renews the claim from time to time. If that fails, another one may write a snapshot first.
func (b *Bucket) stay() {
	b.claim.mu.Lock()
	defer b.claim.mu.Unlock()
	if b.claim.etag != "" && time.Since(b.claim.wrote) > renewAfter {
		b.writeClaim() //nolint:errcheck // see above
	}
}

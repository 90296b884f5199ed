package cluster

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// A program or a debug file is stored as the messages of one subject, in the stream of the snapshots. The header
// of each message has the size of the file.
const sizeHeader = "Cairn-Size"

func (c *Cluster) debugSubject(id prof.BuildID, kind string) string {
	return fmt.Sprintf("%s.object.debug.%s.%s", c.o.Prefix, hex.EncodeToString([]byte(id)), kind)
}

// PutDebug stores a file.
func (c *Cluster) PutDebug(ctx context.Context, id prof.BuildID, kind string, f *os.File) error {
	if err := c.notReady(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	subject := c.debugSubject(id, kind)
	if err := c.objects.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return err
	}
	part := make([]byte, c.partSize())
	for {
		n, err := io.ReadFull(f, part)
		if err == io.EOF {
			return c.pruneDebug(ctx)
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		m := nats.NewMsg(subject)
		m.Header.Set(sizeHeader, strconv.FormatInt(info.Size(), 10))
		m.Data = part[:n]
		if _, err := c.js.PublishMsg(ctx, m); err != nil {
			return err
		}
	}
}

// pruneDebug removes the files of the oldest builds if there are more than DebugBuilds.
func (c *Cluster) pruneDebug(ctx context.Context) error {
	if c.o.DebugBuilds == 0 {
		return nil
	}
	prefix := c.o.Prefix + ".object.debug."
	info, err := c.objects.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return err
	}
	last := make(map[string]uint64) // number of the first message of the newest file, by build
	for subject := range info.State.Subjects {
		id, _, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		last[id] = 0
	}
	if len(last) <= c.o.DebugBuilds {
		return nil
	}
	for subject := range info.State.Subjects {
		id, _, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		m, err := c.objects.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) { // another node removed it
			continue
		}
		if err != nil {
			return err
		}
		last[id] = max(last[id], m.Sequence)
	}
	ids := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Compare(last[b], last[a]) })
	for _, id := range ids[c.o.DebugBuilds:] {
		if err := c.objects.Purge(ctx, jetstream.WithPurgeSubject(prefix+id+".*")); err != nil {
			return err
		}
	}
	return nil
}

// Debug returns a file.
func (c *Cluster) Debug(ctx context.Context, id prof.BuildID, kind string) (io.ReadCloser, int64, error) {
	if err := c.notReady(); err != nil {
		return nil, 0, err
	}
	r := &parts{ctx: ctx, stream: c.objects, subject: c.debugSubject(id, kind), seq: 1}
	if err := r.fetch(); errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, fmt.Errorf("%w: no %s of %s", tally.ErrNone, kind, id)
	} else if err != nil {
		return nil, 0, err
	}
	r.left = r.size
	return r, r.size, nil
}

// parts reads the messages of a subject.
type parts struct {
	ctx        context.Context //nolint:containedctx // of one request
	stream     jetstream.Stream
	subject    string
	seq        uint64
	data       []byte
	size, left int64
}

// fetch reads the next message.
func (p *parts) fetch() error {
	m, err := p.stream.GetMsg(p.ctx, p.seq, jetstream.WithGetMsgSubject(p.subject))
	if err != nil {
		return err
	}
	p.data, p.seq = m.Data, m.Sequence+1
	p.size, err = strconv.ParseInt(m.Header.Get(sizeHeader), 10, 64)
	return err
}

// Read reads the file.
func (p *parts) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	if len(p.data) == 0 {
		if err := p.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	p.left -= int64(n)
	return n, nil
}

// Close does nothing.
func (p *parts) Close() error { return nil }

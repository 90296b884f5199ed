package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/collector"
)

// store keeps the snapshots of a shard. An object is the messages of one subject, so that
// removing it leaves nothing (JetStream's own object store keeps a message for each object
// that was removed):
//
//	PREFIX.object.SHARD.EPOCH.SHA256
//
// The epoch is the revision of the owner key when this node became the owner. An object of an
// earlier epoch that the head does not list was written by an owner that was replaced before it used it.
// The head is a key whose value is the name of an object, the list of the snapshot.
type store struct {
	c     *Cluster
	shard int
	epoch uint64

	have     map[string]bool // objects by name
	revision uint64          // of the head
	list     string          // object that it names
	cleaned  bool            // objects of earlier epochs were removed
}

const (
	partHeader   = "Cairn-Parts"
	storeTimeout = 20 * time.Second
)

func newStore(c *Cluster, shard int, epoch uint64) *store {
	return &store{c: c, shard: shard, epoch: epoch, have: make(map[string]bool)}
}

func (s *store) subject(name string) string {
	return fmt.Sprintf("%s.object.%d.%s", s.c.o.Prefix, s.shard, name)
}

func (s *store) headKey() string { return fmt.Sprintf("head.%d", s.shard) }

// Put stores an object.
func (s *store) Put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := fmt.Sprintf("%d.%x", s.epoch, sum)
	if s.have[name] {
		return name, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	// Remove the parts that a failed attempt left.
	if err := s.c.objects.Purge(ctx, jetstream.WithPurgeSubject(s.subject(name))); err != nil {
		return "", fmt.Errorf("object %s: %w", name, err)
	}
	size := s.c.partSize()
	parts := max(1, (len(data)+size-1)/size)
	for i := range parts {
		m := nats.NewMsg(s.subject(name))
		m.Header.Set(partHeader, strconv.Itoa(parts))
		m.Data = data[i*size : min(len(data), (i+1)*size)]
		if _, err := s.c.js.PublishMsg(ctx, m); err != nil {
			return "", fmt.Errorf("object %s: %w", name, err)
		}
	}
	s.have[name] = true
	return name, nil
}

// Get returns an object.
func (s *store) Get(name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	var data bytes.Buffer
	seq, parts := uint64(1), 1
	for i := 0; i < parts; i++ {
		m, err := s.c.objects.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(s.subject(name)))
		if err == nil {
			parts, err = strconv.Atoi(m.Header.Get(partHeader))
		}
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", name, err)
		}
		data.Write(m.Data)
		seq = m.Sequence + 1
	}
	_, want, _ := strings.Cut(name, ".")
	if sum := sha256.Sum256(data.Bytes()); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("object %s is damaged: its SHA-256 is %x", name, sum)
	}
	s.have[name] = true
	return data.Bytes(), nil
}

// Heads returns the list of the last snapshot, none if there is no snapshot. Its replicas are on other nodes, so no
// older one is kept.
func (s *store) Heads() ([]collector.Head, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	e, err := s.c.kv.Get(ctx, s.headKey())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.revision, s.list = e.Revision(), string(e.Value())
	list, err := s.Get(s.list)
	if err != nil {
		return nil, err
	}
	return []collector.Head{{List: list}}, nil
}

// SetHead replaces the list of the snapshot, unless another node did so since Heads.
func (s *store) SetHead(list, _ []byte) error {
	name, err := s.Put(list)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	revision, err := s.c.kv.Update(ctx, s.headKey(), []byte(name), s.revision)
	if isWrongRevision(err) {
		return fmt.Errorf("shard %d: %w", s.shard, collector.ErrSuperseded)
	}
	if err != nil {
		return err
	}
	s.revision, s.list = revision, name
	return nil
}

// isWrongRevision reports that a key has changed since it was read.
func isWrongRevision(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Keep removes the objects of this owner that the head does not use, and the first time those of
// all earlier owners.
func (s *store) Keep(used map[string]bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if !s.cleaned {
		if err := s.findEarlier(ctx); err != nil {
			return err
		}
		s.cleaned = true
	}
	for name := range s.have {
		if used[name] || name == s.list {
			continue
		}
		if err := s.c.objects.Purge(ctx, jetstream.WithPurgeSubject(s.subject(name))); err != nil {
			return err
		}
		delete(s.have, name)
	}
	return nil
}

// findEarlier adds the objects of earlier owners to those that Keep may remove. None of these
// can put them into a head any more.
func (s *store) findEarlier(ctx context.Context) error {
	prefix := s.subject("")
	info, err := s.c.objects.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		name := strings.TrimPrefix(subject, prefix)
		epoch, _, _ := strings.Cut(name, ".")
		if n, err := strconv.ParseUint(epoch, 10, 64); err == nil && n < s.epoch {
			s.have[name] = true
		}
	}
	return nil
}

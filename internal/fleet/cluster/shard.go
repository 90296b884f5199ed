package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/journal/stream"
)

// handoverDelay is how long a node waits before it hands a shard over to a preferred owner, which may
// be restarting again and again.
const handoverDelay = 10 * beat

// owner is the value of the owner key of a shard.
type owner struct {
	Node    string `json:"node"`
	Session string `json:"session"`
}

// shard is a part of the builds.
type shard struct {
	c      *Cluster
	number int
	log    *slog.Logger

	mu        sync.Mutex
	collector *collector.Collector // nil if this node is not the owner
	owner     owner                // as it was last seen
}

// owned returns the collector of a shard that this node owns, nil for others.
func (s *shard) owned() *collector.Collector {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collector
}

func (s *shard) set(c *collector.Collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collector = c
}

// run becomes the owner of the shard whenever this node should, and merges it, until ctx ends.
func (s *shard) run(ctx context.Context) {
	for ctx.Err() == nil {
		revision, ok := s.take(ctx)
		if !ok {
			pause(ctx, beat)
			continue
		}
		s.log.Info("owner of a shard")
		if err := s.merge(ctx, revision); err != nil && ctx.Err() == nil {
			s.log.Warn("not the owner of a shard any more", "error", err)
			pause(ctx, beat)
		}
	}
}

func (s *shard) key() string { return fmt.Sprintf("owner.%d", s.number) }

// read returns the owner of the shard and the revision of the key; zero values if there never
// was one.
func (s *shard) read(ctx context.Context) (owner, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	var o owner
	e, err := s.c.kv.Get(ctx, s.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		s.c.reach()
		return o, 0, nil
	}
	if err != nil {
		return o, 0, err
	}
	s.c.reach()
	if err := json.Unmarshal(e.Value(), &o); err != nil {
		return o, 0, fmt.Errorf("key %s: %w", s.key(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = o
	return o, e.Revision(), nil
}

// take makes this node the owner if the owner is gone and this node is the preferred one. It
// returns the revision of the key, which identifies the objects that this owner writes.
func (s *shard) take(ctx context.Context) (revision uint64, ok bool) {
	o, revision, err := s.read(ctx)
	if err != nil {
		return 0, false
	}
	nodes := s.c.members.alive()
	for i := range nodes {
		if nodes[i].Node == o.Node && nodes[i].Session == o.Session && o.Session != s.c.session {
			return 0, false
		}
	}
	if preferred(s.number, nodes) != s.c.o.Node {
		if o.Session == s.c.session { // this node failed as the owner: others wait for it
			s.write(ctx, owner{}, revision)
		}
		return 0, false
	}
	return s.write(ctx, owner{s.c.o.Node, s.c.session}, revision)
}

// write replaces the owner, unless it has changed since it was read.
func (s *shard) write(ctx context.Context, o owner, revision uint64) (uint64, bool) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	data, err := json.Marshal(o)
	if err == nil {
		revision, err = s.c.kv.Update(ctx, s.key(), data, revision)
	}
	return revision, err == nil
}

// merge merges the journal of the shard while this node is the owner.
func (s *shard) merge(ctx context.Context, revision uint64) error {
	opening, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	j, err := stream.New(opening, s.c.js, s.c.streamConfig(s.number))
	if err != nil {
		return err
	}
	options := s.c.o.Collector
	options.Log = s.log
	options.Memory /= int64(len(s.c.list())) // this node may own all shards
	c, err := collector.Open(j, newStore(s.c, s.number, revision), options)
	if err != nil {
		return errors.Join(err, j.Close())
	}
	s.set(c)
	defer s.set(nil)
	sub, err := s.c.conn.Subscribe(s.c.askSubject(s.number), func(m *nats.Msg) { go s.respond(c, m) })
	if err != nil {
		return errors.Join(err, c.Kill())
	}
	err = s.hold(ctx, c, revision)
	if errors.Is(err, errHandOver) || ctx.Err() != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		err = errors.Join(sub.Unsubscribe(), c.Close(ending))
		s.write(ending, owner{}, revision)
		return err
	}
	return errors.Join(err, sub.Unsubscribe(), c.Kill())
}

func (s *shard) respond(c *collector.Collector, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	var q question
	var data []byte
	err := json.Unmarshal(m.Data, &q)
	if err == nil {
		data, err = answer(ctx, c, &q)
	}
	if err := s.c.respond(m.Reply, data, err); err != nil {
		s.log.Warn("answering another node", "error", err)
	}
}

var (
	errHandOver = errors.New("another node is the preferred owner")
	errReplaced = errors.New("another node has become the owner")
)

// hold returns when this node must not own the shard any longer.
func (s *shard) hold(ctx context.Context, c *collector.Collector, revision uint64) error {
	other := 0 // beats for which another node was preferred
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.Done():
			return c.Status().Err
		case <-time.After(beat):
		}
		// Without an answer this node continues: no other node could become the owner either.
		if _, now, err := s.read(ctx); err == nil && now > revision {
			return errReplaced
		}
		if preferred(s.number, s.c.members.alive()) == s.c.o.Node {
			other = 0
		} else if other++; other > int(handoverDelay/beat) {
			return errHandOver
		}
	}
}

// pause waits for a time or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/stream"
)

// Options are settings of a node.
type Options struct {
	Node     string // name of this node
	URL      string // of this node, for the list of nodes
	Prefix   string // of the names of streams and subjects
	Replicas int
	Shards   int // number of shards of a new cluster; an existing one keeps its number
	MaxBytes int64

	Embedded *Embedded // the server in this process; nil to use Server
	Server   string    // URL of an existing server
	Creds    string    // file of credentials for it, may be empty

	DebugBuilds int // number of builds whose programs and debug files are kept, 0 for all

	Collector collector.Options
	Log       *slog.Logger
}

// MaxShards is the maximum of shards: each is a stream.
const MaxShards = 256

// Cluster is a node of a cluster. It takes uploads and answers queries for all of it.
type Cluster struct {
	o       Options
	session string
	server  natsServer // nil if it is not in this process
	conn    *nats.Conn
	js      jetstream.JetStream
	kv      jetstream.KeyValue
	objects jetstream.Stream
	members *members
	cancel  context.CancelFunc
	running sync.WaitGroup
	reached atomic.Int64 // when JetStream last answered, by the time since the start
	started time.Time

	mu       sync.Mutex
	shards   []*shard
	journals []*stream.Journal
	starting error // why it is not ready, nil when it is
}

// Open starts a node. It returns before the cluster has a majority: until then, calls return
// journal.ErrUnavailable.
func Open(o Options) (*Cluster, error) {
	c := &Cluster{o: o, session: rand.Text(), members: newMembers(), started: time.Now(), starting: errors.New("connecting to the other nodes")}
	options := []nats.Option{nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.Name("cairn " + o.Node)}
	if o.Embedded != nil {
		var err error
		token := rand.Text()
		if c.server, err = o.Embedded.start(o.Node, token, o.Log); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(c.server), nats.Token(token))
	} else if o.Creds != "" {
		options = append(options, nats.UserCredentials(o.Creds))
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	var err error
	if c.conn, err = nats.Connect(o.Server, options...); err == nil {
		c.js, err = jetstream.New(c.conn)
	}
	if err == nil {
		_, err = c.conn.Subscribe(o.Prefix+".alive", c.members.hear)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	c.running.Go(func() { c.beat(ctx) })
	c.running.Go(func() { c.start(ctx) })
	return c, nil
}

// reach records that JetStream answered.
func (c *Cluster) reach() { c.reached.Store(int64(time.Since(c.started))) }

// beat announces this node while JetStream answers it. A node that hears the others but cannot
// read and write is not an owner: its shards go to nodes that can.
func (c *Cluster) beat(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, beat) {
		if time.Since(c.started)-time.Duration(c.reached.Load()) > silence {
			continue
		}
		m := Member{Node: c.o.Node, Session: c.session, URL: c.o.URL}
		for _, s := range c.list() {
			if owned := s.owned(); owned != nil {
				m.Waiting += owned.Waiting()
			}
		}
		if data, err := json.Marshal(m); err == nil {
			_ = c.conn.Publish(c.o.Prefix+".alive", data) // the next one is a second away
		}
	}
}

// start creates the streams if they do not exist, and starts the shards.
func (c *Cluster) start(ctx context.Context) {
	for {
		err := c.setUp(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		c.o.Log.Debug("starting", "error", err)
		c.mu.Lock()
		c.starting = err
		c.mu.Unlock()
		pause(ctx, beat)
	}
	if ctx.Err() != nil {
		return
	}
	c.reach()
	// The first node would take all shards if it did not wait for the others to announce
	// themselves.
	pause(ctx, 2*beat)
	c.mu.Lock()
	c.starting = nil
	shards := c.shards
	c.mu.Unlock()
	c.o.Log.Info("the cluster is ready", "node", c.o.Node, "shards", len(shards))
	for _, s := range shards {
		c.running.Go(func() { s.run(ctx) })
	}
}

func (c *Cluster) setUp(ctx context.Context) (err error) {
	// Without a majority a request gets no answer. The next attempt finds what this one created.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c.kv, err = c.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: c.o.Prefix, Description: "owners and snapshots of cairn collect", Replicas: c.o.Replicas,
	})
	if err != nil {
		return err
	}
	c.objects, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.o.Prefix + "-objects", Subjects: []string{c.o.Prefix + ".object.>"}, Description: "snapshots of cairn collect",
		Storage: jetstream.FileStorage, Replicas: c.o.Replicas, Discard: jetstream.DiscardNew, DenyDelete: true,
	})
	if err != nil {
		return err
	}
	n, err := c.shardCount(ctx)
	if err != nil {
		return err
	}
	var shards []*shard
	var journals []*stream.Journal
	for i := range n {
		j, err := stream.New(ctx, c.js, c.streamConfig(i))
		if err != nil {
			return err
		}
		journals = append(journals, j)
		shards = append(shards, &shard{c: c, number: i, log: c.o.Log.With("shard", i)})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards, c.journals = shards, journals
	return nil
}

// shardCount returns the number of shards that the cluster was created with. It cannot be changed: builds would
// move to shards without their state.
func (c *Cluster) shardCount(ctx context.Context) (int, error) {
	const key = "shards"
	_, err := c.kv.Create(ctx, key, []byte(strconv.Itoa(c.o.Shards)))
	if err != nil && !isWrongRevision(err) {
		return 0, err
	}
	e, err := c.kv.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(e.Value()))
	if err != nil || n < 1 || n > MaxShards {
		return 0, fmt.Errorf("key %s of the cluster is %.40q, not a number of shards", key, e.Value())
	}
	return n, nil
}

func (c *Cluster) streamConfig(shard int) stream.Config {
	return stream.Config{
		Stream: fmt.Sprintf("%s-journal-%d", c.o.Prefix, shard), Subject: fmt.Sprintf("%s.journal.%d", c.o.Prefix, shard),
		Replicas: c.o.Replicas, MaxBytes: c.o.MaxBytes, MaxPayload: c.conn.MaxPayload(),
	}
}

// partSize is how much of an object or an answer is in one message.
func (c *Cluster) partSize() int {
	return int(max(1<<10, min(512<<10, c.conn.MaxPayload()-8<<10)))
}

// notReady returns why the cluster is not ready.
func (c *Cluster) notReady() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting != nil {
		return fmt.Errorf("%w: %w", journal.ErrUnavailable, c.starting)
	}
	return nil
}

func (c *Cluster) list() []*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shards
}

// Close hands the shards of this node over, and stops it.
func (c *Cluster) Close(ctx context.Context) error {
	c.cancel()
	ended := make(chan struct{})
	go func() {
		c.running.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if c.conn != nil {
		c.conn.Close()
	}
	if c.server != nil {
		c.server.Shutdown()
		c.server.WaitForShutdown()
	}
	return err
}

// Nodes lists the nodes and the owner of each shard.
type Nodes struct {
	Node   string       `json:"node"` // that answers
	Nodes  []Member     `json:"nodes"`
	Shards []ShardState `json:"shards"`
}

// ShardState is a shard in the list.
type ShardState struct {
	Shard  int    `json:"shard"`
	Owner  string `json:"owner"`  // the node that merges, as it was last seen
	Leader string `json:"leader"` // the node that leads the stream of the journal
	Last   uint64 `json:"last"`   // number of the last record
	Stored uint64 `json:"stored"` // records that are not trimmed
}

// Nodes returns the state of the cluster as this node sees it.
func (c *Cluster) Nodes(ctx context.Context) (*Nodes, error) {
	if err := c.notReady(); err != nil {
		return nil, err
	}
	n := &Nodes{Node: c.o.Node, Nodes: c.members.alive()}
	for i, s := range c.list() {
		o, _, err := s.read(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
		}
		info, err := c.journals[i].Info(ctx)
		if err != nil {
			return nil, err
		}
		state := ShardState{Shard: i, Owner: o.Node, Last: info.State.LastSeq, Stored: info.State.Msgs}
		if info.Cluster != nil {
			state.Leader = info.Cluster.Leader
		}
		n.Shards = append(n.Shards, state)
	}
	return n, nil
}

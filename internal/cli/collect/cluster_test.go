package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/cluster"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// trio is a cluster of three processes.
type trio struct {
	t     testing.TB
	lists [3]string // of the nodes, as each node reaches them
	own   []string  // in place of the lists
	bin   string    // program that runs, "" for this one
	dirs  [3]string
	args  []string

	mu    sync.Mutex
	nodes [3]*process
}

const nodeNames = "abc"

func startTrio(t testing.TB, args ...string) *trio { return startVia(t, nil, args...) }

// startVia starts a cluster whose nodes reach each other at the addresses that via returns.
func startVia(t testing.TB, via func(from, to int, addr string) string, args ...string) *trio {
	t.Helper()
	return (&trio{t: t, args: args}).startAll(via)
}

// startAll starts the nodes.
func (c *trio) startAll(via func(from, to int, addr string) string) *trio {
	t := c.t
	t.Helper()
	var addrs [3]string
	for i := range addrs {
		addrs[i] = freeAddress(t)
		if c.dirs[i] == "" {
			c.dirs[i] = t.TempDir()
		}
	}
	for from := range c.lists {
		var list []string
		for to, addr := range addrs {
			if via != nil && from != to {
				addr = via(from, to, addr)
			}
			list = append(list, nodeNames[to:to+1]+"="+addr)
		}
		c.lists[from] = strings.Join(list, ",")
	}
	for i := range c.nodes {
		c.start(i)
	}
	for i := range c.nodes {
		c.ready(i)
	}
	return c
}

// freeAddress returns an address that is free. It is outside of the range from which the kernel takes ports for
// connections, so that it stays free until a process listens there.
func freeAddress(t testing.TB) string {
	t.Helper()
	const first, end = 12_000, 32_000
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// start starts a node.
func (c *trio) start(i int) {
	c.t.Helper()
	where := c.own
	if where == nil {
		where = []string{"--cluster", c.lists[i]}
	}
	p := startProgram(c.t, c.bin, c.dirs[i], slices.Concat(where, []string{"--node", nodeNames[i : i+1], "--shards", "3"}, c.args)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = p
}

func (c *trio) url(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i].url
}

// deadline is how long anything may take on a busy machine.
const deadline = 3 * time.Minute

// until calls f until it succeeds.
func (c *trio) until(what string, f func() error) {
	c.t.Helper()
	end := time.Now().Add(deadline)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			for i, p := range c.nodes {
				c.t.Logf("node %d: %s", i, &p.talk)
			}
			c.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *trio) ready(i int) {
	c.t.Helper()
	c.until("waiting for a node", func() error {
		_, err := newClient().Get(c.t.Context(), c.url(i)+"/readyz", 1<<20)
		return err
	})
}

// state returns the state of the cluster, from the first node that knows.
func (c *trio) state() (n cluster.Nodes) {
	c.t.Helper()
	c.until("asking for the state", func() error {
		var failed error
		for i := range c.nodes {
			data, err := newClient().Get(c.t.Context(), c.url(i)+"/v1/cluster", 1<<20)
			if err == nil {
				return json.Unmarshal(data, &n)
			}
			failed = err
		}
		return failed
	})
	return n
}

// load sends files to any node, until each is acknowledged. Every tenth is sent again.
type load struct {
	c     *trio
	files chan []byte
	acks  chan struct{}
	wg    sync.WaitGroup
}

func (c *trio) load(senders int) *load {
	l := &load{c: c, files: make(chan []byte, 1000), acks: make(chan struct{}, 1<<20)}
	for range senders {
		l.wg.Go(func() {
			for data := range l.files {
				l.send(data)
				if rand.IntN(10) == 0 {
					l.send(data)
				}
				l.acks <- struct{}{}
			}
		})
	}
	return l
}

// runs sends n runs of a fleet and waits until they, or others, are acknowledged.
func (l *load) runs(f *fleet, n int) {
	for range n {
		l.files <- f.run(l.c.t)
	}
	for range n {
		<-l.acks
	}
}

func (l *load) send(data []byte) {
	for end := time.Now().Add(deadline); ; {
		err := send(l.c.url(rand.IntN(len(l.c.nodes))), data)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			l.c.t.Errorf("sending: %v", err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fleet are the runs of three programs, in different shards.
type fleet struct {
	programs []*fleettest.Program
	raws     []map[string][]byte
	runs     uint64
	last     string // key of the last run in raws
}

func newFleet() *fleet {
	f := new(fleet)
	for i := range 6 { // of two builds each
		f.programs = append(f.programs, fleettest.NewProgram(fmt.Sprintf("app%d", i/2), prof.BuildID(fmt.Sprintf("build %d", i)), 50))
	}
	for range 3 {
		f.raws = append(f.raws, map[string][]byte{})
	}
	return f
}

// run returns a file of another run.
func (f *fleet) run(t testing.TB) []byte {
	f.runs++
	i := int(f.runs) % len(f.programs)
	data := f.programs[i].Run(t, f.runs)
	f.last = fmt.Sprint(f.runs)
	f.raws[i/2][f.last] = data
	return data
}

// compare compares the profiles that a node has with those that merge makes.
func (f *fleet) compare(t *testing.T, c *trio, node int) {
	t.Helper()
	for i, raws := range f.raws {
		url := fmt.Sprintf("%s/app%d", c.url(node), i)
		var got []byte
		c.until("asking for a profile", func() (err error) {
			got, err = newClient().Get(t.Context(), url, 1<<30)
			return err
		})
		if want := fleettest.Merged(t, f.programs[2*i:2*i+2], raws); !bytes.Equal(got, want) {
			t.Errorf("%s: the profile is not that of the %d runs, but has %d", url, len(raws), runsOf(t, got))
		}
	}
}

// runsOf returns the number of runs in a profile.
func runsOf(t *testing.T, data []byte) (n uint64) {
	t.Helper()
	p, err := mip.ReadProfile(data)
	if err != nil {
		t.Error(err)
		return 0
	}
	for i := range p.Modules {
		n += p.Modules[i].Raws
	}
	return n
}

// TestClusterKill kills any node, the leader of a stream and the merger of a shard in turn, while
// files come. The profiles are those that cairn merge makes of the same files.
func TestClusterKill(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 1
	}
	c := startTrio(t, "--snapshot", "100ms")
	f := newFleet()
	l := c.load(8)
	for _, p := range f.programs {
		l.files <- p.MapFile(t)
	}
	for round := range rounds {
		l.runs(f, 60)
		victim := c.victim(round)
		for range 60 {
			l.files <- f.run(t)
		}
		if err := c.nodes[victim].end(syscall.SIGKILL); err == nil {
			t.Fatalf("node %d ended by itself: %s", victim, &c.nodes[victim].talk)
		}
		l.runs(f, 60)
		c.start(victim)
		l.runs(f, 60)
		c.ready(victim)
	}
	close(l.files)
	l.wg.Wait()
	for i := range c.nodes {
		f.compare(t, c, i)
	}
	t.Logf("%d runs, %d rounds", f.runs, rounds)
	for _, p := range c.nodes {
		if err := p.end(syscall.SIGTERM); err != nil {
			t.Errorf("a node ended with %v: %s", err, &p.talk)
		}
	}
}

// victim returns the node to kill in a round.
func (c *trio) victim(round int) int {
	state := c.state()
	shard := state.Shards[round/3%len(state.Shards)]
	name := nodeNames[rand.IntN(3):][:1]
	switch round % 3 {
	case 1:
		name = shard.Leader
	case 2:
		name = shard.Owner
	}
	return max(0, strings.Index(nodeNames, name))
}

// proxy forwards connections, and holds back all that comes while it is cut.
type proxy struct {
	net.Listener
	mu  sync.Mutex
	cut bool
	on  *sync.Cond
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	p.on = sync.NewCond(&p.mu)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go p.copy(in, out)
			go p.copy(out, in)
		}
	}()
	return p
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.cut {
			p.on.Wait()
		}
		p.mu.Unlock()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	p.on.Broadcast()
}

// TestPartition stops the connections of the owner of a shard to the other nodes, so that another becomes the
// owner, and connects it again. The first one has state of its own, and must not count it.
func TestPartition(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	var proxies [3][]*proxy // by the node that they cut off
	c := startVia(t, func(from, to int, addr string) string {
		p := startProxy(t, addr)
		proxies[from] = append(proxies[from], p)
		proxies[to] = append(proxies[to], p)
		return p.Addr().String()
	}, "--snapshot", "100ms")
	f, l := newFleet(), c.load(16)
	for _, p := range f.programs {
		l.files <- p.MapFile(t)
	}
	for round := range 3 {
		l.runs(f, 60)
		owner := max(0, strings.Index(nodeNames, c.state().Shards[round].Owner))
		for _, p := range proxies[owner] {
			p.set(true)
		}
		l.runs(f, 120)
		other := (owner + 1) % 3
		c.until("waiting for another owner", func() error {
			var n cluster.Nodes
			data, err := newClient().Get(t.Context(), c.url(other)+"/v1/cluster", 1<<20)
			if err == nil {
				err = json.Unmarshal(data, &n)
			}
			if err == nil && n.Shards[round].Owner == nodeNames[owner:owner+1] {
				err = errors.New("the owner is the same")
			}
			return err
		})
		l.runs(f, 60)
		for _, p := range proxies[owner] {
			p.set(false)
		}
		l.runs(f, 60)
	}
	close(l.files)
	l.wg.Wait()
	for i := range c.nodes {
		c.ready(i)
		f.compare(t, c, i)
	}
}

func TestClusterFlags(t *testing.T) {
	t.Parallel()
	three := "a=127.0.0.1:1,b=127.0.0.1:2,c=127.0.0.1:3"
	for _, args := range [][]string{
		{"--cluster", three},
		{"--cluster", three, "--node", "d"},
		{"--cluster", "a=127.0.0.1:1,b=127.0.0.1:2", "--node", "a"},
		{"--cluster", "a=127.0.0.1:1,b=127.0.0.1:1,c=127.0.0.1:3", "--node", "a"},
		{"--cluster", "a=127.0.0.1,b=127.0.0.1:1,c=127.0.0.1:3", "--node", "a"},
		{"--cluster", "a=10.0.0.1:1,b=10.0.0.2:1,c=10.0.0.3:1", "--node", "a"},
		{"--cluster", three, "--node", "a", "--shards", "0"},
		{"--cluster", three, "--node", "a", "--nats", "nats://127.0.0.1"},
		{"--cluster", three, "--node", "a", "--cluster-cert", "x"},
		{"--node", "a"},
	} {
		if err := runCollect(t, append(args, "--listen", "127.0.0.1:0", t.TempDir())); !errors.As(err, new(verb.UsageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

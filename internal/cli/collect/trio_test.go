package collect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/prof"
)

// trio is three collectors that share an object store, each a process.
type trio struct {
	t     testing.TB
	store *storetest.Store
	urls  [3]string // of the store, as each collector reaches it
	bin   string    // program that runs, "" for this one
	args  []string

	mu    sync.Mutex
	nodes [3]*process
}

const place = storetest.Place + "/cairn"

func startTrio(t testing.TB, args ...string) *trio {
	t.Helper()
	return (&trio{t: t, args: args}).startAll()
}

// startAll starts a store, if there is none yet, and the collectors.
func (c *trio) startAll() *trio {
	c.t.Helper()
	return c.startSome(len(c.nodes))
}

// startSome starts the first n of the collectors.
func (c *trio) startSome(n int) *trio {
	c.t.Helper()
	if c.store == nil {
		c.store = storetest.Start(c.t)
	}
	for i := range n {
		if c.urls[i] == "" {
			c.urls[i] = c.store.URL
		}
		c.start(i)
	}
	return c
}

// start starts a collector.
func (c *trio) start(i int) {
	c.t.Helper()
	p := startProgram(c.t, build{bin: c.bin, env: storetest.Environment(c.urls[i])}, place, c.args...)
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
				p.end(syscall.SIGQUIT) //nolint:errcheck // it ends with the stacks of its goroutines
				c.t.Logf("collector %d: %s", i, &p.talk)
			}
			c.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *trio) ready(i int) {
	c.t.Helper()
	c.until("waiting for a collector", func() error {
		_, err := newClient().Get(c.t.Context(), c.url(i)+"/readyz", 1<<20)
		return err
	})
}

// load sends files to any collector, until each is acknowledged. Every tenth is sent again.
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

// fleet are the runs of three programs.
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

// compare compares the profiles that a collector has with those that merge makes.
func (f *fleet) compare(t testing.TB, c *trio, node int) {
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
func runsOf(t testing.TB, data []byte) (n uint64) {
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

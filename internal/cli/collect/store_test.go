package collect

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// TestStoreKill kills collectors that share an object store, and the store, while files come. The profiles are those that
// cairn merge makes of the same files, and those of collectors that start later.
func TestStoreKill(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 2
	}
	c := startTrio(t, "--snapshot", "100ms")
	f, l := c.begin(8)
	for round := range rounds {
		l.runs(f, 60)
		for range 60 {
			l.files <- f.run(t)
		}
		if round%4 == 1 {
			c.store.Kill()
			c.store.Restart()
		} else {
			c.kill(rand.IntN(3))
		}
		l.runs(f, 60)
	}
	c.finish(f, l)
	for _, p := range c.nodes {
		if err := p.end(syscall.SIGTERM); err != nil {
			t.Errorf("a collector ended with %v: %s", err, &p.talk)
		}
	}
	c.startAll()
	for i := range c.nodes {
		f.compare(t, c, i)
	}
}

// begin sends the maps of a fleet.
func (c *trio) begin(senders int) (*fleet, *load) {
	f, l := newFleet(), c.load(senders)
	for _, p := range f.programs {
		l.files <- p.MapFile(c.t)
	}
	for range f.programs {
		<-l.acks
	}
	return f, l
}

// kill kills a collector and starts another one in its place.
func (c *trio) kill(i int) {
	c.t.Helper()
	if err := c.nodes[i].end(syscall.SIGKILL); err == nil {
		c.t.Fatalf("collector %d ended by itself: %s", i, &c.nodes[i].talk)
	}
	c.start(i)
}

// finish waits for all files and compares the profiles of all collectors.
func (c *trio) finish(f *fleet, l *load) {
	c.t.Helper()
	close(l.files)
	l.wg.Wait()
	for i := range c.nodes {
		c.ready(i)
		f.compare(c.t, c, i)
	}
	c.t.Logf("%d runs", f.runs)
}

// TestStorePause stops a collector for a while, so that it continues with what it knew before: the others have appended,
// written snapshots, and removed what is in these.
func TestStorePause(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	rounds := 30
	if testing.Short() {
		rounds = 2
	}
	c := startTrio(t, "--snapshot", "50ms")
	f, l := c.begin(16)
	for range rounds {
		l.runs(f, 60)
		stopped := rand.IntN(3)
		c.nodes[stopped].signal(t, syscall.SIGSTOP)
		for i := range 100 {
			other := c.url((stopped + 1 + i%2) % 3)
			c.until("sending to another collector", func() error { return send(other, f.run(t)) })
		}
		c.nodes[stopped].signal(t, syscall.SIGCONT)
		l.runs(f, 60)
	}
	c.finish(f, l)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// TestStorePartition stops the connections between a collector and the store while it has requests under way, and connects
// it again. The requests arrive late, after others have appended.
func TestStorePartition(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 1
	}
	c := &trio{t: t, store: storetest.Start(t), args: []string{"--snapshot", "100ms"}}
	var proxies [3]*proxy
	for i := range proxies {
		proxies[i] = startProxy(t, strings.TrimPrefix(c.store.URL, "http://"))
		c.urls[i] = "http://" + proxies[i].Addr().String()
	}
	c.startAll()
	f, l := c.begin(16)
	for round := range rounds {
		l.runs(f, 60)
		for range 60 {
			l.files <- f.run(t)
		}
		cut := round % 3
		proxies[cut].set(true)
		for i := range 60 {
			other := c.url((cut + 1 + i%2) % 3)
			c.until("sending to another collector", func() error { return send(other, f.run(t)) })
		}
		proxies[cut].set(false)
		for range 60 {
			<-l.acks
		}
	}
	c.finish(f, l)
}

// TestStoreMembers adds collectors to those that share a store, ends some, and replaces all: each that runs has all runs.
func TestStoreMembers(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	c := startTrio(t, "--snapshot", "100ms")
	f, l := c.begin(8)
	l.runs(f, 60)
	t.Run("added", func(t *testing.T) {
		fourth := &trio{t: t, store: c.store, args: c.args}
		fourth.startAll()
		l.runs(f, 60)
		c.until("sending to an added collector", func() error { return send(fourth.url(0), f.run(t)) })
		for i := range c.nodes {
			f.compare(t, fourth, i)
			f.compare(t, c, i)
		}
		for _, p := range fourth.nodes { // removed again
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Errorf("a collector ended with %v: %s", err, &p.talk)
			}
		}
	})
	t.Run("removed", func(t *testing.T) {
		for _, p := range c.nodes[1:] {
			p.end(syscall.SIGKILL) //nolint:errcheck // it was killed
		}
		c.until("sending to the last collector", func() error { return send(c.url(0), f.run(t)) })
		f.compare(t, c, 0)
	})
	t.Run("replaced", func(t *testing.T) {
		c.kill(0)
		c.start(1)
		c.start(2)
		l.runs(f, 60)
	})
	c.finish(f, l)
}

// TestStoreRefused starts collectors with wrong keys, for a bucket that is not there, and for no store. Each ends with a
// line that names the place and the reason.
func TestStoreRefused(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	store := storetest.Start(t)
	for _, test := range []struct{ name, place, variable, want string }{
		{"wrong key", place, "AWS_SECRET_ACCESS_KEY=another secret", "SignatureDoesNotMatch"},
		{"unknown key", place, "AWS_ACCESS_KEY_ID=nobody", "access key ID"},
		{"no key", place, "AWS_ACCESS_KEY_ID=", "set AWS_ACCESS_KEY_ID"},
		{"no bucket", "s3://nowhere/cairn", "", "NoSuchBucket"},
		{"no store", place, "AWS_ENDPOINT_URL=http://127.0.0.1:1", "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "--listen", "127.0.0.1:0", test.place)
			cmd.Env = append(append(os.Environ(), storetest.Environment(store.URL)...), asCommand+"=1", test.variable)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) || !strings.Contains(string(out), test.place) {
				t.Errorf("error %v: %s, want %q", err, out, test.want)
			}
		})
	}
}

// TestStoreDamage flips bits of the newest object of the journal, and removes one, while no collector runs. The uploads in
// it are lost, and counted; collectors start, have all others, and take more.
func TestStoreDamage(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	if os.Getenv(storetest.Variable) != "" {
		t.Skip("the files of this store are elsewhere")
	}
	for _, test := range []struct {
		name   string
		damage func(path string) error
	}{
		{"missing", os.Remove},
		{"damaged", func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(path, data, 0o600)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := startTrio(t, "--snapshot", "1h")
			program := fleettest.NewProgram("app0", "\x01\x02", 50)
			raws := map[string][]byte{}
			if err := send(c.url(0), program.MapFile(t)); err != nil {
				t.Fatal(err)
			}
			for run := uint64(1); run < 10; run++ {
				raws[fmt.Sprint(run)] = program.Run(t, run)
				if err := send(c.url(int(run%3)), raws[fmt.Sprint(run)]); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range c.nodes {
				p.end(syscall.SIGKILL) //nolint:errcheck // it was killed
			}
			objects, err := filepath.Glob(filepath.Join(c.store.Root, storetest.Bucket, "cairn", "journal", "*"))
			if err != nil || len(objects) != 10 {
				t.Fatalf("objects %v, %v", objects, err)
			}
			if err := test.damage(objects[4]); err != nil { // of run 4
				t.Fatal(err)
			}
			delete(raws, "4")
			c.startAll()
			raws["10"] = program.Run(t, 10)
			if err := send(c.url(0), raws["10"]); err != nil {
				t.Fatal(err)
			}
			for i := range c.nodes {
				if got, want := get(t, c.url(i)+"/app0"), fleettest.Merged(t, []*fleettest.Program{program}, raws); string(got) != string(want) {
					t.Errorf("collector %d: the profile is not that of %d runs, but has %d", i, len(raws), runsOf(t, got))
				}
				if metrics := string(get(t, c.url(i)+"/metrics")); !strings.Contains(metrics, "\ncairn_journal_lost_total 1\n") {
					t.Errorf("collector %d: no lost upload in the metrics: %s", i, metrics)
				}
			}
		})
	}
}

// TestStoreFull fills the disk of the store. Uploads are rejected, and what was acknowledged is in the profiles, also of
// collectors that start with the full store. When there is room again, uploads are taken.
func TestStoreFull(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	if os.Getenv(storetest.Variable) != "" {
		t.Skip("the files of this store are elsewhere")
	}
	c := &trio{t: t, store: storetest.StartApart(t), args: []string{"--snapshot", "1h"}}
	disk := filepath.Join(c.store.Root, storetest.Bucket)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { errors.Join(syscall.Unmount(disk, syscall.MNT_DETACH)) }) //nolint:errcheck // the test is over
	c.startAll()
	program, raws := fleettest.NewProgram("app0", "\x01\x02", 2000), map[string][]byte{}
	if err := send(c.url(0), program.MapFile(t)); err != nil {
		t.Fatal(err)
	}
	var full error
	for run := uint64(1); full == nil; run++ {
		data := program.Run(t, run)
		if full = send(c.url(int(run%3)), data); full == nil {
			raws[fmt.Sprint(run)] = data
		}
		if run == 10_000 {
			t.Fatal("the store does not get full")
		}
	}
	t.Logf("%d runs, then %v", len(raws), full)
	compare := func() {
		t.Helper()
		want := fleettest.Merged(t, []*fleettest.Program{program}, raws)
		for i := range c.nodes {
			if got := get(t, c.url(i)+"/app0"); string(got) != string(want) {
				t.Errorf("collector %d: the profile is not that of %d runs, but has %d", i, len(raws), runsOf(t, got))
			}
		}
	}
	compare()
	for i := range c.nodes {
		c.kill(i)
	}
	compare()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=20m"); err != nil {
		t.Fatal(err)
	}
	raws["more"] = program.Run(t, 20_000)
	c.until("sending with room", func() error { return send(c.url(0), raws["more"]) })
	compare()
}

// TestStoreNeighbours keeps a fleet in a bucket that others use as well: its objects are beside a file that is not the
// collector's, and beside those of another fleet. Neither removes what is not its own.
func TestStoreNeighbours(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	store := storetest.Start(t)
	if os.Getenv(storetest.Variable) != "" {
		t.Skip("the files of this store are elsewhere")
	}
	strange := filepath.Join(store.Root, storetest.Bucket, "objects", "report.pdf")
	if err := os.MkdirAll(filepath.Dir(strange), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strange, []byte("not of cairn"), 0o666); err != nil {
		t.Fatal(err)
	}
	places := []string{storetest.Place, storetest.Place + "/objects"}
	var all []map[string][]byte
	for i, place := range places {
		program, raws := fleettest.NewProgram("app", prof.BuildID(fmt.Sprint("build", i)), 50), map[string][]byte{}
		for range 3 { // a snapshot at each end
			p := startProgram(t, build{env: storetest.Environment(store.URL)}, place)
			if len(raws) == 0 {
				if err := send(p.url, program.MapFile(t)); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				run := uint64(len(raws) + 1)
				raws[fmt.Sprint(run)] = program.Run(t, run)
				if err := send(p.url, raws[fmt.Sprint(run)]); err != nil {
					t.Fatal(err)
				}
			}
			get(t, p.url+"/app") // everything is merged
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Fatalf("%v: %s", err, &p.talk)
			}
		}
		all = append(all, raws)
	}
	for range 2 { // the fleet whose place the others are in removes old objects now
		for i, place := range places {
			p := startProgram(t, build{env: storetest.Environment(store.URL)}, place)
			program := fleettest.NewProgram("app", prof.BuildID(fmt.Sprint("build", i)), 50)
			run := uint64(len(all[i]) + 1)
			all[i][fmt.Sprint(run)] = program.Run(t, run)
			if err := send(p.url, all[i][fmt.Sprint(run)]); err != nil {
				t.Fatal(err)
			}
			if got := get(t, p.url+"/app"); !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{program}, all[i])) {
				t.Errorf("%s: the profile is not that of %d runs, but has %d", place, len(all[i]), runsOf(t, got))
			}
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Fatalf("%v: %s", err, &p.talk)
			}
		}
	}
	if _, err := os.Stat(strange); err != nil {
		t.Error(err)
	}
}

// BenchmarkStore is BenchmarkUploads with one collector and with three that share an object store.
func BenchmarkStore(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		for _, each := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%d/%d in each", nodes, each), func(b *testing.B) {
				c := (&trio{t: b}).startSome(nodes)
				benchmarkUploads(b, each, c.nodes[:nodes], []string{c.store.Root, b.TempDir(), b.TempDir()})
			})
		}
	}
}

package collect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestStoreCopy copies a place in an object store while three collectors write there, in the order that
// docs/fleet.md gives, and continues with the copy: it has what was acknowledged before, and what came meanwhile can be
// sent again.
func TestStoreCopy(t *testing.T) {
	shorttest.Proof(t)
	c := startTrio(t, "--snapshot", "100ms")
	for _, variable := range storetest.Environment(c.store.URL) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	program, raws := fleettest.NewProgram("app", "\x01\x02", 50), map[string][]byte{}
	if err := send(c.url(0), program.MapFile(t)); err != nil {
		t.Fatal(err)
	}
	some := func() (sent [][]byte) {
		for i := range 30 {
			run := uint64(len(raws) + 1)
			data := program.Run(t, run)
			raws[fmt.Sprint(run)] = data
			if err := send(c.url(i%3), data); err != nil {
				t.Error(err)
			}
			sent = append(sent, data)
		}
		return sent
	}
	some()
	for _, p := range c.nodes {
		if err := p.end(syscall.SIGTERM); err != nil { // each writes a snapshot
			t.Fatalf("%v: %s", err, &p.talk)
		}
	}
	c.args = []string{"--snapshot", "1h"}
	c.startAll()
	some()
	before := len(raws)

	var meanwhile [][]byte
	var sender sync.WaitGroup
	sender.Go(func() { meanwhile = some() })
	copied := copyPlace(t, place, storetest.Place+"/copy")
	sender.Wait()
	if copied < before-30 {
		t.Errorf("only %d objects", copied)
	}
	p := startProgram(t, build{}, storetest.Place+"/copy")
	if got := runsOf(t, get(t, p.url+"/app")); int(got) < before {
		t.Errorf("the copy has %d runs, %d were acknowledged before it was made", got, before)
	}
	for _, data := range meanwhile {
		if err := send(p.url, data); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, p.url+"/app"); !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{program}, raws)) {
		t.Errorf("the profile is not that of %d runs, but has %d", len(raws), runsOf(t, got))
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatalf("%v: %s", err, &p.talk)
	}
}

// copyPlace copies the objects of a place: the heads first, as what they list is kept until two more are written, and the
// journal last.
func copyPlace(t *testing.T, from, to string) int {
	t.Helper()
	a, err := objectstore.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	z, err := objectstore.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	ctx, n := context.Background(), 0
	for _, part := range []string{"head", "objects/", "debug/", "journal/"} {
		list, err := a.ListAll(ctx, part, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range slices.Backward(list) { // the order within a part does not matter
			data, _, err := a.Get(ctx, o.Name)
			if err == nil {
				_, err = z.Put(ctx, o.Name, data, objectstore.Condition{})
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

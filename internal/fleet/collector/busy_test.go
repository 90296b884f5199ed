package collector_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// slowStore is a directory that takes its time for an object.
type slowStore struct {
	*depot.Dir
	begun, may chan struct{}
}

func (s *slowStore) Put(data []byte) (string, error) {
	select {
	case s.begun <- struct{}{}:
		<-s.may
	case <-s.may:
	}
	return s.Dir.Put(data)
}

// TestBusy checks that requests do not wait for a snapshot as long as it takes, and that nothing is wrong after it.
func TestBusy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, d, err := parts(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := &slowStore{d, make(chan struct{}), make(chan struct{})}
	o := options
	o.SnapshotRecords, o.Patience = 1000, 10*time.Millisecond
	c, err := collector.Open(j, store, o)
	if err != nil {
		t.Fatal(err)
	}
	program := fleettest.NewProgram("app", "\xab\xcd", 30)
	submit := func(data []byte) error {
		items, _, err := inbox.Open(data, inbox.Limits{Files: 1, File: 1 << 20, Total: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Submit(t.Context(), items)
		return err
	}
	if err := submit(program.MapFile(t)); err != nil {
		t.Fatal(err)
	}
	for err = collector.ErrBehind; errors.Is(err, collector.ErrBehind); {
		_, err = c.Builds(t.Context(), tally.Query{}) // the map is merged
	}
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- c.Snapshot() }()
	<-store.begun
	if _, err := c.Builds(t.Context(), tally.Query{}); !errors.Is(err, collector.ErrBusy) {
		t.Errorf("a list of builds: %v", err)
	}
	if err := submit(program.Run(t, 1)); !errors.Is(err, collector.ErrBusy) {
		t.Errorf("an upload: %v", err)
	}
	close(store.may)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := submit(program.Run(t, 1)); err != nil {
		t.Error(err)
	}
	var list []tally.Build
	for {
		if list, err = c.Builds(t.Context(), tally.Query{}); !errors.Is(err, collector.ErrBehind) {
			break
		}
	}
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

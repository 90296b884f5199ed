package collector_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

var options = collector.Options{
	Limits: tally.Limits{Traces: fleettest.Traces, Logs: 1 << 20}, MaxWaiting: 1 << 20, SnapshotRecords: 5, SnapshotBytes: 1 << 20, SnapshotEvery: time.Hour,
	Free: func() (int64, error) { return 1 << 40, nil }, Log: slog.New(slog.DiscardHandler),
}

// parts opens the parts of a collector in a directory.
func parts(dir string) (*segment.Journal, *depot.Dir, error) {
	j, err := segment.Open(filepath.Join(dir, "journal"), segment.Options{SegmentSize: 300})
	if err != nil {
		return nil, nil, err
	}
	d, err := depot.Open(dir)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, d, nil
}

// open opens a collector in a directory.
func open(dir string) (*collector.Collector, error) {
	j, d, err := parts(dir)
	if err != nil {
		return nil, err
	}
	c, err := collector.Open(j, d, options)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return c, nil
}

// files returns the contents of all files in a directory by path.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// restore makes a directory have these files.
func restore(t *testing.T, dir string, all map[string][]byte) {
	t.Helper()
	err := os.RemoveAll(dir)
	for path, data := range all {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// collected returns a directory of a collector that was killed: two snapshots, and a journal with uploads before and
// after each. The first upload is a map, the others are runs.
func collected(t *testing.T, runs int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := fleettest.NewProgram("app", "\x01\x23", 30)
	for run := range runs + 1 {
		data := p.MapFile(t)
		if run > 0 {
			data = p.Run(t, uint64(run))
		}
		items, _, err := inbox.Open(data, inbox.Limits{Files: 1, File: 1 << 20, Total: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Submit(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Builds(t.Context(), tally.Query{}); err != nil { // all are merged
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// repaired opens a collector, after a repair if it does not open. Only objects of both snapshots make that necessary.
func repaired(t *testing.T, dir, path string) (c *collector.Collector, lost int) {
	t.Helper()
	c, err := open(dir)
	if err == nil {
		return c, 0
	}
	if !strings.Contains(path, "objects") || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Fatalf("%s: %v", path, err)
	}
	j, d, err := parts(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := collector.Repair(j, d, options, func(string, error) { lost++ }); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = open(dir); err != nil || lost == 0 {
		t.Fatalf("%s: after a repair of %d parts: %v", path, lost, err)
	}
	return c, lost
}

// TestFlippedBits flips bits of all files of a collector. It starts, and only the upload whose record has the bit is
// lost: none if the bit is in a snapshot.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	const runs = 12
	dir := collected(t, runs)
	good := files(t, dir)
	step := 7
	if testing.Short() {
		step = 311
	}
	for path, data := range good {
		for bit := 0; bit < 8*len(data); bit += step {
			bad := bytes.Clone(data)
			bad[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			inJournal := strings.HasSuffix(path, ".seg")
			checkRuns(t, dir, path, bit, runs, inJournal)
			restore(t, dir, good)
		}
	}
}

// checkRuns checks how many runs a collector has.
func checkRuns(t *testing.T, dir, path string, bit, runs int, mayLose bool) {
	t.Helper()
	c, lost := repaired(t, dir, path)
	builds, err := c.Builds(t.Context(), tally.Query{})
	if err != nil {
		t.Fatalf("bit %d of %s: %v", bit, path, err)
	}
	status := c.Status()
	got := int(status.Raws) + status.Waiting
	if lost == 0 && (got != runs && !(mayLose && got == runs-1) || len(builds) != 1) {
		t.Fatalf("bit %d of %s: %d of %d runs of %d builds", bit, path, got, runs, len(builds))
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
}

// TestLostFiles removes each file of a collector in turn, and cuts it. It starts, or says what is missing.
func TestLostFiles(t *testing.T) {
	t.Parallel()
	const runs = 12
	dir := collected(t, runs)
	good := files(t, dir)
	for path, data := range good {
		for _, size := range []int{-1, 0, len(data) / 2} {
			err := os.Remove(path)
			if size >= 0 {
				err = os.WriteFile(path, data[:size], 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c, lost := repaired(t, dir, path)
			if _, err := c.Builds(t.Context(), tally.Query{}); err != nil {
				t.Fatalf("%s with %d bytes: %v", path, size, err)
			}
			status := c.Status()
			if got := int(status.Raws) + status.Waiting; lost == 0 && got != runs && !strings.HasSuffix(path, ".seg") {
				t.Errorf("%s with %d bytes: %d of %d runs", path, size, got, runs)
			}
			if err := c.Kill(); err != nil {
				t.Fatal(err)
			}
			restore(t, dir, good)
		}
	}
	// Without both snapshots, the journal does not have all.
	for _, name := range []string{"head", "head.before"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := open(dir); err == nil || !strings.Contains(err.Error(), "the snapshot of those before is missing") {
		t.Errorf("without snapshots: %v", err)
		if err == nil {
			c.Kill()
		}
	}
}

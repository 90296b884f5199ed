package collect

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/client"
)

// TestClusterFull fills the disks of a cluster up to --min-free. It checks that uploads are
// rejected with the right status, that acknowledged runs are in the profiles, and that the
// nodes start again from their full disks. Without the space that --min-free leaves, JetStream
// would not start.
func TestClusterFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := &trio{t: t, args: []string{"--min-free", "2MB", "--snapshot", "1h"}}
	for i := range c.dirs {
		c.dirs[i] = smallDisk(t)
	}
	c.startAll(nil)
	f := newFleet()
	c.fill(f)
	t.Logf("%d runs until the disks were full", f.runs)
	for i := range c.nodes {
		f.compare(t, c, i)
	}
	for i := range c.nodes {
		if err := c.nodes[i].end(syscall.SIGKILL); err == nil {
			t.Fatal("a node ended by itself")
		}
	}
	for i := range c.nodes {
		c.start(i)
	}
	for i := range c.nodes {
		c.ready(i)
		f.compare(t, c, i)
	}
}

// smallDisk returns a directory on a small file system.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill sends runs until one is refused because the disks are full.
func (c *trio) fill(f *fleet) {
	c.t.Helper()
	for _, p := range f.programs {
		c.until("sending a map", func() error { return send(c.url(0), p.MapFile(c.t)) })
	}
	for n := 0; n < 200_000; n++ {
		data, unknown, full := f.run(c.t), false, false
		c.until("sending a run", func() error {
			err := send(c.url(n%3), data)
			var answer *client.Error
			if full = errors.As(err, &answer) && answer.Status == http.StatusInsufficientStorage; full {
				return nil
			}
			unknown = unknown || err != nil // it may be stored
			return err
		})
		if full && unknown {
			c.t.Skip("whether the last run was stored is not known")
		}
		if full {
			f.forget()
			return
		}
	}
	c.t.Fatal("the disks do not get full")
}

// forget removes the last run, which was not stored.
func (f *fleet) forget() {
	i := int(f.runs) % len(f.programs)
	delete(f.raws[i/2], f.last)
}

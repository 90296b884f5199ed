package collect

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

// TestTemporary starts collectors at once, each of which removes the directories of those that were killed. None
// removes that of another that has just made it, and those of the killed go.
func TestTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const collectors, rounds = 8, 50
	type place struct {
		dir  string
		lock *journal.Lock
	}
	for round := range rounds {
		_, killed, err := temporary()
		if err != nil {
			t.Fatal(err)
		}
		killed.Close() // as the kernel does, with the directory left
		var places [collectors]place
		var all sync.WaitGroup
		for i := range places {
			all.Go(func() {
				var err error
				if places[i].dir, places[i].lock, err = temporary(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, p := range places {
			if _, err := os.Stat(p.dir); err != nil {
				t.Errorf("round %d: another collector removed it: %v", round, err)
			}
		}
		for _, p := range places {
			if p.lock != nil {
				p.lock.Close()
			}
		}
	}
	if _, lock, err := temporary(); err != nil {
		t.Error(err)
	} else {
		defer lock.Close()
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "cairn-collector-*")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

package toolchain

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestPruneKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = keptBytes/keptLeast + 1
	for i := range n {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if old := time.Unix(int64(i), 0); i > 0 {
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if i == n-2 {
			pruneKept(dir)
			if left, err := os.ReadDir(dir); err != nil || len(left) != n-1 {
				t.Fatalf("%d of %d maps are left (%v)", len(left), n-1, err)
			}
		}
	}
	pruneKept(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != n/2 {
		t.Errorf("%d of %d maps are left (%v)", len(left), n, err)
	}
	for _, name := range []string{"0", strconv.Itoa(n - 1)} { // the newest
		if !Exists(filepath.Join(dir, name)) {
			t.Errorf("%s is removed", name)
		}
	}
}

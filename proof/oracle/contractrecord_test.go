//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
)

// recordModes are the columns of modes that keep records.
func recordModes() (modes []contractMode) {
	for _, name := range []string{"cover", "block", "count", "full", "order", "block+order", "edge"} {
		modes = append(modes, contractMode{name: name, flags: name, holds: heldRecords})
	}
	return append(modes,
		contractMode{name: "full, at exit", flags: "full", env: []string{"CAIRN_CONTINUOUS=0"}, holds: heldRecords},
		contractMode{name: "full, shared", flags: "full --shared-runtime " + filepath.Join(workDir, "runtime"), holds: heldRecords},
		contractMode{name: "full, thin LTO", flags: "full", compiler: "clang-22 -flto=thin -fuse-ld=lld", tools: []string{"clang-22", "ld.lld-22"}, holds: heldRecords},
		contractMode{name: "full, LTO by mold", flags: "full", compiler: "gcc -flto -fuse-ld=mold", tools: []string{"mold"}, holds: heldRecords})
}

// heldRecords compares the sum of all raw files with what the program did.
func heldRecords(t *testing.T, c *contractCell) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.dir, "*.mipraw"))
	if err != nil {
		t.Fatal(err)
	}
	m := c.programs.mapOf(t, c.program)
	own := merge.NewAccumulator(merge.NewLayout(&m.Map), 0)
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := mip.ParseRaw(data)
		if err != nil {
			return fmt.Sprintf("%s: %v", filepath.Base(f), err)
		}
		if raw.Scenario != "contract" {
			return fmt.Sprintf("%s: scenario %q", filepath.Base(f), raw.Scenario)
		}
		if raw.BuildID != m.BuildID {
			continue // a library's
		}
		n++
		if err := own.Add(raw.Data); err != nil {
			return fmt.Sprintf("%s: %v", filepath.Base(f), err)
		}
	}
	counts := own.Counts()
	missing, calls := 0, uint64(0)
	for i := range m.Funcs {
		switch name := m.Funcs[i].Name; {
		case name == "work" && counts[i].Runs > 0:
			if calls = uint64(c.work()); m.Funcs[i].Mode.HasCalls() {
				calls = counts[i].Calls
			}
		case c.runs(name) && counts[i].Runs == 0:
			missing++
		case !c.runs(name) && counts[i].Runs > 0:
			return name + " did not run"
		}
	}
	switch {
	case len(files) == 0 || calls == 0 && missing == len(c.also)+1:
		return lost
	case calls == uint64(c.work()) && missing == 0 && len(files) == c.left():
		return kept
	case calls > uint64(c.work()) || len(files) > c.left():
		return fmt.Sprintf("%d calls in %d files", calls, n)
	}
	t.Logf("%d of %d calls, %d functions missing, %d files", calls, c.work(), missing, len(files))
	return part
}

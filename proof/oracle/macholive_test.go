//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMachOKilled ends programs for macOS and iOS as the system ends apps: what they recorded is in the file that is
// mapped over the records. Without that file it is lost.
func TestMachOKilled(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		for _, mode := range []string{"count", "block+order", "cover"} {
			t.Run(system.target+"/"+mode, func(t *testing.T) {
				t.Parallel()
				program := build(t, mode, "clang-22", system.args(t, "-O1", filepath.Join("testdata", "macho", "killed.c"))...)
				for _, test := range []struct {
					end, live string
					files     int
					want      map[string]uint64 // calls
				}{
					{"exit", "", 1, map[string]uint64{"main": 1, "first": 1, "second": 7}},
					{"kill", "", 1, map[string]uint64{"main": 1, "first": 1, "second": 7}},
					{"_exit", "", 1, map[string]uint64{"main": 1, "first": 1, "second": 7}},
					{"fork", "", 2, map[string]uint64{"main": 1, "first": 1, "second": 8, "in_child": 1}},
					{"exit", "0", 1, map[string]uint64{"main": 1, "first": 1, "second": 7}},
					{"kill", "0", 0, nil},
				} {
					raws := t.TempDir()
					cmd := system.load(t, system.emulator, program, test.end)
					cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws, "CAIRN_SCENARIO=live", "CAIRN_CONTINUOUS="+test.live)
					if err := cmd.Run(); (err != nil) != (test.end == "kill") {
						t.Fatalf("%s: %v", test.end, err)
					}
					checkKilled(t, fmt.Sprintf("%s with CAIRN_CONTINUOUS=%s", test.end, test.live), mode, program, raws, test.files, test.want)
				}
			})
		}
	}
}

// checkKilled compares the raw files of a run with the calls that it made.
func checkKilled(t *testing.T, what, mode, program, raws string, files int, want map[string]uint64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(raws, "*.mipraw"))
	if err != nil || len(paths) != files {
		t.Fatalf("%s: files %q (%v), want %d", what, paths, err, files)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() > 1024 {
			t.Errorf("%s: a file of %d bytes (%v) for five functions", what, info.Size(), err)
		}
	}
	if files == 0 {
		return
	}
	file := filepath.Join(t.TempDir(), "run.mip")
	output(t, command(t, cairn, "merge", "--strict", "-o", file, program, raws))
	m := readProfile(t, file)
	for i := range m.Funcs {
		name, c := m.Funcs[i].Name, &m.Counts[i]
		switch n := want[name]; {
		case (c.Runs > 0) != (n > 0):
			t.Errorf("%s: %s ran in %d runs, want %d calls", what, name, c.Runs, n)
		case mode == "count" && c.Calls != n:
			t.Errorf("%s: %d calls of %s, want %d", what, c.Calls, name, n)
		}
	}
	for _, trace := range m.Traces {
		var names []string
		for _, f := range trace.Funcs {
			names = append(names, m.Funcs[f].Name)
		}
		if trace.Scenario != "live" || !slices.Equal(names, []string{"main", "first", "second"}) && !slices.Equal(names, []string{"in_child", "second"}) {
			t.Errorf("%s: trace of %q: %q", what, trace.Scenario, names)
		}
	}
}

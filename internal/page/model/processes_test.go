package model

import "testing"

// TestProcesses counts a process once, whatever modules it has.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		modules []Module
		want    uint64
	}{
		{[]Module{{Name: "app", Runs: 8}, {Name: "libapp.so.1", Runs: 8}}, 8},
		{[]Module{{Name: "one", Runs: 1}, {Name: "two", Runs: 2}, {Name: "liball.so", Runs: 3}}, 3},
		{[]Module{{Name: "one", Runs: 1}, {Name: "never"}, {Name: "plugin.so", Runs: 5}}, 5}, // also of a program without probes
		{[]Module{{Name: "one", Runs: 4}, {Name: "two", Runs: 5}}, 9},
		{nil, 0},
	} {
		if got := processes(tc.modules); got != tc.want {
			t.Errorf("%v: %d processes, want %d", tc.modules, got, tc.want)
		}
	}
}

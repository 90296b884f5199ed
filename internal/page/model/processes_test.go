package model

import "testing"

// TestProcesses counts a process once, whatever modules it has.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		modules []Module
		want    uint64
		atLeast bool
	}{
		{[]Module{{Name: "app", Runs: 8}, {Name: "libapp.so.1", Runs: 8}}, 8, true},
		{[]Module{{Name: "one", Runs: 1}, {Name: "two", Runs: 2}, {Name: "liball.so", Runs: 3}}, 3, true},
		{[]Module{{Name: "one", Runs: 1}, {Name: "never"}, {Name: "plugin.so", Runs: 5}}, 5, true}, // also of a program without probes
		{[]Module{{Name: "one", Runs: 4}, {Name: "two", Runs: 5}, {Name: "never.so"}}, 9, false},
		{nil, 0, false},
	} {
		if got, atLeast := processes(tc.modules); got != tc.want || atLeast != tc.atLeast {
			t.Errorf("%v: %d processes (or more: %v), want %d (%v)", tc.modules, got, atLeast, tc.want, tc.atLeast)
		}
	}
}

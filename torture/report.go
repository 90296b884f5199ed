package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// markdown returns what was found, as a report.
func (t *torture) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Programs that nobody wrote for cairn\n\n")
	tried, failed := 0, 0
	for _, r := range t.cases {
		tried += r.tried
		failed += r.failed
	}
	fmt.Fprintf(&b, "%d programs in %d cases, %d failed, in %s. Each program is built by one compiler at one\n"+
		"level, drawn by its seed, without cairn and in each mode; the answers, the exit status and\n"+
		"the signals are compared, the objects of the modes that record are proved (`--prove`), and\n"+
		"what a run leaves is read. Mode use is `--use` with a random profile.\n\n",
		t.programs, tried, failed, t.took.Round(time.Second))
	fmt.Fprintf(&b, "| mode | cases | failed |\n|---|---:|---:|\n")
	for i := range modes {
		r := t.cases[modes[i].name]
		fmt.Fprintf(&b, "| %s | %d | %d |\n", modes[i].name, r.tried, r.failed)
	}
	fmt.Fprintf(&b, "\n| compiler | programs |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(t.by)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, t.by[name])
	}
	if len(t.left) > 0 {
		fmt.Fprintf(&b, "\n| not compared | programs |\n|---|---:|\n")
		for _, why := range slices.Sorted(maps.Keys(t.left)) {
			fmt.Fprintf(&b, "| %s | %d |\n", why, t.left[why])
		}
	}
	return b.String()
}

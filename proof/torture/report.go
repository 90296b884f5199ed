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
	var all result
	for _, r := range t.cases {
		all.tried += r.tried
		all.refused += r.refused
		all.differs += r.differs
		all.other += r.other
	}
	drawn := "each mode"
	if t.modes > 0 {
		drawn = fmt.Sprintf("%d modes, drawn by its seed", t.modes)
	}
	proved := "and "
	if t.target.prove {
		proved = "the objects of the modes that record are proved (`--prove`), and "
	}
	fmt.Fprintf(&b, "%d programs (%s) in %d cases, %d failed, in %s.\n"+
		"Each program is built for %s by one compiler at one level, drawn by its seed, without cairn and\n"+
		"in %s; the answers, the exit status and the signals are\n"+
		"compared, %swhat a run\n"+
		"leaves is read. Mode use is `--use` with a random profile of a run in another mode.\n\n",
		t.programs, t.origins(), all.tried, all.failed(), t.took.Round(time.Second), t.target.name, drawn, proved)
	fmt.Fprintf(&b, "| mode | cases | answers that differ | rejected | failed otherwise |\n|---|---:|---:|---:|---:|\n")
	row := func(name string, r *result) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", name, r.tried, r.differs, r.refused, r.other)
	}
	for _, m := range t.target.modes() {
		row(m.name, t.cases[m.name])
	}
	row("all", &all)
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

// origins says where the programs come from.
func (t *torture) origins() string {
	var parts []string
	for _, from := range slices.Sorted(maps.Keys(t.from)) {
		parts = append(parts, fmt.Sprintf("%d of %s", t.from[from], from))
	}
	return strings.Join(parts, ", ")
}

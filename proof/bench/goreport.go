package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const goNotes = `Go programs as the go command builds them (linux/amd64, CGO_ENABLED=0, -trimpath), with
Go's own coverage, and by cairn go. Probes are in the packages of the program's own module. In mode count each processor has its
own counters, by system calls (CAIRN_GO_COUNTERS=arch_prctl) if the kernel has no FSGSBASE.`

// reportGo writes GO.md.
func (b *bench) reportGo(ctx context.Context, results [][]*goBuilt) error {
	var text bytes.Buffer
	b.writeHead(ctx, &text, "What cairn costs Go programs", goNotes, [][]string{{"go", "go", "version"}})
	var targets []target
	results = slices.Clone(results)
	guests := slices.Clone(goGuests)
	for i := len(results) - 1; i >= 0; i-- {
		if results[i] == nil {
			results, guests = slices.Delete(results, i, i+1), slices.Delete(guests, i, i+1)
		}
	}
	for i, list := range results {
		for _, r := range list {
			if r.name != "plain" && len(r.Ratios) == 0 {
				return fmt.Errorf("%s: %s was not measured", guests[i].name, r.label)
			}
			if r.limit > 0 {
				m := median(r.Ratios)
				targets = append(targets, target{guests[i].name + ": " + r.label, fmt.Sprintf("<= %.2f", r.limit), fmt.Sprintf("%.3f", m), m <= r.limit})
			}
		}
	}
	writeTargets(&text, targets)
	fmt.Fprintf(&text, "Time: user and system time of a run next to one of the plain program, median, quartiles and range of the ratios of %d\n"+
		"interleaved pairs. Text and file: bytes of the stripped program. Log: what a run leaves on the disk.\n", len(results[0][1].Ratios))
	if results[0][0].Cold > 0 {
		fmt.Fprint(&text, "Cold: processor time of a build with an empty cache of Go, which compiles the standard library as well; one\n"+
			"build. Warm: that of a build after a change of one package, median of three.\n")
	}
	fmt.Fprintln(&text)
	for i, list := range results {
		g := &guests[i]
		fmt.Fprintf(&text, "## %s\n\nA run %s.\n\n", g.name, g.what)
		rows := [][]string{{"build", "time ratio", "text", "file", "log, KB"}}
		if list[0].Cold > 0 {
			rows[0] = append(rows[0], "cold, s", "warm, s")
		}
		for _, r := range list {
			row := []string{r.label, "", thousands(r.Text), thousands(r.File), ""}
			if r.name != "plain" {
				row = []string{r.label, quartiles(r.Ratios), percent(growth(r.Text, list[0].Text)), percent(growth(r.File, list[0].File)), thousands(r.Log / 1024)}
			}
			if list[0].Cold > 0 {
				row = append(row, fmt.Sprintf("%.1f", r.Cold), fmt.Sprintf("%.1f", r.Warm))
			}
			rows = append(rows, row)
		}
		table(&text, rows)
	}
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "GO.md"), text.Bytes(), 0o644)
}

// quartiles returns the median, the quartiles and the range of values.
func quartiles(values []float64) string {
	s := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 { return s[int(q*float64(len(s)-1)+0.5)] }
	return fmt.Sprintf("%.3f (%.2f-%.2f; %.2f-%.2f)", median(s), at(0.25), at(0.75), s[0], s[len(s)-1])
}

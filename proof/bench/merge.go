package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Raw files to merge. What LLVM writes of the same program is larger.
const (
	rawsCover = 100000
	rawsFull  = 2000
	rawsLLVM  = 200
	mergeRuns = 5
)

// synthetic builds the program by three tools, and runs it as often as their files are
// merged.
func (b *bench) synthetic(ctx context.Context) (cover, full, llvm *program, err error) {
	fmt.Fprintln(b.log, "building and running the synthetic program")
	if cover, err = b.buildSynthetic(ctx, "cover", "cairn", "cc", "--mode=cover", "gcc"); err != nil {
		return nil, nil, nil, err
	}
	if full, err = b.buildSynthetic(ctx, "full", "cairn", "cc", "--mode=full", "gcc"); err != nil {
		return nil, nil, nil, err
	}
	if llvm, err = b.buildSynthetic(ctx, "llvm", "clang-22", "-fprofile-generate"); err != nil {
		return nil, nil, nil, err
	}
	if err := cover.runs(ctx, 50); err != nil {
		return nil, nil, nil, err
	}
	if err := cover.multiply(rawsCover); err != nil {
		return nil, nil, nil, err
	}
	if err := full.runs(ctx, rawsFull); err != nil {
		return nil, nil, nil, err
	}
	if err := llvm.runs(ctx, rawsLLVM); err != nil {
		return nil, nil, nil, err
	}
	return cover, full, llvm, nil
}

// merge measures how fast raw files become a profile.
func (b *bench) merge(ctx context.Context) error {
	cover, full, llvm, err := b.synthetic(ctx)
	if err != nil {
		return err
	}
	list, err := llvm.list()
	if err != nil {
		return err
	}
	fmt.Fprintf(&b.report, "## Merging\n\nA synthetic program of %s functions, each run another half of them. Clock time of the\n"+
		"whole command, median of %d; the files are in the page cache. Mode cover says which functions\n"+
		"ran; mode full, how often, in which order and which of their blocks, about as much as LLVM's\n"+
		"counts of edges.\n\n", thousands(functions), mergeRuns)
	rows := [][]string{{"merge", "files", "bytes a file", "seconds", "files/s", "MB/s", "functions/s"}}
	speed := map[*program]float64{}
	for _, m := range []struct {
		label string
		p     *program
		argv  []string
	}{
		{"cairn merge, cover", cover, []string{b.cairn, "merge", "-o", cover.path + ".mip", cover.path, cover.raws}},
		{"cairn merge, full", full, []string{b.cairn, "merge", "-o", full.path + ".mip", full.path, full.raws}},
		{"llvm-profdata merge", llvm, []string{"llvm-profdata-22", "merge", "-o", llvm.path + ".profdata", "-f", list}},
	} {
		seconds, err := b.clock(ctx, m.argv)
		if err != nil {
			return err
		}
		speed[m.p] = float64(m.p.files) * functions / seconds
		rows = append(rows, []string{
			m.label, thousands(int64(m.p.files)), thousands(m.p.bytes / int64(m.p.files)), fmt.Sprintf("%.3f", seconds),
			thousands(int64(float64(m.p.files) / seconds)), thousands(int64(float64(m.p.bytes) / seconds / 1e6)), thousands(int64(speed[m.p])),
		})
	}
	table(&b.report, rows)
	for _, p := range []*program{cover, full} {
		ratio := speed[p] / speed[llvm]
		b.targets = append(b.targets, target{
			"merge, functions/s, " + filepath.Base(filepath.Dir(p.path)), ">= 3x llvm-profdata's", fmt.Sprintf("%.1fx", ratio), ratio >= 3,
		})
	}
	// Gigabytes that nobody needs again.
	return os.RemoveAll(filepath.Join(b.out, "synthetic"))
}

// list writes the names of the raw files to a file, one a line.
func (p *program) list() (string, error) {
	names, err := filepath.Glob(filepath.Join(p.raws, "*.profraw"))
	if err != nil {
		return "", err
	}
	list := p.path + ".list"
	return list, os.WriteFile(list, []byte(strings.Join(names, "\n")+"\n"), 0o644)
}

// clock returns the median of the seconds that a command takes.
func (b *bench) clock(ctx context.Context, argv []string) (float64, error) {
	var seconds []float64
	for i := range mergeRuns {
		fmt.Fprintf(b.log, "%s, %d of %d\n", strings.Join(argv[:2], " "), i+1, mergeRuns)
		start := time.Now()
		if _, err := output(ctx, b.out, argv...); err != nil {
			return 0, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return median(seconds), nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// smallModule has LZ4 in C, which with small.c makes a small program.
const smallModule = "github.com/cloudflare/golz4@v0.0.0-20240916140612-caecf3c00c06"

// one instruments a single function: what it adds is the runtime.
var one = variant{"one", "cairn cover, main alone", []string{"cairn", "cc", "--mode=cover", "--only=^main$", "gcc"}, "gcc"}

// small measures what a small program grows by, and what of that is the
// runtime.
func (b *bench) small(ctx context.Context) error {
	answer, err := output(ctx, b.root, "go", "mod", "download", "-json", smallModule)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(answer), &module); err != nil {
		return err
	}
	src := filepath.Join(module.Dir, "src")
	sources := []string{"-I" + src, filepath.Join(b.out, "small.c"), filepath.Join(src, "lz4.c")}
	var all []*built
	for _, v := range []*variant{&variants[0], &one, &variants[1]} {
		r, err := b.make(ctx, v, "small", sources...)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	plain, lone, cover := all[0], all[1], all[2]
	fmt.Fprintf(&b.report, "## A small program\n\n`bench/c/small.c` with LZ4, at %s. Segments of a file begin on pages, so a file grows in\n"+
		"steps of 4,096 bytes; loaded is text and data, without the records.\n\n", optimize)
	rows := [][]string{{"build", "loaded", "growth", "file", "growth"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.label, thousands(r.loaded()), percent(growth(r.loaded(), plain.loaded())),
			thousands(r.file), percent(growth(r.file, plain.file)),
		})
	}
	table(&b.report, rows)
	runtime := lone.loaded() - plain.loaded()
	b.targets = append(b.targets, target{"the runtime, code and data", "<= 4,480 bytes", thousands(runtime) + " bytes", runtime <= 4480})
	b.atMost("cover, a small program's file", growth(cover.file, plain.file), 0.10)
	return nil
}

// loaded returns the bytes that the program loads: text, and data without bss,
// where the records are.
func (r *built) loaded() int64 { return r.text + r.initialized }

// buildTime measures what cairn cc adds to the compilation of the
// amalgamation.
func (b *bench) buildTime(ctx context.Context) error {
	const pairs = 3
	compile := func(argv ...string) (time.Duration, error) {
		argv = append(argv, optimize, "-w", "-c", "-o", os.DevNull, filepath.Join(b.out, "sqlite3.c"))
		return cpuTime(command(ctx, b.out, nil, argv...))
	}
	rows := [][]string{{"build", "time ratio"}}
	for _, mode := range []string{"cover", "full"} {
		var ratios []float64
		for i := range pairs {
			fmt.Fprintf(b.log, "compiling, mode %s, pair %d of %d\n", mode, i+1, pairs)
			plain, err := compile("gcc")
			if err != nil {
				return err
			}
			mine, err := compile(b.cairn, "cc", "--mode="+mode, "gcc")
			if err != nil {
				return err
			}
			ratios = append(ratios, mine.Seconds()/plain.Seconds())
		}
		rows = append(rows, []string{"cairn cc --mode=" + mode + " gcc", spread(ratios)})
		b.atMost("compiling SQLite, mode "+mode, median(ratios)-1, 0.10)
	}
	fmt.Fprintf(&b.report, "## Compiling SQLite\n\n`gcc %s -c sqlite3.c` with cairn in front and without, %d pairs.\n\n", optimize, pairs)
	table(&b.report, rows)
	return nil
}

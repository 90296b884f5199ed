package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// smallModule has LZ4 in C, which with small.c makes a small program.
const smallModule = "github.com/cloudflare/golz4@v0.0.0-20240916140612-caecf3c00c06"

// one instruments a single function: what it adds is the runtime.
var one = variant{"one", "cairn cover, main alone", []string{"cairn", "cc", "--mode=cover", "--only=^main$", "gcc"}, "gcc"}

// sharing returns a variant whose program maps the runtime from a file.
func (b *bench) sharing(v variant) variant {
	v.name, v.label = v.name+"-shared", v.label+", shared runtime"
	v.cc = slices.Insert(slices.Clone(v.cc), len(v.cc)-1, "--shared-runtime="+filepath.Join(b.out, "runtime"))
	return v
}

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
	loneMapped, coverMapped := b.sharing(one), b.sharing(variants[1])
	var all []*built
	for _, v := range []*variant{&variants[0], &one, &variants[1], &loneMapped, &coverMapped} {
		r, err := b.make(ctx, v, "small", sources...)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	plain, lone, cover, loneShared, coverShared := all[0], all[1], all[2], all[3], all[4]
	fmt.Fprintf(&b.report, "## A small program\n\n`proof/bench/c/small.c` with LZ4, at %s. Segments of a file begin on pages, so a file grows in\n"+
		"steps of 4,096 bytes; loaded is text and data, without the records.\n\n", optimize)
	rows := [][]string{{"build", "loaded", "growth", "file", "growth"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.label, thousands(r.loaded()), percent(growth(r.loaded(), plain.loaded())),
			thousands(r.file), percent(growth(r.file, plain.file)),
		})
	}
	table(&b.report, rows)
	b.bytesAtMost("the runtime, code and data", lone.loaded()-plain.loaded(), 5060)
	b.bytesAtMost("the runtime where it is shared", loneShared.loaded()-plain.loaded(), 740)
	b.atMost("cover, a small program's file", growth(cover.file, plain.file), 0.10)
	b.atMost("cover, a small program's file, shared runtime", growth(coverShared.file, plain.file), 0.05)
	return nil
}

// bytesAtMost holds a number of bytes against its limit.
func (b *bench) bytesAtMost(name string, bytes, limit int64) {
	b.targets = append(b.targets, target{name, "<= " + thousands(limit) + " bytes", thousands(bytes) + " bytes", bytes <= limit})
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

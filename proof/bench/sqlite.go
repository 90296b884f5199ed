package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// Rows in the tables of speed.c. Under callgrind, which is fifty times slower,
// there are fewer.
const (
	rowsTimed   = 60000
	rowsCounted = 20000
)

// sqlite builds SQLite with a workload in all variants and measures size,
// instructions and time of each.
func (b *bench) sqlite(ctx context.Context) error {
	all := make([]*built, len(variants))
	sources := []string{filepath.Join(b.out, "speed.c"), filepath.Join(b.out, "sqlite3.c")}
	err := both(len(all), func(i int) (err error) {
		fmt.Fprintln(b.log, "building", variants[i].name)
		all[i], err = b.make(ctx, &variants[i], "speed", sources...)
		return err
	})
	if err != nil {
		return err
	}
	err = both(len(all), func(i int) error {
		fmt.Fprintln(b.log, "counting instructions of", all[i].name)
		return all[i].countInstructions(ctx, strconv.Itoa(rowsCounted), "speed.db")
	})
	if err != nil {
		return err
	}
	base, err := b.timePairs(ctx, all)
	if err != nil {
		return err
	}
	b.reportSQLite(all, base)
	b.judgeSQLite(base)
	return nil
}

// timePairs runs each instrumented program next to its plain one, in rounds
// over all of them, so that what disturbs the machine disturbs all alike. It returns the programs by name.
func (b *bench) timePairs(ctx context.Context, all []*built) (base map[string]*built, err error) {
	base = map[string]*built{}
	for _, r := range all {
		base[r.name] = r
	}
	rows := strconv.Itoa(rowsTimed)
	for round := range b.rounds {
		fmt.Fprintf(b.log, "timing, round %d of %d\n", round+1, b.rounds)
		for _, r := range all {
			if r.plain == "" {
				continue
			}
			plain, err := base[r.plain].time(ctx, rows, "speed.db")
			if err != nil {
				return nil, err
			}
			mine, err := r.time(ctx, rows, "speed.db")
			if err != nil {
				return nil, err
			}
			r.ratios = append(r.ratios, mine.Seconds()/plain.Seconds())
		}
	}
	return base, nil
}

func (b *bench) reportSQLite(all []*built, base map[string]*built) {
	fmt.Fprintf(&b.report, "## SQLite\n\nThe amalgamation and `proof/bench/c/speed.c`, at %s. Text and data (with bss) as `size` has\n"+
		"them; file is the stripped executable; instructions with %s rows under callgrind;\n"+
		"time with %s rows, median and range of %d pairs. A probe of mode cover is one instruction, so\n"+
		"its growth in instructions is the share of calls among them.\n\n",
		optimize, thousands(rowsCounted), thousands(rowsTimed), b.rounds)
	rows := [][]string{{"build", "text", "data+bss", "file", "growth", "instructions", "growth", "time ratio"}}
	for _, r := range all {
		file, instr, ratio := "", "", ""
		if plain := base[r.plain]; plain != nil {
			file, instr = percent(growth(r.file, plain.file)), percent(growth(r.instr, plain.instr))
			ratio = spread(r.ratios)
		}
		rows = append(rows, []string{r.label, thousands(r.text), thousands(r.data), thousands(r.file), file, thousands(r.instr), instr, ratio})
	}
	table(&b.report, rows)
	fmt.Fprintf(&b.report, "The command lines:\n\n%s\n", commandLines(all))
}

func (b *bench) judgeSQLite(base map[string]*built) {
	size := func(name string) float64 { return growth(base[name].file, base[base[name].plain].file) }
	instr := func(name string) float64 { return growth(base[name].instr, base[base[name].plain].instr) }
	for _, cc := range []string{"gcc", "clang"} {
		b.atMost("cover, stripped size, "+cc, size(cc+"-cover"), 0.015)
		b.atMost("cover, instructions, "+cc, instr(cc+"-cover"), 0.01)
		b.atMost("count, stripped size, "+cc, size(cc+"-count"), 0.03)
		b.atMost("count, instructions, "+cc, instr(cc+"-count"), 0.03)
	}
	b.targets = append(b.targets, target{
		"block, stripped size, gcc", "<= a third of gcc --coverage's",
		percent(size("gcc-block")) + " of " + percent(size("gcc-coverage")), size("gcc-block") <= size("gcc-coverage")/3,
	})
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// orderVariants are builds that record the order of first executions.
var orderVariants = []variant{
	{"gcc", "gcc", []string{"gcc"}, ""},
	{"gcc-order", "cairn order, gcc", []string{"cairn", "cc", "--mode=order", "gcc"}, "gcc"},
	{"clang", "clang", []string{"clang-22"}, ""},
	{"clang-order", "cairn order, clang", []string{"cairn", "cc", "--mode=order", "clang-22"}, "clang"},
	{"clang-block+order", "cairn block+order, clang", []string{"cairn", "cc", "--mode=block+order", "clang-22"}, "clang"},
	{"clang-temporal", "LLVM temporal profile", []string{"clang-22", "-fprofile-generate", "-mllvm", "-pgo-temporal-instrumentation"}, "clang"},
}

// orderCost measures what it costs to record the order of first executions, on
// SQLite and speed.c.
func (b *bench) orderCost(ctx context.Context) (*costResult, error) {
	all := make([]*built, len(orderVariants))
	sources := []string{filepath.Join(b.out, "speed.c"), filepath.Join(b.out, "sqlite3.c")}
	err := both(len(all), func(i int) (err error) {
		fmt.Fprintln(b.log, "building", orderVariants[i].name)
		if all[i], err = b.make(ctx, &orderVariants[i], "order", sources...); err != nil {
			return err
		}
		return all[i].countInstructions(ctx, strconv.Itoa(rowsCounted), "speed.db")
	})
	if err != nil {
		return nil, err
	}
	base, err := b.timePairs(ctx, all)
	if err != nil {
		return nil, err
	}
	c := &costResult{
		Revision: strings.TrimSpace(b.revision),
		Rows:     [][]string{{"build", "text", "growth", "file", "growth", "instructions", "growth", "time ratio"}},
	}
	for _, r := range all {
		plain := base[r.plain]
		if plain == nil {
			c.Rows = append(c.Rows, []string{r.label, thousands(r.text), "", thousands(r.file), "", thousands(r.instr), "", ""})
			continue
		}
		text, instr := growth(r.text, plain.text), growth(r.instr, plain.instr)
		c.Rows = append(c.Rows, []string{
			r.label, thousands(r.text), percent(text), thousands(r.file), percent(growth(r.file, plain.file)),
			thousands(r.instr), percent(instr), spread(r.ratios),
		})
		if r.name == r.plain+"-order" {
			c.Targets = append(c.Targets, atMost("order, text, "+r.plain, text, 0.035), atMost("order, instructions, "+r.plain, instr, 0.01))
		}
	}
	return c, nil
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/proof/tailguests"
	"github.com/cairnprof/cairn/proof/tailtest"
)

// A missingSum adds up cells. Different pairs are those of a cell: a pair that two
// recordings have counts twice.
type missingSum struct {
	llvm, full                    tailtest.Tally
	pairs, llvmAlways, fullAlways int
	cells, worse, worseDistinct   int // those in which full found less than llvm
}

func (s *missingSum) add(c *missingCell) {
	s.llvm.Add(&c.llvm)
	s.full.Add(&c.full)
	pairs, full := c.full.Distinct()
	_, llvm := c.llvm.Distinct()
	s.pairs, s.llvmAlways, s.fullAlways = s.pairs+pairs, s.llvmAlways+llvm, s.fullAlways+full
	s.cells++
	if c.full.Exact < c.llvm.Exact {
		s.worse++
	}
	if full < llvm {
		s.worseDistinct++
	}
}

// share returns n of all in percent.
func share(n, all int) string {
	if all == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(all))
}

// bad returns what was inserted but is not right, as a part of the missing pairs.
func bad(t *tailtest.Tally) float64 { return float64(t.Wrong+t.False) / float64(max(t.Missing, 1)) }

func (s *missingSum) row(label string) []string {
	return []string{
		label, thousands(int64(s.full.Missing)), share(s.llvm.Exact, s.llvm.Missing), share(s.full.Exact, s.full.Missing),
		strconv.Itoa(s.llvm.Wrong + s.llvm.False), strconv.Itoa(s.full.Wrong), strconv.Itoa(s.full.False),
		thousands(int64(s.pairs)), share(s.llvmAlways, s.pairs), share(s.fullAlways, s.pairs),
	}
}

var missingHead = []string{"pairs", "llvm", "full", "llvm wrong", "full wrong", "full false", "different pairs", "llvm", "full"}

// missingFamily says of which compilers a compiler is.
var missingFamily = map[string]string{"gcc": "gcc", "g++": "gcc", "clang-22": "clang", "clang++-22": "clang"}

// missingTable writes sums of cells that have a key in common, in the order of the cells.
func missingTable(text *bytes.Buffer, title string, cells []*missingCell, key func(*missingCell) string) {
	rows := [][]string{append([]string{title}, missingHead...)}
	sums := map[string]*missingSum{}
	var order []string
	for _, c := range cells {
		k := key(c)
		if sums[k] == nil {
			sums[k] = &missingSum{}
			order = append(order, k)
		}
		sums[k].add(c)
	}
	for _, k := range order {
		rows = append(rows, sums[k].row(k))
	}
	table(text, rows)
}

// sortCells puts cells in the order of the tables, whichever was measured first.
func sortCells(cells []*missingCell) {
	rank := func(name string) int {
		return slices.IndexFunc(tailguests.All, func(g *tailguests.Guest) bool { return g.Name == name })
	}
	slices.SortFunc(cells, func(a, b *missingCell) int {
		return cmp.Or(rank(a.program)-rank(b.program), cmp.Compare(a.compiler, b.compiler), cmp.Compare(a.level, b.level),
			a.period-b.period, b.depth-a.depth)
	})
}

func (b *bench) reportMissing(ctx context.Context, cells []*missingCell) error {
	sortCells(cells)
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Missing frames that were found", `Programs recorded by `+"`cairn record --lbr --truth`"+`, and the frames that tail
calls erased put back by cairn profgen's rules and by LLVM's algorithm. Counted are pairs of neighbours on
stacks between which frames are missing, and of how many the chain was found exactly, in each sample anew; and
different pairs of a recording, of how many it was always found. False are insertions where nothing is missing.
Samples are those of a whole run, so figures repeat but for where threads and memory are.`,
		[][]string{{"gcc", "gcc", "--version"}, {"clang", "clang-22", "--version"}})
	var all missingSum
	programs := map[string]*missingSum{}
	depths := map[int]*missingSum{}
	for _, c := range cells {
		all.add(c)
		if programs[c.program] == nil {
			programs[c.program] = &missingSum{}
		}
		programs[c.program].add(c)
		if depths[c.depth] == nil {
			depths[c.depth] = &missingSum{}
		}
		depths[c.depth].add(c)
	}
	writeTargets(&text, missingTargets(&all, programs, depths))
	fmt.Fprintf(&text, "It judges %s pairs with missing frames and %s without. gcc makes no tail calls at -O1.\n\n",
		thousands(int64(all.full.Missing)), thousands(int64(all.full.Plain)))
	missingTable(&text, "program", cells, func(c *missingCell) string { return c.program })
	missingTable(&text, "branches in a sample", cells, func(c *missingCell) string { return strconv.Itoa(c.depth) })
	missingTable(&text, "one sample in branches", cells, func(c *missingCell) string { return thousands(int64(c.period)) })
	missingTable(&text, "compiler", cells, func(c *missingCell) string { return missingFamily[c.compiler] })
	missingTable(&text, "optimization", cells, func(c *missingCell) string { return c.level })
	text.WriteString("## Programs, by branches in a sample\n\n")
	missingTable(&text, "program", cells, func(c *missingCell) string { return fmt.Sprintf("%s, %d", c.program, c.depth) })
	text.WriteString("## Builds\n\n")
	missingTable(&text, "build", cells, func(c *missingCell) string { return c.program + ", " + c.compiler + " " + c.level })
	writeWorse(&text, cells)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil || b.missingOnly != "" {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "MISSING.md"), text.Bytes(), 0o644)
}

func missingTargets(all *missingSum, programs map[string]*missingSum, depths map[int]*missingSum) []target {
	worse, worseDistinct := 0, 0
	for _, s := range programs {
		if s.full.Exact < s.llvm.Exact {
			worse++
		}
		if s.fullAlways < s.llvmAlways {
			worseDistinct++
		}
	}
	found := float64(all.full.Exact) / float64(max(all.full.Missing, 1))
	targets := []target{
		{"chains found exactly", ">= 95.00 %", share(all.full.Exact, all.full.Missing), found >= 0.95},
		{"wrong and false insertions", "<= 0.05 %", fmt.Sprintf("%.4f %%", 100*bad(&all.full)), bad(&all.full) <= 0.0005},
	}
	for _, depth := range missingDepths {
		if s := depths[depth]; s != nil {
			targets = append(targets, target{
				fmt.Sprintf("the same, %d branches in a sample", depth), "<= 0.05 %", fmt.Sprintf("%.4f %%", 100*bad(&s.full)), bad(&s.full) <= 0.0005,
			})
		}
	}
	return append(targets,
		target{"programs in which llvm finds more", "0", strconv.Itoa(worse), worse == 0},
		target{"the same, of different pairs", "0", strconv.Itoa(worseDistinct), worseDistinct == 0},
		target{fmt.Sprintf("of %d recordings and depths, those in which it does", all.cells), "0", strconv.Itoa(all.worse), all.worse == 0},
		target{"the same, of different pairs", "0", strconv.Itoa(all.worseDistinct), all.worseDistinct == 0},
	)
}

// writeWorse lists single recordings in which something was wrong or LLVM's algorithm found more.
func writeWorse(text *bytes.Buffer, cells []*missingCell) {
	rows := [][]string{append([]string{"recording"}, missingHead...)}
	for _, c := range cells {
		var s missingSum
		if s.add(c); s.worse+s.worseDistinct+s.full.Wrong+s.full.False > 0 {
			rows = append(rows, s.row(c.String()))
		}
	}
	if len(rows) == 1 {
		return
	}
	text.WriteString("## Recordings with something wrong, or in which llvm finds more\n\n")
	table(text, rows)
}

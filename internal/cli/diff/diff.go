// Package diff has the command that compares two profiles, or two logs of calls.
package diff

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/profdiff"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type diffFlags struct {
	verb.DisplayFlags
	prefixes profile.PrefixMaps
	check    bool
	top      int
	logs     stackDiffFlags
}

// Diff returns the command cairn diff.
func Diff(s *verb.Streams) *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff A [PROGRAM...] B [PROGRAM...]",
		Short: "Compare two profiles or two logs of calls",
		Long: `diff compares two profiles. It lists the functions that only one of them covered, the
functions that ran through other blocks, and the functions whose number of calls per
run changed. Functions of different builds are matched by name and source file, of
which --prefix-map replaces the beginning for builds in different directories;
"changed" marks functions with a different control flow, whose blocks cannot be
compared. With --check the exit code is 1 if B misses a function or a block that A
covered and that B's build still has.

Given two logs of calls, diff lists the functions and stacks whose time changed, and
the stacks that only one log has. Functions are matched by name along the whole
stack, so the logs may be of different builds. A program among the arguments names the
functions of both; with one after each log, that is the program of the log. A quoted pattern stands for several logs, whose mean is used.`,
		Example: `  cairn diff --check before.mip after.mip
  cairn diff old.log old/app new.log new/app --flame diff.html`,
		Args: func(c *cobra.Command, args []string) error {
			return verb.ExactFiles("diff", "two profiles, or two logs of calls", 2, 2)(c, f.logs.take(args))
		},
		RunE: func(c *cobra.Command, _ []string) error {
			args := f.logs.inputs
			logs, err := areLogs(s, args)
			switch {
			case err != nil:
				return err
			case logs:
				return f.runLogs(c.Context(), c, s, args)
			}
			return f.run(s, args[0], args[1])
		},
	}
	f.Register(c)
	c.Flags().BoolVar(&f.check, "check", false, "exit with 1 if B misses functions or blocks that A covered")
	c.Flags().IntVar(&f.top, "top", 20, "list `n` functions whose calls changed, or for logs n entries of each list; 0 for all")
	f.prefixes.Register(c)
	f.logs.register(c)
	f.RegisterShort(c)
	verb.OtherWord(c, "top", "limit")
	return c
}

func (f *diffFlags) run(s *verb.Streams, pathA, pathB string) error {
	if err := f.logs.forProfiles(); err != nil {
		return err
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	r, err := compareProfiles(s, pathA, pathB, &f.prefixes)
	if err != nil {
		return err
	}
	if f.Json {
		err = diffJSON(s.Out, r)
	} else {
		err = f.writeText(s.Out, r, style)
	}
	if err == nil && f.check && r.Missing() {
		return fmt.Errorf("%s misses what %s covered: %d functions, and blocks of %d", pathB, pathA, len(r.OnlyA), lostBlocks(r))
	}
	return err
}

// compareProfiles reads two profiles and compares them.
func compareProfiles(s *verb.Streams, pathA, pathB string, prefixes *profile.PrefixMaps) (*profdiff.Result, error) {
	defer verb.Working(s, "comparing %s and %s", pathA, pathB)()
	a, err := gather.Read(pathA)
	if err != nil {
		return nil, err
	}
	b, err := gather.Read(pathB)
	if err != nil {
		return nil, err
	}
	for i, p := range []*prof.Profile{a, b} {
		for k := range p.Modules {
			if err := gather.NoEstimates([]string{pathA, pathB}[i], &p.Modules[k]); err != nil {
				return nil, err
			}
		}
		if err := prefixes.Apply(p); err != nil {
			return nil, err
		}
	}
	return profdiff.Profiles(a, b), nil
}

// lostBlocks returns in how many functions B misses blocks.
func lostBlocks(r *profdiff.Result) int {
	n := 0
	for i := range r.Blocks {
		if len(r.Blocks[i].Lost) > 0 {
			n++
		}
	}
	return n
}

// A diffList is one of the lists of functions, with its title.
type diffList struct {
	key, title string
	color      report.Color
	funcs      []profdiff.Func
}

func diffLists(r *profdiff.Result) []diffList {
	return []diffList{
		{"only_a", "ran only in A", report.Red, r.OnlyA},
		{"only_b", "ran only in B", report.Green, r.OnlyB},
		{"gone", "ran in A, not in B's build", report.Amber, r.Gone},
		{"new", "ran in B, not in A's build", report.Blue, r.New},
	}
}

func (f *diffFlags) writeText(w io.Writer, r *profdiff.Result, style report.Style) error {
	names := f.Names()
	name := func(fn *profdiff.Func) report.Cell { return report.Text(names.Show(fn.Name)) }
	section := func(title string, color report.Color, n int, t *report.Table) error {
		if n == 0 {
			return nil
		}
		fmt.Fprintf(w, "%s: %s\n", style.Paint(color, title), report.Count(n))
		if err := t.Write(w, style); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w)
		return err
	}
	for _, list := range diffLists(r) {
		t := report.NewTable("", "~", "/", "")
		for i := range list.funcs {
			fn := &list.funcs[i]
			t.Add(report.Cell{}, name(fn), report.Cell{Text: fn.File, Color: report.Dim}, report.Cell{Text: changedText(fn), Color: report.Amber})
		}
		if err := section(list.title, list.color, len(list.funcs), t); err != nil {
			return err
		}
	}
	if err := section("ran through other blocks", report.Bold, len(r.Blocks), blocksTable(r, name)); err != nil {
		return err
	}
	if err := section("calls per run changed", report.Bold, len(r.Moved), f.movedTable(r, name)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s functions ran in both, %s of them alike\n", report.Count(r.Both), report.Count(r.Same)); err != nil {
		return err
	}
	return f.writeLegend(w, r, style)
}

// writeLegend explains the mark of counts that are lower bounds, if one was printed.
func (f *diffFlags) writeLegend(w io.Writer, r *profdiff.Result, style report.Style) error {
	for i := range r.Moved {
		fn := &r.Moved[i]
		if f.top > 0 && i == f.top {
			break
		}
		for _, side := range []*profdiff.Side{&fn.A, &fn.B} {
			if side.Inexact() {
				of := prof.Map{Funcs: []prof.Func{*side.Func}}
				_, err := fmt.Fprintln(w, style.Paint(report.Dim, coverage.InexactLegend(&of)))
				return err
			}
		}
	}
	return nil
}

func changedText(fn *profdiff.Func) string {
	if fn.Changed {
		return "changed"
	}
	return ""
}

func blocksTable(r *profdiff.Result, name func(*profdiff.Func) report.Cell) *report.Table {
	t := report.NewTable("", "lost", "gained", "~function")
	for i := range r.Blocks {
		fn := &r.Blocks[i]
		t.Add(report.Cell{},
			report.Cell{Text: blockList(fn.Lost), Color: report.Red},
			report.Cell{Text: blockList(fn.Gained), Color: report.Green}, name(fn))
	}
	return t
}

// maxBlockList is how many block numbers a cell of text names.
const maxBlockList = 8

func blockList(blocks []int) string {
	text := ""
	for i, b := range blocks {
		if i == maxBlockList {
			return text + fmt.Sprintf(" and %d more", len(blocks)-i)
		}
		if i > 0 {
			text += " "
		}
		text += strconv.Itoa(b)
	}
	return text
}

func (f *diffFlags) movedTable(r *profdiff.Result, name func(*profdiff.Func) report.Cell) *report.Table {
	t := report.NewTable("", ">A", ">B", ">change", ">ratio", "~function", "")
	for i := range r.Moved {
		if f.top > 0 && i == f.top {
			t.Add(report.Cell{}, report.Cell{}, report.Cell{}, report.Cell{}, report.Cell{},
				report.Cell{Text: fmt.Sprintf("and %d more (--top 0 lists all)", len(r.Moved)-i), Color: report.Dim}, report.Cell{})
			break
		}
		fn := &r.Moved[i]
		sign, color := "", report.Green
		if fn.Delta() > 0 {
			sign, color = "+", report.Red
		}
		t.Add(report.Cell{}, report.Text(sideText(&fn.A)), report.Text(sideText(&fn.B)),
			report.Cell{Text: deltaMark(fn) + sign + report.Decimal(fn.Delta()), Color: color},
			report.Text(ratioText(fn)), name(fn), report.Cell{Text: changedText(fn), Color: report.Amber})
	}
	return t
}

// sideText returns the calls per run of one profile.
func sideText(s *profdiff.Side) string {
	return verb.AtLeast(s.Inexact()) + report.Decimal(s.CallsPerRun())
}

// deltaMark returns the mark before a change: in which direction it can be wrong if one of its
// sides is a lower bound.
func deltaMark(fn *profdiff.Func) string {
	return map[[2]bool]string{{true, false}: "<= ", {false, true}: ">= ", {true, true}: "~ "}[[2]bool{fn.A.Inexact(), fn.B.Inexact()}]
}

// ratioText returns B's calls per run as a multiple of A's.
func ratioText(fn *profdiff.Func) string {
	if fn.A.CallsPerRun() == 0 {
		return "new"
	}
	ratio := fn.B.CallsPerRun() / fn.A.CallsPerRun()
	if ratio > 0 && ratio < 0.01 {
		return "<0.01x"
	}
	return deltaMark(fn) + report.Decimal(ratio) + "x"
}

// diffFuncJSON is a function in diff's JSON.
type diffFuncJSON struct {
	Name      string   `json:"name"`
	Demangled string   `json:"demangled"`
	Module    string   `json:"module"`
	File      string   `json:"file,omitempty"`
	Changed   bool     `json:"changed,omitempty"`
	Lost      []int    `json:"blocks_lost,omitempty"`
	Gained    []int    `json:"blocks_gained,omitempty"`
	CallsA    *float64 `json:"calls_per_run_a,omitempty"`
	CallsB    *float64 `json:"calls_per_run_b,omitempty"`
	InexactA  bool     `json:"calls_inexact_a,omitempty"`
	InexactB  bool     `json:"calls_inexact_b,omitempty"`
}

func diffJSON(w io.Writer, r *profdiff.Result) error {
	var names report.Names
	convert := func(funcs []profdiff.Func) []diffFuncJSON {
		out := make([]diffFuncJSON, len(funcs))
		for i := range funcs {
			fn := &funcs[i]
			out[i] = diffFuncJSON{
				Name: fn.Name, Demangled: names.Show(fn.Name), Module: fn.Module, File: fn.File,
				Changed: fn.Changed, Lost: fn.Lost, Gained: fn.Gained,
				CallsA: callsPerRun(&fn.A), CallsB: callsPerRun(&fn.B),
				InexactA: fn.A.Inexact(), InexactB: fn.B.Inexact(),
			}
		}
		return out
	}
	doc := map[string]any{
		"blocks": convert(r.Blocks), "moved": convert(r.Moved),
		"both": r.Both, "same": r.Same, "missing": r.Missing(),
	}
	for _, list := range diffLists(r) {
		doc[list.key] = convert(list.funcs)
	}
	return report.WriteJSON(w, doc)
}

func callsPerRun(s *profdiff.Side) *float64 {
	if s.Func == nil || !s.Func.Mode.HasCalls() {
		return nil
	}
	x := s.CallsPerRun()
	return &x
}

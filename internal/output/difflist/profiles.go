// Package difflist lists what two profiles, or two logs of calls, have differently.
package difflist

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/profdiff"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Profiles is a comparison of profiles on its way to the output.
type Profiles struct {
	*profdiff.Result
	Show *report.Names
	Top  int // functions whose calls changed; 0 for all
}

// LostBlocks returns in how many functions B misses blocks.
func (d *Profiles) LostBlocks() int {
	n := 0
	for i := range d.Blocks {
		if len(d.Blocks[i].Lost) > 0 {
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

func (d *Profiles) lists() []diffList {
	return []diffList{
		{"only_a", "ran only in A", report.Red, d.OnlyA},
		{"only_b", "ran only in B", report.Green, d.OnlyB},
		{"gone", "ran in A, not in B's build", report.Amber, d.Gone},
		{"new", "ran in B, not in A's build", report.Blue, d.New},
	}
}

// WriteText lists the functions, and sums.
func (d *Profiles) WriteText(w io.Writer, style report.Style) error {
	name := func(fn *profdiff.Func) report.Cell { return report.Text(d.Show.Show(fn.Name)) }
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
	for _, list := range d.lists() {
		t := report.NewTable("", "~", "/", "")
		for i := range list.funcs {
			fn := &list.funcs[i]
			t.Add(report.Cell{}, name(fn), report.Cell{Text: fn.File, Color: report.Dim}, report.Cell{Text: changedText(fn), Color: report.Amber})
		}
		if err := section(list.title, list.color, len(list.funcs), t); err != nil {
			return err
		}
	}
	if err := section("ran through other blocks", report.Bold, len(d.Blocks), d.blocksTable(name)); err != nil {
		return err
	}
	if err := section("calls per run changed", report.Bold, len(d.Moved), d.movedTable(name)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s functions ran in both, %s of them alike\n", report.Count(d.Both), report.Count(d.Same)); err != nil {
		return err
	}
	return d.writeLegend(w, style)
}

// writeLegend explains the mark of counts that are lower bounds, if one was printed.
func (d *Profiles) writeLegend(w io.Writer, style report.Style) error {
	for i := range d.Moved {
		fn := &d.Moved[i]
		if d.Top > 0 && i == d.Top {
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

func (d *Profiles) blocksTable(name func(*profdiff.Func) report.Cell) *report.Table {
	t := report.NewTable("", "lost", "gained", "~function")
	for i := range d.Blocks {
		fn := &d.Blocks[i]
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

func (d *Profiles) movedTable(name func(*profdiff.Func) report.Cell) *report.Table {
	t := report.NewTable("", ">A", ">B", ">change", ">ratio", "~function", "")
	for i := range d.Moved {
		if d.Top > 0 && i == d.Top {
			t.Add(report.Cell{}, report.Cell{}, report.Cell{}, report.Cell{}, report.Cell{},
				report.Cell{Text: fmt.Sprintf("and %d more (--top 0 lists all)", len(d.Moved)-i), Color: report.Dim}, report.Cell{})
			break
		}
		fn := &d.Moved[i]
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

// WriteJSON writes all functions that differ.
func (d *Profiles) WriteJSON(w io.Writer) error {
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
		"blocks": convert(d.Blocks), "moved": convert(d.Moved),
		"both": d.Both, "same": d.Same, "missing": d.Missing(),
	}
	for _, list := range d.lists() {
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

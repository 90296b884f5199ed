// Package pagemap shows which pages of programs runs touch: predicted, measured, and drawn.
package pagemap

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/layout/heatmap"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Choice is of which runs and programs pages are shown, and how.
type Choice struct {
	gather.Choice
	verb.DisplayFlags
	Before      string
	Scenario    string
	Choose      bool // the scenario, whose name may be empty
	PageSize    uint64
	SVG         string
	HTML        string
	LeaveOneOut bool
	Measure     bool
	Latency     time.Duration // of the device; 0 for none
	Ahead       uint64        // KiB
	Around      bool
	Args        []string // of the program, for measure
}

func (f *Choice) check() error {
	switch {
	case bits.OnesCount64(f.PageSize) != 1 || f.PageSize < 256 || f.PageSize > 1<<30:
		return verb.Usagef("--page-size %d: must be a power of two from 256 to %d", f.PageSize, 1<<30)
	case len(f.Args) > 0 && !f.Measure:
		return verb.Usagef("arguments after -- need --measure")
	case f.Latency < 0 || f.Latency > time.Minute:
		return verb.Usagef("--latency %v: must be from 0 to %v", f.Latency, time.Minute)
	case f.Ahead > maxAhead:
		return verb.Usagef("--read-ahead %d: must be at most %d KiB", f.Ahead, maxAhead)
	case f.SVG == "-" && f.HTML == "-":
		return verb.Usagef("--svg - and --html - cannot both write to standard output")
	case f.Json && f.drawsOut():
		return verb.Usagef("--json and a picture cannot both write to standard output: write the picture to a file")
	}
	return nil
}

// drawsOut reports whether a picture has standard output for itself.
func (f *Choice) drawsOut() bool { return f.SVG == "-" || f.HTML == "-" }

// pageMap is all that the verb shows.
type pageMap struct {
	module    *prof.Module
	scenarios []pages.Scenario
	programs  []*gather.Program // before, if there is one, and the binary
	summaries [][]pages.Summary
	pageSize  uint64
	heldOut   []order.HeldOut
	measured  []measurement  // parallel to programs; nil without --measure
	cold      [][]pages.Cold // as summaries; nil without --latency
	latency   time.Duration
}

// Write prints or draws the pages of a program.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, binary string) error {
	if err := f.check(); err != nil {
		return err
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return err
	}
	m, err := f.ModuleOf(p, binary)
	if err != nil {
		return err
	}
	pm := &pageMap{module: m, pageSize: f.PageSize}
	if pm.scenarios, err = f.scenarios(s, m); err != nil {
		return err
	}
	paths := []string{binary}
	if f.Before != "" {
		paths = []string{f.Before, binary}
	}
	for _, path := range paths {
		if err := pm.add(s, path); err != nil {
			return err
		}
	}
	if f.LeaveOneOut {
		pm.leaveOneOut(s)
	}
	if f.Latency > 0 {
		pm.latency = f.Latency
		pm.readCold(pages.Device{Ahead: f.Ahead << 10, Around: f.Around})
	}
	if f.Measure {
		if err := pm.measure(ctx, s, f.Args); err != nil {
			return err
		}
	}
	if err := f.draw(s, pm); err != nil {
		return err
	}
	if f.drawsOut() {
		return nil
	}
	if f.Json {
		return pm.writeJSON(s.Out)
	}
	return pm.writeTables(s.Out, style)
}

// maxAhead bounds --read-ahead, in KiB.
const maxAhead = 1 << 20

// readCold computes what the scenarios read if no page is in memory.
func (pm *pageMap) readCold(d pages.Device) {
	for _, p := range pm.programs {
		var all []pages.Cold
		for i := range pm.scenarios {
			all = append(all, p.Cold(&pm.scenarios[i], pm.pageSize, d))
		}
		pm.cold = append(pm.cold, all)
	}
}

// scenarios returns the runs of m, or one that represents all if there are none.
func (f *Choice) scenarios(s *verb.Streams, m *prof.Module) ([]pages.Scenario, error) {
	traces := order.TracesOf(m)
	switch {
	case len(traces) == 0:
		return nil, fmt.Errorf("%s: no function of %s ran", f.Path, m.Module)
	case len(m.Traces) == 0 && !slices.ContainsFunc(m.Funcs, func(fn prof.Func) bool { return fn.Mode.HasOrder() }):
		verb.Note(s, "%s has no order of first executions: the order in which pages are touched is an estimate", f.Path)
	}
	for _, line := range order.CutWarning(traces) {
		verb.Note(s, "%s", line)
	}
	scenarios := pages.Scenarios(traces)
	if !f.Choose {
		return scenarios, nil
	}
	var have []string
	for i := range scenarios {
		if scenarios[i].Name == f.Scenario {
			return scenarios[i : i+1], nil
		}
		have = append(have, fmt.Sprintf("%q", scenarios[i].Name))
	}
	return nil, fmt.Errorf("%s: no scenario %q; it has %s", f.Path, f.Scenario, strings.Join(have, ", "))
}

// add reads a binary and computes the pages that the scenarios touch in it.
func (pm *pageMap) add(s *verb.Streams, path string) error {
	done := verb.Working(s, "reading %s", path)
	p, err := gather.OpenProgram(path, pm.module)
	done()
	if err != nil {
		return err
	}
	pm.programs = append(pm.programs, p)
	sums := make([]pages.Summary, len(pm.scenarios))
	missing := 0.0
	for i := range pm.scenarios {
		sums[i] = p.Summarize(pm.module, &pm.scenarios[i], pm.pageSize)
		if sums[i].Functions == 0 {
			return fmt.Errorf("%s: has none of the functions that ran in scenario %s (is it the same program, and unstripped?)", path, order.ScenarioName(pm.scenarios[i].Name))
		}
		missing = max(missing, sums[i].Missing)
	}
	pm.summaries = append(pm.summaries, sums)
	if missing > 0 {
		verb.Note(s, "%s: up to %s of a run not found by name (inlined, renamed or stripped)", path, report.Plural(int(math.Ceil(missing)), "function"))
	}
	if n := p.Match.Guessed; n > 0 {
		verb.Note(s, "%s: %s with ambiguous names, matched by size only", path, report.Plural(n, "function"))
	}
	return nil
}

// leaveOneOut evaluates orders for scenarios that they were computed without.
func (pm *pageMap) leaveOneOut(s *verb.Streams) {
	pm.heldOut = order.LeaveOneOut(order.FromModule(pm.module, nil), order.Startup, order.Options{}, pm.pageSize)
	if len(pm.heldOut) == 0 {
		verb.Note(s, "--loo needs runs of at least two scenarios (set CAIRN_SCENARIO)")
	}
}

// draw writes the requested pictures.
func (f *Choice) draw(s *verb.Streams, pm *pageMap) error {
	if f.SVG == "" && f.HTML == "" {
		return nil
	}
	doc := pm.document(f.Names())
	if f.HTML != "" {
		if err := verb.WriteFile(s, f.HTML, func(w io.Writer) error { return heatmap.WriteHTML(w, doc) }); err != nil {
			return err
		}
	}
	if f.SVG == "" {
		return nil
	}
	if len(pm.scenarios) > 1 {
		verb.Note(s, "%s shows scenario %q, the first of %d: select one with --scenario", f.SVG, doc.Scenarios[0].Name, len(pm.scenarios))
	}
	return verb.WriteFile(s, f.SVG, func(w io.Writer) error { return heatmap.WriteSVG(w, doc, 0) })
}

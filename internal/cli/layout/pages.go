package layout

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/layout/heatmap"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type pagesFlags struct {
	gather.Choice
	verb.DisplayFlags
	before   string
	scenario string
	choose   bool // the scenario, whose name may be empty
	pageSize uint64
	svg      string
	html     string
	loo      bool
	measure  bool
	latency  time.Duration // of the device; 0 for none
	ahead    uint64        // KiB
	around   bool
	args     []string // of the program, for measure
}

// Pages returns the command cairn pages.
func Pages(s *verb.Streams) *cobra.Command {
	var f pagesFlags
	c := &cobra.Command{
		Use:   "pages FILE.mip BINARY [--before BINARY] [flags] [-- ARGS...]",
		Short: "Show the pages of a binary that the runs of a profile touch",
		Long: `pages predicts which pages of a binary's code each scenario of a profile touches: a
page is touched when a function on it runs. Functions are found by name, so the
binary need not be the one that ran: give one that was linked in another order, and
the old one with --before.

The columns:
  functions, bytes  the functions that ran, and the size of their code
  before, pages     pages touched in the --before binary and in this one
  least             the fewest pages in which these bytes fit
  by block          pages with a block that any run ran, if blocks are recorded
  64K               windows of 64 KiB: Linux maps these whole from a warm cache

--svg and --html draw the pages as a map. With --measure, pages runs the binaries with
the arguments after -- and shows the pages that they touch beside the prediction.`,
		Example: `  cairn pages app.mip app --before app.old --html pages.html
  cairn pages app.mip app --scenario open --measure -- open file.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, f.args = args[:dash], args[dash:]
			}
			f.choose = c.Flags().Changed("scenario")
			f.Take(args)
			if len(f.Binaries) != 1 {
				return verb.Usagef("pages: give one binary (see cairn pages -h)")
			}
			return f.run(c.Context(), s, f.Binaries[0])
		},
	}
	profile.RegisterProfile(c, &f.Choice)
	f.DisplayFlags.Register(c)
	c.Flags().StringVar(&f.before, "before", "", "compare with this `binary`, the same program in another layout")
	c.Flags().StringVar(&f.scenario, "scenario", "", "only the scenario of this `name`")
	c.Flags().Uint64Var(&f.pageSize, "page-size", 4096, "size of a page in `bytes`")
	c.Flags().StringVar(&f.svg, "svg", "", "draw one scenario into this SVG `file`, - for standard output")
	c.Flags().StringVar(&f.html, "html", "", "draw all scenarios into this HTML `file`, - for standard output")
	c.Flags().BoolVar(&f.loo, "loo", false, "also evaluate each scenario by an order computed without it")
	c.Flags().BoolVar(&f.measure, "measure", false, "run the binaries and measure the pages that they touch")
	c.Flags().DurationVar(&f.latency, "latency", 0, "also compute how long a start waits for a device with this `latency` of a read, such as 1ms, if no page is in memory")
	c.Flags().Uint64Var(&f.ahead, "read-ahead", 128, "with --latency: the device's read-ahead in `KiB`, 0 for none, as in /sys/block/DEVICE/queue/read_ahead_kb")
	c.Flags().BoolVar(&f.around, "read-around", false, "with --latency: the read-ahead is around a page, as on Linux before 6.16, and not behind it")
	verb.Rules(c, verb.Needs("read-ahead", "latency"), verb.Needs("read-around", "latency"))
	return c
}

func (f *pagesFlags) check() error {
	switch {
	case bits.OnesCount64(f.pageSize) != 1 || f.pageSize < 256 || f.pageSize > 1<<30:
		return verb.Usagef("--page-size %d: must be a power of two from 256 to %d", f.pageSize, 1<<30)
	case len(f.args) > 0 && !f.measure:
		return verb.Usagef("arguments after -- need --measure")
	case f.latency < 0 || f.latency > time.Minute:
		return verb.Usagef("--latency %v: must be from 0 to %v", f.latency, time.Minute)
	case f.ahead > maxAhead:
		return verb.Usagef("--read-ahead %d: must be at most %d KiB", f.ahead, maxAhead)
	case f.svg == "-" && f.html == "-":
		return verb.Usagef("--svg - and --html - cannot both write to standard output")
	case f.Json && f.drawsOut():
		return verb.Usagef("--json and a picture cannot both write to standard output: write the picture to a file")
	}
	return nil
}

// drawsOut reports whether a picture has standard output for itself.
func (f *pagesFlags) drawsOut() bool { return f.svg == "-" || f.html == "-" }

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

func (f *pagesFlags) run(ctx context.Context, s *verb.Streams, binary string) error {
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
	m, err := moduleOf(&f.Choice, p, binary)
	if err != nil {
		return err
	}
	pm := &pageMap{module: m, pageSize: f.pageSize}
	if pm.scenarios, err = f.scenarios(s, m); err != nil {
		return err
	}
	paths := []string{binary}
	if f.before != "" {
		paths = []string{f.before, binary}
	}
	for _, path := range paths {
		if err := pm.add(s, path); err != nil {
			return err
		}
	}
	if f.loo {
		pm.leaveOneOut(s)
	}
	if f.latency > 0 {
		pm.latency = f.latency
		pm.readCold(pages.Device{Ahead: f.ahead << 10, Around: f.around})
	}
	if f.measure {
		if err := pm.measure(ctx, s, f.args); err != nil {
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
func (f *pagesFlags) scenarios(s *verb.Streams, m *prof.Module) ([]pages.Scenario, error) {
	traces := order.TracesOf(m)
	switch {
	case len(traces) == 0:
		return nil, fmt.Errorf("%s: no function of %s ran", f.Path, m.Module)
	case len(m.Traces) == 0 && !slices.ContainsFunc(m.Funcs, func(fn prof.Func) bool { return fn.Mode.HasOrder() }):
		verb.Note(s, "%s has no order of first executions: the order in which pages are touched is an estimate", f.Path)
	}
	for _, line := range cutWarning(traces) {
		verb.Note(s, "%s", line)
	}
	scenarios := pages.Scenarios(traces)
	if !f.choose {
		return scenarios, nil
	}
	var have []string
	for i := range scenarios {
		if scenarios[i].Name == f.scenario {
			return scenarios[i : i+1], nil
		}
		have = append(have, fmt.Sprintf("%q", scenarios[i].Name))
	}
	return nil, fmt.Errorf("%s: no scenario %q; it has %s", f.Path, f.scenario, strings.Join(have, ", "))
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
			return fmt.Errorf("%s: has none of the functions that ran in scenario %s (is it the same program, and unstripped?)", path, shownName(pm.scenarios[i].Name))
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
func (f *pagesFlags) draw(s *verb.Streams, pm *pageMap) error {
	if f.svg == "" && f.html == "" {
		return nil
	}
	doc := pm.document(f.Names())
	if f.html != "" {
		if err := verb.WriteFile(s, f.html, func(w io.Writer) error { return heatmap.WriteHTML(w, doc) }); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	if len(pm.scenarios) > 1 {
		verb.Note(s, "%s shows scenario %q, the first of %d: select one with --scenario", f.svg, doc.Scenarios[0].Name, len(pm.scenarios))
	}
	return verb.WriteFile(s, f.svg, func(w io.Writer) error { return heatmap.WriteSVG(w, doc, 0) })
}

// shownName is the displayed name of a scenario.
func shownName(scenario string) string {
	if scenario == "" {
		return "(no name)"
	}
	return scenario
}

package pagemap

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/layout/heatmap"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/report"
)

// writeTables prints the scenarios, and then the other requested tables.
func (pm *pageMap) writeTables(w io.Writer, style report.Style) error {
	if err := pm.scenarioTable().Write(w, style); err != nil {
		return err
	}
	for _, t := range []*report.Table{pm.heldOutTable(), pm.coldTable(), pm.measuredTable()} {
		if t.Len() == 0 {
			continue
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := t.Write(w, style); err != nil {
			return err
		}
	}
	return nil
}

func (pm *pageMap) scenarioTable() *report.Table {
	last := len(pm.programs) - 1
	compare, blocks := last > 0, pages.HasBlocks(pm.module)
	t := report.NewTable("~scenario")
	head := func(titles ...string) {
		for _, title := range titles {
			t.Head(">" + title)
		}
	}
	head("runs", "functions", "bytes")
	if compare {
		head("before")
	}
	head("pages")
	if compare {
		head("change")
	}
	head("least")
	if blocks {
		head("by block")
	}
	if compare {
		head("64K before")
	}
	head("64K")
	row := func(name, runs string, sums []pages.Summary) {
		old, now := &sums[0], &sums[last]
		cells := []report.Cell{report.Text(name), report.Text(runs), decimal(now.Functions), decimal(now.Bytes)}
		if compare {
			cells = append(cells, decimal(old.Pages))
		}
		cells = append(cells, report.Cell{Text: report.Decimal(now.Pages), Color: report.Bold})
		if compare {
			cells = append(cells, change(old.Pages, now.Pages))
		}
		cells = append(cells, decimal(now.Bound))
		if blocks {
			cells = append(cells, decimal(now.BlockPages))
		}
		if compare {
			cells = append(cells, decimal(old.Windows))
		}
		t.Add(append(cells, decimal(now.Windows))...)
	}
	for i := range pm.scenarios {
		sc := &pm.scenarios[i]
		row(order.ScenarioName(sc.Name), report.Count(len(sc.Traces)), pm.column(i))
	}
	if len(pm.scenarios) > 1 {
		means := make([]pages.Summary, len(pm.programs))
		for k := range means {
			means[k] = pages.Mean(pm.summaries[k])
		}
		row("mean", "", means)
	}
	return t
}

// column returns the summaries of scenario i for each program.
func (pm *pageMap) column(i int) []pages.Summary {
	sums := make([]pages.Summary, len(pm.programs))
	for k := range sums {
		sums[k] = pm.summaries[k][i]
	}
	return sums
}

func decimal(x float64) report.Cell { return report.Text(report.Decimal(x)) }

// change is the difference of two numbers of pages in percent; fewer is better.
func change(old, now float64) report.Cell {
	if old == 0 {
		return report.Text("-")
	}
	c := report.Cell{Text: fmt.Sprintf("%+.1f%%", 100*(now-old)/old)}
	switch {
	case now < old:
		c.Color = report.Green
	case now > old:
		c.Color = report.Red
	}
	return c
}

func (pm *pageMap) heldOutTable() *report.Table {
	t := report.NewTable("~held out", ">pages", ">least", ">unseen bytes")
	for _, h := range pm.heldOut {
		unseen := report.Cell{Text: fmt.Sprintf("%.1f%%", 100*h.UnseenBytes)}
		if h.Warn {
			unseen.Color = report.Amber
		}
		t.Add(report.Text(order.ScenarioName(h.Scenario)), decimal(h.Pages), decimal(h.Bound), unseen)
	}
	return t
}

// coldTable has what the scenarios wait for if no page is in memory.
func (pm *pageMap) coldTable() *report.Table {
	t := report.NewTable("~from the device")
	compare := len(pm.programs) > 1
	for _, title := range []string{"reads", "read", "wait"} {
		if compare {
			t.Head(">" + title + " before")
		}
		t.Head(">" + title)
	}
	if pm.cold == nil {
		return t
	}
	for i := range pm.scenarios {
		cells := []report.Cell{report.Text(order.ScenarioName(pm.scenarios[i].Name))}
		for _, value := range []func(c *pages.Cold) report.Cell{
			func(c *pages.Cold) report.Cell { return decimal(c.Reads) },
			func(c *pages.Cold) report.Cell { return report.Text(fmt.Sprintf("%.0f KiB", c.Bytes/1024)) },
			func(c *pages.Cold) report.Cell { return report.Text(fmt.Sprintf("%.1f ms", pm.wait(c))) },
		} {
			for k := range pm.cold {
				cells = append(cells, value(&pm.cold[k][i]))
			}
		}
		t.Add(cells...)
	}
	return t
}

// wait returns the milliseconds that reads take, one after the other.
func (pm *pageMap) wait(c *pages.Cold) float64 { return c.Reads * pm.latency.Seconds() * 1000 }

// coldJSON is what a scenario waits for if no page is in memory.
type coldJSON struct {
	Reads float64 `json:"reads"`
	Bytes float64 `json:"bytes"`
	Wait  float64 `json:"wait_ms"`
}

// layoutJSON is the summary of a scenario for one binary.
type layoutJSON struct {
	Pages      float64 `json:"pages"`
	BlockPages float64 `json:"block_pages,omitempty"`
	Area       float64 `json:"area"`
	Windows    float64 `json:"windows_64k"`
	Missing    float64 `json:"missing_functions"`
	// Cold is there with --latency.
	Cold *coldJSON `json:"cold,omitempty"`
	// Of the run that executed the most functions.
	Curve   []int      `json:"curve"`
	Touched []pageJSON `json:"touched"`
}

// pageJSON is a touched page.
type pageJSON struct {
	Addr     uint64 `json:"addr"`
	Step     int    `json:"step"` // first execution that touched it, from 1
	Bytes    uint64 `json:"bytes"`
	Function string `json:"function"`
}

type scenarioPagesJSON struct {
	Scenario  string      `json:"scenario"`
	Runs      int         `json:"runs"`
	Functions float64     `json:"functions"`
	Bytes     float64     `json:"bytes"`
	Bound     float64     `json:"bound"`
	Before    *layoutJSON `json:"before,omitempty"`
	After     *layoutJSON `json:"after"`
}

type binaryPagesJSON struct {
	Binary   string       `json:"binary"`
	TextAddr uint64       `json:"text_addr"`
	TextSize uint64       `json:"text_size"`
	Pages    int          `json:"pages"`
	Guessed  int          `json:"guessed_functions"`
	Measured *measurement `json:"measured,omitempty"`
}

type heldOutJSON struct {
	Scenario    string  `json:"scenario"`
	Pages       float64 `json:"pages"`
	Bound       float64 `json:"bound"`
	UnseenFuncs float64 `json:"unseen_functions"`
	UnseenBytes float64 `json:"unseen_bytes"`
}

func (pm *pageMap) writeJSON(w io.Writer) error {
	out := struct {
		PageSize  uint64              `json:"page_size"`
		Before    *binaryPagesJSON    `json:"before,omitempty"`
		After     *binaryPagesJSON    `json:"after"`
		Scenarios []scenarioPagesJSON `json:"scenarios"`
		HeldOut   []heldOutJSON       `json:"held_out,omitempty"`
	}{PageSize: pm.pageSize, Scenarios: make([]scenarioPagesJSON, len(pm.scenarios))}
	last := len(pm.programs) - 1
	out.After = pm.binaryJSON(last)
	if last > 0 {
		out.Before = pm.binaryJSON(0)
	}
	for i := range pm.scenarios {
		sc, now := &pm.scenarios[i], &pm.summaries[last][i]
		j := scenarioPagesJSON{
			Scenario: sc.Name, Runs: len(sc.Traces), Functions: now.Functions, Bytes: now.Bytes, Bound: now.Bound,
			After: pm.layoutJSON(last, i),
		}
		if last > 0 {
			j.Before = pm.layoutJSON(0, i)
		}
		out.Scenarios[i] = j
	}
	for _, h := range pm.heldOut {
		out.HeldOut = append(out.HeldOut, heldOutJSON{h.Scenario, h.Pages, h.Bound, h.UnseenFuncs, h.UnseenBytes})
	}
	return report.WriteJSON(w, out)
}

func (pm *pageMap) binaryJSON(k int) *binaryPagesJSON {
	p := pm.programs[k]
	text := p.Layout.Text
	j := &binaryPagesJSON{
		Binary: p.Path, TextAddr: text.Addr, TextSize: text.Size,
		Pages: len(pages.Compute(text, nil, pm.pageSize).Pages), Guessed: p.Match.Guessed,
	}
	if pm.measured != nil {
		j.Measured = &pm.measured[k]
	}
	return j
}

func (pm *pageMap) layoutJSON(k, scenario int) *layoutJSON {
	p, sum := pm.programs[k], &pm.summaries[k][scenario]
	run, steps, _ := p.Trace(pm.scenarios[scenario].Longest(), pm.pageSize)
	j := &layoutJSON{
		Pages: sum.Pages, Area: sum.Area, Windows: sum.Windows, Missing: sum.Missing,
		Curve: run.Curve, Touched: []pageJSON{},
	}
	if pages.HasBlocks(pm.module) {
		j.BlockPages = sum.BlockPages
	}
	if pm.cold != nil {
		c := &pm.cold[k][scenario]
		j.Cold = &coldJSON{c.Reads, c.Bytes, pm.wait(c)}
	}
	for i, page := range run.Pages {
		if page.Step > 0 {
			j.Touched = append(j.Touched, pageJSON{
				Addr: run.Addr + uint64(i)*run.PageSize, Step: page.Step, Bytes: page.Bytes,
				Function: p.Layout.Funcs[steps[page.Step-1].Func].Name,
			})
		}
	}
	return j
}

// layoutLabels are the labels of two programs.
var layoutLabels = [2]string{"before", "after"}

// maxOnPage is how many functions of a page a picture names.
const maxOnPage = 8

// document returns the data of the picture. For each scenario it shows the run that executed
// the most functions.
func (pm *pageMap) document(names *report.Names) *heatmap.Document {
	last := len(pm.programs) - 1
	d := &heatmap.Document{Binary: filepath.Base(pm.programs[last].Path), PageSize: pm.pageSize}
	on := make([][][]int, len(pm.programs))
	for k, p := range pm.programs {
		on[k] = p.All.OnPages(pm.pageSize)
	}
	for i := range pm.scenarios {
		sc := heatmap.Scenario{Name: order.ScenarioName(pm.scenarios[i].Name)}
		trace := pm.scenarios[i].Longest()
		for k, p := range pm.programs {
			run, steps, _ := p.Trace(trace, pm.pageSize)
			l := heatmap.Layout{Curve: run.Curve, Pages: make([]heatmap.Page, len(run.Pages))}
			if last > 0 {
				l.Label = layoutLabels[k]
			}
			for n, page := range run.Pages {
				shown := &l.Pages[n]
				shown.Addr, shown.Step = run.Addr+uint64(n)*run.PageSize, page.Step
				if page.Step > 0 {
					shown.First = names.Show(p.Layout.Funcs[steps[page.Step-1].Func].Name)
				}
				fs := on[k][n]
				for _, fn := range fs[:min(len(fs), maxOnPage)] {
					shown.Funcs = append(shown.Funcs, names.Show(p.All.Funcs[fn].Name))
				}
				shown.More = max(len(fs)-maxOnPage, 0)
			}
			sc.Layouts = append(sc.Layouts, l)
			sc.Least = run.Least
		}
		d.Scenarios = append(d.Scenarios, sc)
	}
	return d
}

package orderfile

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/report"
)

// orderPage is the page size that orders are judged by, in bytes.
const orderPage = 4096

// orderSummary is the summary that order prints.
type orderSummary struct {
	Algorithm string              `json:"algorithm"`
	Format    linkorder.Format    `json:"format"`
	Traces    int                 `json:"traces"`
	Link      orderLinkJSON       `json:"link"`
	Scenarios []orderScenarioJSON `json:"scenarios"`
	HeldOut   []orderHeldOutJSON  `json:"held_out"`
	Data      *orderDataJSON      `json:"data,omitempty"` // with --data
	Warnings  []string            `json:"warnings"`
}

// orderLinkJSON describes how many functions were found in the link.
type orderLinkJSON struct {
	Listed    int      `json:"listed"`
	Resolved  int      `json:"resolved"`
	Merged    int      `json:"merged"`
	Renamed   int      `json:"renamed"`
	Written   int      `json:"written"`
	Bytes     uint64   `json:"bytes"`
	Ambiguous []string `json:"ambiguous"`
	Crowded   []string `json:"shared_sections"`
	Vanished  []string `json:"vanished"`
	Misplaced []string `json:"misplaced"`
	Skipped   []string `json:"skipped"`
}

// orderScenarioJSON is the weighted mean over the traces of a scenario, as in cairn pages.
type orderScenarioJSON struct {
	Scenario  string  `json:"scenario"`
	Traces    int     `json:"traces"`
	Functions float64 `json:"functions"`
	Bytes     float64 `json:"bytes"`
	PagesNow  float64 `json:"pages_now"`
	Pages     float64 `json:"pages"`
	Bound     float64 `json:"pages_at_least"`
}

type orderHeldOutJSON struct {
	Scenario    string  `json:"scenario"`
	Pages       float64 `json:"pages"`
	Bound       float64 `json:"pages_at_least"`
	UnseenFuncs float64 `json:"unseen_functions"`
	UnseenBytes float64 `json:"unseen_bytes"`
}

func newOrderSummary(r *ranking, res *linkorder.Resolution, format linkorder.Format, skipped []string) *orderSummary {
	rep := &res.Report
	sum := &orderSummary{
		Algorithm: string(r.algorithm), Format: format, Traces: len(r.in.Traces),
		Link: orderLinkJSON{
			Listed: rep.Listed, Resolved: rep.Resolved, Merged: rep.Merged, Renamed: rep.Renamed,
			Written: rep.Entries - len(skipped), Bytes: rep.Bytes,
			Ambiguous: orEmpty(rep.Ambiguous), Crowded: orEmpty(rep.Crowded), Vanished: orEmpty(rep.Vanished),
			Misplaced: orEmpty(rep.Misplaced), Skipped: orEmpty(skipped),
		},
		Scenarios: pagesByScenario(r),
		HeldOut:   []orderHeldOutJSON{},
		Warnings:  orEmpty(res.Warnings(format, skipped)),
	}
	held := order.LeaveOneOut(r.in, r.algorithm, r.opts, orderPage)
	for _, h := range held {
		sum.HeldOut = append(sum.HeldOut, orderHeldOutJSON{h.Scenario, h.Pages, h.Bound, h.UnseenFuncs, h.UnseenBytes})
	}
	sum.Warnings = append(sum.Warnings, unseenWarning(held)...)
	sum.Warnings = append(sum.Warnings, order.CutWarning(r.in.Traces)...)
	return sum
}

// unseenWarning returns a line if scenarios run code that no other runs: users will do so as
// well, and the order does not account for that.
func unseenWarning(held []order.HeldOut) []string {
	warned := slices.DeleteFunc(slices.Clone(held), func(h order.HeldOut) bool { return !h.Warn })
	if len(warned) == 0 {
		return nil
	}
	worst := slices.MaxFunc(warned, func(a, b order.HeldOut) int { return cmp.Compare(a.UnseenBytes, b.UnseenBytes) })
	line := fmt.Sprintf("held out: %.1f %% of the code that scenario %s runs is run by no other", 100*worst.UnseenBytes, order.ScenarioName(worst.Scenario))
	if others := len(warned) - 1; others > 0 {
		line += fmt.Sprintf(", and more than 5 %% in %d of the other %d", others, len(held)-1)
	}
	return []string{line + ": record more scenarios"}
}

// orEmpty replaces nil by an empty list, which is [] and not null in JSON.
func orEmpty(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// pagesByScenario evaluates the order for each scenario, and the one by address
// beside it.
func pagesByScenario(r *ranking) []orderScenarioJSON {
	rows := []orderScenarioJSON{}
	now := order.Evaluate(r.in, order.ByAddress(r.in), orderPage)
	then := order.Evaluate(r.in, r.ranked, orderPage)
	index := make(map[string]int)
	var weights []float64 // by row
	for i := range min(len(now), len(then)) {
		t := &then[i]
		at, ok := index[t.Scenario]
		if !ok {
			at = len(rows)
			index[t.Scenario] = at
			rows = append(rows, orderScenarioJSON{Scenario: t.Scenario})
			weights = append(weights, 0)
		}
		row, w := &rows[at], float64(t.Weight)
		row.Traces++
		weights[at] += w
		row.Functions += w * float64(t.Funcs)
		row.Bytes += w * float64(t.Bytes)
		row.PagesNow += w * float64(now[i].Pages)
		row.Pages += w * float64(t.Pages)
		row.Bound += w * float64(t.Bound)
	}
	for i, n := range weights {
		for _, v := range []*float64{&rows[i].Functions, &rows[i].Bytes, &rows[i].PagesNow, &rows[i].Pages, &rows[i].Bound} {
			*v = math.Round(*v/n*10) / 10
		}
	}
	return rows
}

// heldOutPages returns the pages by scenario. Each run without a name is held out separately;
// their mean is shown.
func heldOutPages(held []orderHeldOutJSON) map[string]float64 {
	pages, runs := make(map[string]float64), make(map[string]float64)
	for _, h := range held {
		pages[h.Scenario] += h.Pages
		runs[h.Scenario]++
	}
	for name := range pages {
		pages[name] /= runs[name]
	}
	return pages
}

// print writes the summary for people.
func (sum *orderSummary) print(w io.Writer) error {
	l := &sum.Link
	fmt.Fprintf(w, "%s of %s functions in order (%s), %s bytes", report.Count(l.Resolved), report.Count(l.Listed), sum.Algorithm, report.Count(l.Bytes))
	var asides []string
	for _, a := range []struct {
		n    int
		what string
	}{{l.Merged, "at the place of another"}, {l.Renamed, "renamed"}} {
		if a.n > 0 {
			asides = append(asides, report.Count(a.n)+" "+a.what)
		}
	}
	if len(asides) > 0 {
		fmt.Fprintf(w, "; %s", strings.Join(asides, ", "))
	}
	fmt.Fprintln(w)
	t := report.NewTable("scenario", ">runs", ">functions", ">pages now", ">ordered", ">at least", ">held out")
	held := heldOutPages(sum.HeldOut)
	for i, row := range sum.Scenarios {
		if i == gather.MaxListed {
			break
		}
		out := "-"
		if pages, ok := held[row.Scenario]; ok {
			out = report.Decimal(math.Round(pages*10) / 10)
		}
		t.Row(order.ScenarioName(row.Scenario), report.Count(row.Traces), report.Decimal(row.Functions), report.Decimal(row.PagesNow),
			report.Decimal(row.Pages), report.Decimal(row.Bound), out)
	}
	if err := t.Write(w, report.Style{}); err != nil {
		return err
	}
	if more := len(sum.Scenarios) - gather.MaxListed; more > 0 {
		fmt.Fprintf(w, "and %d more scenarios (--json lists all)\n", more)
	}
	if sum.Data != nil {
		sum.Data.print(w)
	}
	for _, line := range sum.Warnings {
		fmt.Fprintf(w, "cairn: warning: %s\n", report.Printable(line))
	}
	return nil
}

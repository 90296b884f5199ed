package profile

import (
	"io"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/packages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// writePackages lists packages, those with most code that did not run first.
func (f *coveredFlags) writePackages(_ *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	filter, err := verb.NewNameFilter(f.pattern)
	if err != nil {
		return err
	}
	var of []*prof.Module
	for i := range modules {
		of = append(of, modules[i].Module)
	}
	kept := map[*prof.Func]bool{}
	for i := range modules {
		m := &modules[i]
		for k := range m.Funcs {
			fn := &m.Funcs[k]
			if filter.Match(fn.Name) {
				_, _, kept[fn] = f.scope.place(m, fn)
			}
		}
	}
	list := packages.Sum(of, func(fn *prof.Func) bool { return kept[fn] }, func(a *prof.Absent) bool {
		file, line := coverage.AbsentSource(a)
		return filter.Match(a.Name) && f.scope.has(file, line)
	})
	if f.Json {
		return writePackagesJSON(w, list)
	}
	t := report.Table{Columns: []report.Column{
		{Title: "package", Shrink: report.ShortenPath},
		{Title: "functions", Align: report.Right},
		{Align: report.Right},
		{Title: "code", Align: report.Right},
		{Title: "did not run", Align: report.Right},
	}}
	add := func(name report.Cell, p *packages.Package) {
		cells := append([]report.Cell{name}, tallyCells(coverage.Tally{Covered: p.Ran, Total: p.Functions})...)
		t.Add(append(cells, report.Text(report.Count(p.Bytes)+" B"), report.Text(report.Count(p.Unused())+" B"))...)
	}
	var total packages.Package
	for i := range list {
		p := &list[i]
		add(report.Text(p.Name), p)
		total.Functions += p.Functions
		total.Ran += p.Ran
		total.Bytes += p.Bytes
		total.RanBytes += p.RanBytes
	}
	if len(list) > 1 {
		add(report.Cell{Text: "total", Color: report.Bold}, &total)
	}
	return t.Write(w, style)
}

func writePackagesJSON(w io.Writer, list []packages.Package) error {
	type packageJSON struct {
		Package   string    `json:"package"`
		Functions TallyJSON `json:"functions"`
		Bytes     uint64    `json:"bytes"`
		Unused    uint64    `json:"unused_bytes"`
	}
	out := make([]packageJSON, len(list))
	for i := range list {
		p := &list[i]
		out[i] = packageJSON{p.Name, NewTallyJSON(coverage.Tally{Covered: p.Ran, Total: p.Functions}), p.Bytes, p.Unused()}
	}
	return report.WriteJSON(w, struct {
		Packages []packageJSON `json:"packages"`
	}{out})
}

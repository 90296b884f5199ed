package coverlist

import (
	"io"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/packages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// writePackages lists packages, those with most code that did not run first.
func (f *Covered) writePackages(_ *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	filter, err := verb.NewNameFilter(f.Pattern)
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
				_, _, kept[fn] = f.scope.Place(m, fn)
			}
		}
	}
	list := packages.Sum(of, func(fn *prof.Func) bool { return kept[fn] }, func(a *prof.Absent) bool {
		file, line := coverage.AbsentSource(a)
		return filter.Match(a.Name) && f.scope.Has(file, line)
	})
	if len(f.Debug) > 0 {
		list = addInlined(list, f.analyse(modules).Inlined(), func(fn *coverage.InlinedFunc) bool {
			return filter.Match(fn.Name) && f.scope.Has(fn.File, fn.Line)
		})
	}
	f.scope.Say()
	if f.Json {
		return writePackagesJSON(w, list)
	}
	return packagesTable(list).Write(w, style)
}

// packagesTable returns the table of packages, with their sum.
func packagesTable(list []packages.Package) *report.Table {
	t := report.NewTable("/package", ">functions", ">", ">code", ">did not run")
	var total packages.Package
	for i := range list {
		p := &list[i]
		total.Functions += p.Functions
		total.Ran += p.Ran
		total.Absent += p.Absent
		total.Bytes += p.Bytes
		total.RanBytes += p.RanBytes
	}
	if total.Absent > 0 {
		t.Head(">in no program")
	}
	add := func(name report.Cell, p *packages.Package) {
		cells := append([]report.Cell{name}, tallyCells(coverage.Tally{Covered: p.Ran, Total: p.Functions})...)
		cells = append(cells, report.Text(report.Count(p.Bytes)+" B"), report.Text(report.Count(p.Unused())+" B"))
		if total.Absent > 0 {
			cells = append(cells, report.Text(report.Plural(p.Absent, "function")))
		}
		t.Add(cells...)
	}
	for i := range list {
		add(report.Text(list[i].Name), &list[i])
	}
	if len(list) > 1 {
		add(report.Cell{Text: "total", Color: report.Bold}, &total)
	}
	return t
}

// addInlined adds to packages the functions that have code only where they were inlined, which is part of their
// callers'.
func addInlined(list []packages.Package, inlined []coverage.InlinedFunc, keep func(*coverage.InlinedFunc) bool) []packages.Package {
	index := map[string]int{}
	for i := range list {
		index[list[i].Name] = i
	}
	for i := range inlined {
		fn := &inlined[i]
		if fn.Runs == 0 && fn.MaybeCalls || !keep(fn) {
			continue
		}
		name := packages.Of(&prof.Func{Name: fn.Name, File: fn.File})
		at, ok := index[name]
		if !ok {
			at = len(list)
			index[name], list = at, append(list, packages.Package{Name: name})
		}
		list[at].Functions++
		if fn.Runs > 0 {
			list[at].Ran++
		}
	}
	return list
}

func writePackagesJSON(w io.Writer, list []packages.Package) error {
	type packageJSON struct {
		Package   string             `json:"package"`
		Functions coverage.TallyJSON `json:"functions"`
		Bytes     uint64             `json:"bytes"`
		Unused    uint64             `json:"unused_bytes"`
		Absent    int                `json:"absent,omitempty"`
	}
	out := make([]packageJSON, len(list))
	for i := range list {
		p := &list[i]
		out[i] = packageJSON{p.Name, coverage.Tally{Covered: p.Ran, Total: p.Functions}.JSON(), p.Bytes, p.Unused(), p.Absent}
	}
	return report.WriteJSON(w, struct {
		Packages []packageJSON `json:"packages"`
	}{out})
}

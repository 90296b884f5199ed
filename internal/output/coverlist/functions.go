package coverlist

import (
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// listedFunc is a function of the source with its copies in all modules that have it, such as a
// function of a header, or of a library that is linked into several programs.
type listedFunc struct {
	name   string // as displayed
	source string // file:line
	ran    bool   // any copy of it
	copies []sourceFunc
}

// funcKey identifies a function of the source in all modules.
type funcKey struct {
	name, file string
	line       int
	module     *coverage.Module // nil if it can be found in others
}

// functions returns the functions of the source that the flags select, each once.
func (f *Covered) functions(modules []coverage.Module, names *report.Names) (list []*listedFunc, err error) {
	byKey := map[funcKey]*listedFunc{}
	err = f.eachSource(modules, names, func(fn sourceFunc) {
		file, line, ok := f.scope.Place(fn.module, fn.first())
		if !ok {
			return
		}
		id, ok := fn.module.SourceID(&fn.src)
		key := funcKey{name: id.Name, file: file, line: line}
		if !ok {
			key.module = fn.module
		}
		l := byKey[key]
		if l == nil {
			l = &listedFunc{name: fn.name, source: report.SourceText(file, line)}
			byKey[key] = l
			list = append(list, l)
		}
		l.ran = l.ran || fn.counts.Runs > 0
		l.copies = append(l.copies, fn)
	})
	return list, err
}

// modules returns the names of the modules that have the function.
func (l *listedFunc) modules() string {
	var names []string
	for i := range l.copies {
		if name := l.copies[i].module.Module.Module; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return report.First(names, gather.MostNames)
}

// writeFuncs lists functions, and what part of them ran. Functions of the same name have the
// names of their modules, as main has in each program.
func (f *Covered) writeFuncs(s *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	names := f.Names()
	list, err := f.functions(modules, names)
	if err != nil {
		return err
	}
	missing, err := f.absent(modules, names)
	if err != nil {
		return err
	}
	l := funcList{
		table: report.NewTable("~", "/", ""),
		json:  []funcJSON{},
		sum:   coverage.Tally{Total: len(list)},
	}
	f.addPresent(&l, list, len(modules) > 1)
	f.addAbsent(&l, missing)
	f.scope.Say()
	if f.Json {
		return report.WriteJSON(w, struct {
			Functions []funcJSON `json:"functions"`
		}{l.json})
	}
	if err := l.table.Write(w, style); err != nil {
		return err
	}
	text := "no functions"
	if l.sum.Total > 0 {
		text = shareText(l.sum) + " functions ran"
	}
	if l.unknown > 0 {
		text += fmt.Sprintf("; of %s it is not known", report.Plural(l.unknown, "function"))
	}
	fmt.Fprintf(s.Remarks(), "%s: %s\n", f.Path, text)
	return nil
}

// funcList is the list of functions in both forms, and its sums.
type funcList struct {
	table   *report.Table
	json    []funcJSON
	sum     coverage.Tally
	unknown int
}

// addPresent adds functions of modules.
func (f *Covered) addPresent(l *funcList, list []*listedFunc, several bool) {
	named := map[string]int{}
	for _, fn := range list {
		named[fn.name]++
	}
	for _, fn := range list {
		if fn.ran {
			l.sum.Covered++
		}
		if f.Unknown || fn.ran == f.Missed {
			continue
		}
		module := ""
		if named[fn.name] > 1 && several {
			module = fn.modules()
		}
		l.table.Add(report.Text(fn.name), report.Cell{Text: fn.source, Color: report.Dim}, report.Cell{Text: module, Color: report.Dim})
		for i := range fn.copies {
			if c := &fn.copies[i]; f.Missed || c.counts.Runs > 0 {
				l.json = append(l.json, c.json())
			}
		}
	}
}

// addAbsent adds functions that no module has.
func (f *Covered) addAbsent(l *funcList, missing []absentFunc) {
	for i := range missing {
		a := &missing[i]
		switch {
		case a.unknown:
			l.unknown++
		case a.runs > 0:
			l.sum.Covered++
			l.sum.Total++
		default:
			l.sum.Total++
		}
		if a.unknown == f.Unknown && (f.Unknown || (a.runs > 0) != f.Missed) {
			l.json = append(l.json, a.json())
			l.table.Add(report.Text(a.name), report.Cell{Text: report.SourceText(a.source, a.line), Color: report.Dim}, report.Cell{Text: a.reason(), Color: report.Dim})
		}
	}
}

package coverlist

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/format/coverprofile"
	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/statements"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeCoverProfile writes the statements of Go programs in the format of go tool cover. Statements of which it is
// not known whether they ran are in no row.
func (f *Covered) writeCoverProfile(s *verb.Streams, w io.Writer, modules []coverage.Module, _ report.Style) error {
	var list []statements.Module
	for i := range modules {
		m := &modules[i]
		table, ok := m.Lines.(*golines.Table)
		switch {
		case !ok && m.Lines != nil:
			return fmt.Errorf("%s: %s is not a Go program: --format %s is of statements of Go; select others with --module", f.Path, m.Module.Module, "coverprofile")
		case !ok:
			return fmt.Errorf("%s: no statements of %s (%s): give its binary or .debug file as well, or a directory that has them all", f.Path, m.Module.Module, m.BuildID.Short())
		case table.Old:
			return fmt.Errorf("%s: %s (%s) has lines but no statements, as it was built by an earlier cairn: build it again", f.Path, m.Module.Module, m.BuildID.Short())
		}
		list = append(list, statements.Module{Module: m.Module, Table: table})
	}
	p := statements.Of(list, func(file string) bool {
		_, ok := f.Left.Rules.Path(file)
		return ok
	})
	if rows := f.excludeStatements(list, p); rows > 0 {
		verb.Note(s, "%s excluded by markers in the source (--no-markers) or by patterns", report.Plural(rows, "statement"))
	}
	if p.Unrecorded > 0 {
		verb.Note(s, "%s omitted: whether they ran in functions that ran is recorded in mode block only", report.Plural(p.Unrecorded, "statement"))
	}
	if p.Unprobed > 0 {
		verb.Note(s, "%s omitted: their functions have no probes", report.Plural(p.Unprobed, "statement"))
	}
	return coverprofile.Write(w, p.Mode, p.Rows)
}

// excludeStatements drops the rows of a profile that markers in the sources exclude, and returns how many statements
// these have.
func (f *Covered) excludeStatements(modules []statements.Module, p *statements.Profile) (n int) {
	files := map[string]string{} // by the name in the profile
	for i := range modules {
		t := modules[i].Table
		for k := range t.Funcs {
			file := t.Funcs[k].File
			files[cmp.Or(t.Profile[file], file)] = file
		}
	}
	texts := map[string][][]byte{}
	p.Rows = slices.DeleteFunc(p.Rows, func(r coverprofile.Row) bool {
		file := files[r.File]
		m := f.scope.Of(file)
		if m == nil {
			return false
		}
		rows, ok := texts[file]
		if !ok {
			if text, err := f.scope.Text(file); err == nil {
				rows = bytes.Split(text, []byte("\n"))
			}
			texts[file] = rows
		}
		if !m.Statements(rows, r.FromLine, r.FromColumn, r.ToLine, r.Count > 0) {
			return false
		}
		n += r.Statements
		return true
	})
	return n
}

package profile

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/format/coverprofile"
	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/statements"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeCoverProfile writes the statements of Go programs in the format of go tool cover. Statements of which it is
// not known whether they ran are in no row.
func (f *coveredFlags) writeCoverProfile(s *verb.Streams, w io.Writer, modules []coverage.Module, _ report.Style) error {
	var list []statements.Module
	for i := range modules {
		m := &modules[i]
		table, ok := m.Lines.(*golines.Table)
		switch {
		case !ok && m.Lines != nil:
			return fmt.Errorf("%s: %s is not a Go program: --format %s is of statements of Go; select others with --module", f.Path, m.Module.Module, formatCoverProfile)
		case !ok:
			return fmt.Errorf("%s: no statements of %s (%s): give its binary or .debug file, or a directory that has them all, with --debug", f.Path, m.Module.Module, m.BuildID.Short())
		case table.Old:
			return fmt.Errorf("%s: %s (%s) has lines but no statements, as it was built by an earlier cairn: build it again", f.Path, m.Module.Module, m.BuildID.Short())
		}
		list = append(list, statements.Module{Module: m.Module, Table: table})
	}
	p := statements.Of(list, func(file string) bool {
		_, ok := f.rules.Path(file)
		return ok
	})
	if p.Unrecorded > 0 {
		verb.Note(s, "%s omitted: whether they ran in functions that ran is recorded in mode block only", report.Plural(p.Unrecorded, "statement"))
	}
	if p.Unprobed > 0 {
		verb.Note(s, "%s omitted: their functions have no probes", report.Plural(p.Unprobed, "statement"))
	}
	return coverprofile.Write(w, p.Mode, p.Rows)
}

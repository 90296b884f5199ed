package coverlist

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeBlocks lists the blocks of each function with HOT or COLD and their
// source lines, or their addresses where lines are not known.
func (f *Covered) writeBlocks(_ *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	names := f.Names()
	var out []funcJSON
	var failed error
	first := true
	err := f.each(modules, names, func(fn shownFunc) {
		if _, _, ok := f.scope.Place(fn.module, fn.fn); !ok {
			return
		}
		t := coverage.FuncBlocks(fn.fn, fn.counts)
		// Without --missed, functions that never ran are not listed; with it, those that ran
		// completely are not.
		if failed != nil || !fn.fn.Mode.HasBlocks() || !f.Missed && t.Covered == 0 || f.Missed && t.Covered == t.Total {
			return
		}
		if f.Json {
			j := newFuncJSON(fn.module, fn.fn, fn.counts, fn.name)
			j.Blocks = blocksJSON(fn.fn, fn.counts)
			for b := range coverage.Blocks(fn.fn) {
				for _, sp := range fn.module.BlockSpans(b) {
					j.Blocks[b.Index].Lines = append(j.Blocks[b.Index].Lines, spanText(sp))
				}
			}
			out = append(out, j)
			return
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		failed = f.writeFuncBlocks(w, fn, style)
	})
	f.scope.Say()
	switch {
	case err != nil:
		return err
	case f.Json:
		return report.WriteJSON(w, struct {
			Functions []funcJSON `json:"functions"`
		}{append([]funcJSON{}, out...)})
	}
	return failed
}

func (f *Covered) writeFuncBlocks(w io.Writer, fn shownFunc, style report.Style) error {
	file, line := fn.module.Definition(fn.fn)
	fmt.Fprintf(w, "%s  %s\n", style.Paint(report.Bold, fn.name), style.Paint(report.Dim, report.SourceText(file, line)))
	table := report.NewTable("", ">", "", "/")
	for b := range coverage.Blocks(fn.fn) {
		hot := fn.counts.Covered(b.Index)
		if f.Missed && hot {
			continue
		}
		word := report.Cell{Text: "COLD", Color: report.Cold}
		if hot {
			word = report.Cell{Text: "HOT", Color: report.Hot}
		}
		where := localSpans(fn.module.BlockSpans(b), file)
		if where == "" {
			where = fmt.Sprintf("%#x-%#x", b.Lo, b.Hi)
		}
		table.Add(report.Cell{}, report.Text(strconv.Itoa(b.Index)), word, report.Text(where))
	}
	return table.Write(w, style)
}

// localSpans is spansText with the spans of file first and without its name, which the
// function's head line contains.
func localSpans(spans []coverage.Span, file string) string {
	var own, others []coverage.Span
	for _, sp := range spans {
		if sp.File == file {
			sp.File = ""
			own = append(own, sp)
		} else {
			others = append(others, sp)
		}
	}
	text := ""
	if len(own) > 0 {
		text = "line " + spansText(own)
	}
	if len(own) > 0 && len(others) > 0 {
		text += ", "
	}
	return text + spansText(others)
}

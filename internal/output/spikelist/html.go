package spikelist

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeHTML writes a page with the spikes that are shown.
func (f *Choice) writeHTML(t *spikeset.Set) error {
	top := f.Top
	if !f.TopGiven {
		top = spikeset.PageStacks
	}
	page, err := t.Page(f.Sort, top)
	if err != nil {
		return err
	}
	err = verb.WriteFile(t.Streams, f.HTML, func(w io.Writer) error { return single.Spikes(w, page) })
	if err == nil {
		open := ""
		if n := len(page.Open); n > 0 {
			open = ", " + report.Plural(n, "call") + " that " + report.Either(uint64(n), "has", "have") + " not ended"
		}
		fmt.Fprintf(t.Streams.Remarks(), "%s: %s%s\n", f.HTML, report.Plural(len(page.Spikes), "stack"), open)
	}
	return err
}

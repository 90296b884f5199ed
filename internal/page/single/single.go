// Package single writes pages with one view of the report: a flame graph, or spikes. Their data stay text in the
// file, so that other tools find them. It is pure.
package single

import (
	"bytes"
	"io"

	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/page/timeline"
	"github.com/cairnprof/cairn/internal/spikes"
)

// Flame writes a page with a flame graph.
func Flame(w io.Writer, doc flamegraph.Document, o flamegraph.Options) (flamegraph.Summary, error) {
	var data bytes.Buffer
	sum, err := flamegraph.WriteData(&data, doc, o)
	if err != nil {
		return sum, err
	}
	flames := timeline.NewFlames()
	blob := flames.Add(sum.Title, data.Bytes())
	return sum, write(w, "flame", &model.Sources{Title: sum.Title, Views: model.Views{Flame: flames, Blobs: []page.Blob{blob}}})
}

// Spikes writes a page with spikes.
func Spikes(w io.Writer, p *spikes.Page) error {
	return write(w, "spikes", &model.Sources{Title: p.Title, Spikes: p})
}

func write(w io.Writer, view string, src *model.Sources) error {
	src.Show = func(symbol string) string { return symbol }
	r := model.Build(src)
	r.Model.View = view
	return page.WriteHTML(w, &page.Document{Title: src.Title, Model: r.WriteModel, Data: r.Data(), Plain: true})
}

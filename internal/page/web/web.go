// Package web has the page of the report: its HTML, its style, and the script of each view.
// Classic scripts are concatenated in the order of Scripts. The program has them compressed, in script.zst, as they would
// be a hundredth of it: after a change of a script run go test ./internal/page/web -update.
package web

import (
	"embed"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

//go:embed *.html *.css script.zst
var files embed.FS

// Scripts are in the order of the page: app.js first, because all others register with it,
// then code that views share, then the views.
var Scripts = []string{
	"app.js", "format.js", "dom.js", "names.js", "parts.js", "grid.js", "third_party/code.js",
	"code.js", "spikepicture.js", "treemap.js", "lead.js", "histogram.js",
	"overview.js", "functions.js", "function.js", "source.js", "graph.js", "pages.js", "spikes.js", "samples.js",
	"tiles.js", "bars.js", "stacktree.js", "costs.js", "lanes.js", "timeline-input.js", "timeline-cards.js", "timeline.js", "flamebars.js", "flamecard.js", "flame.js",
}

// Styles are in the order in which the page has them.
var Styles = []string{"app.css", "views.css", "source.css", "pictures.css", "timeline.css"}

// Body returns the page's HTML, from the body's first element to its last.
func Body() string { return read("page.html") }

// Script returns all scripts as one.
func Script() string { return script() }

var script = sync.OnceValue(func() string {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll([]byte(read("script.zst")), nil)
	if err != nil {
		panic(err) // a test reads it
	}
	return string(text)
})

// Style returns all styles as one, with the colours of bars that all pages have.
func Style() string {
	return ":root{" + strings.TrimPrefix(webpage.BarVariables(&webpage.LightBars), ";") + barsLight + "}\n" +
		":root[data-theme=dark]{" + strings.TrimPrefix(webpage.BarVariables(&webpage.DarkBars), ";") + barsDark + "}\n" + concat(Styles)
}

// Colours of text on bars and of gaps between them.
const (
	barsLight = ";--bar-ink:#1c2024;--bar-soft:#454c54;--dash:#5c646d;--peak:#f2a65a;--peak-ink:#1c2024;--blind:#b9bec5"
	barsDark  = ";--bar-ink:#f2f4f6;--bar-soft:#cdd3d9;--dash:#c3cad1;--peak:#b5651d;--peak-ink:#fff;--blind:#59616a"
)

func concat(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(read(name))
		b.WriteByte('\n')
	}
	return b.String()
}

// read returns a file of this package, which cannot fail for the names above: a test reads all
// of them.
func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

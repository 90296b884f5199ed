package flamegraph

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

// The page's style, its body and its script, which is in parts: the tree, the
// drawing of it, the panel beside it, and the handling of user input.
var (
	//go:embed web/page.css
	pageStyle string
	//go:embed web/body.html
	pageBody string
	//go:embed web/tree.js
	treeScript string
	//go:embed web/draw.js
	drawScript string
	//go:embed web/panel.js
	panelScript string
	//go:embed web/page.js
	pageScript string
)

// WriteHTML writes a page for a browser, which loads nothing else.
func WriteHTML(w io.Writer, doc Document, o Options) (Summary, error) {
	t, err := doc.tree()
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	d, err := t.prune(&o, []int{total, self, calls})
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	data, err := d.data()
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	err = webpage.Write(w, &webpage.Page{
		Title: d.title, Light: light.css(), Dark: dark.css(), Style: pageStyle, Body: pageBody, Data: data,
		Script: treeScript + drawScript + panelScript + pageScript,
	})
	return d.Summary, err
}

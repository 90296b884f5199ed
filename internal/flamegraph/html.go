package flamegraph

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
)

// The page's style, its body and its script, which is in parts: the tree, the
// drawing of it, what stands beside it, and what the user can do.
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
	style := fmt.Sprintf(":root{color-scheme:light;%s}\n:root[data-theme=dark]{color-scheme:dark;%s}\n%s", light.css(), dark.css(), pageStyle)
	script := "(function(){\n\"use strict\";\n" + treeScript + drawScript + panelScript + pageScript + "})();\n"
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	// Names of functions are the only thing that comes from elsewhere, and they
	// are in data that no part of the page executes. The policy says it once more
	// to the browser: nothing is loaded, and no script but this one is run.
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n",
		digest(style), digest(script))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n%s", escape(d.title), style, pageBody)
	fmt.Fprintf(&b, "<script type=\"application/json\" id=\"data\">%s\n</script>\n<script>%s</script>\n</body>\n</html>\n", data, script)
	_, err = w.Write(b.Bytes())
	return d.Summary, err
}

// digest is what a policy names a script by.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

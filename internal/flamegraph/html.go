package flamegraph

import "io"

// WriteHTML writes a page for a browser, which loads nothing else.
func WriteHTML(w io.Writer, doc Document, o Options) (Summary, error) {
	return Summary{}, nil
}

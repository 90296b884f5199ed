// Package web holds the page of the report: its HTML, its style, and the script of each view.
// There is no build step: classic scripts are concatenated in the order of Scripts.
package web

import (
	"embed"
	"strings"
)

//go:embed *.html *.css *.js
var files embed.FS

// Scripts are in the order in which the page has them: app.js first, since all others
// register themselves with it, then what views share, then the views.
var Scripts = []string{
	"app.js", "format.js", "dom.js",
	"overview.js",
}

// Styles are in the order in which the page has them.
var Styles = []string{"app.css"}

// Body returns the page's HTML, from the body's first element to its last.
func Body() string { return read("page.html") }

// Script returns all scripts as one.
func Script() string { return concat(Scripts) }

// Style returns all styles as one.
func Style() string { return concat(Styles) }

func concat(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(read(name))
	}
	return b.String()
}

// read returns a file of this package, which cannot fail for the names above: a test reads
// all of them.
func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

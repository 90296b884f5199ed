// Package heatmap draws which pages of a program's code a run touches, and when:
// one square for each page, coloured by its first touch, and below it how the
// number of touched pages grows. It writes a picture (SVG) or a page for a
// browser (HTML), both in one file that needs nothing else. It is pure: the same
// data give the same bytes.
package heatmap

import (
	"fmt"
	"math"
	"strings"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

// Page is a page of a program's code.
type Page struct {
	Addr  uint64 // link-time address
	Step  int    // the first execution that touched it, from 1; 0 if none did
	First string // the function that did
	Funcs []string
	More  int // functions that have code on the page besides Funcs
}

// Layout is one link of a program, under a run.
type Layout struct {
	Label string // such as "before"; "" if there is only one
	Pages []Page // ascending by address
	Curve []int  // pages touched after each first execution
}

// touched returns how many pages are.
func (l *Layout) touched() int {
	n := 0
	for i := range l.Pages {
		if l.Pages[i].Step > 0 {
			n++
		}
	}
	return n
}

// Scenario is a run of the program under each of the layouts.
type Scenario struct {
	Name    string
	Layouts []Layout // one, or two: before and after
	Least   []int    // pages that no layout could do without, after each first execution
}

// Document is what there is to draw.
type Document struct {
	Binary    string
	PageSize  uint64 // bytes
	Scenarios []Scenario
}

// The widths and heights of the picture, in its own units; a browser scales it.
const (
	margin       = 24
	innerWidth   = 960
	mapGap       = 40  // between the two maps
	labelWidth   = 62  // left of a map, for addresses
	maxMapHeight = 400 // of a map, as far as the smallest square allows
	headHeight   = 118
	curveHeight  = 220
	legendWidth  = 220
)

// grid is how the squares of a map are arranged.
type grid struct {
	side, gap, columns, rows int
}

func (g *grid) pitch() int  { return g.side + g.gap }
func (g *grid) height() int { return g.rows*g.pitch() - g.gap }

// maxPitch is the distance of the largest squares.
const maxPitch = 29

// gridFor arranges n squares in a width, in as few columns as the height allows.
// Rows hold a multiple of eight, so that addresses at their beginnings are round.
func gridFor(n, width int) grid {
	columns := 8
	for ; columns+8 <= width; columns += 8 {
		if rows := (n + columns - 1) / columns; rows*min(width/columns, maxPitch) <= maxMapHeight {
			break
		}
	}
	pitch, gap := min(width/columns, maxPitch), 0
	for _, least := range []int{5, 10, 20} {
		if pitch >= least {
			gap++
		}
	}
	if pitch < maxPitch {
		columns = max(columns, (width+gap)/pitch/8*8) // what rounding left over
	}
	return grid{side: pitch - gap, gap: gap, columns: columns, rows: max((n+columns-1)/columns, 1)}
}

// writer collects the picture.
type writer struct{ strings.Builder }

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// text writes a line of text; anchor is start, middle or end.
func (w *writer) text(x, y float64, class, anchor, s string) {
	w.printf("<text x=\"%s\" y=\"%s\"", number(x), number(y))
	if class != "" {
		w.printf(" class=\"%s\"", class)
	}
	if anchor != "start" {
		w.printf(" text-anchor=\"%s\"", anchor)
	}
	w.printf(">%s</text>\n", webpage.Escape(s))
}

// number writes x with at most one decimal.
func number(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Round(x*10)/10), ".0")
}

// share writes a part of a whole in percent.
func share(part, whole int) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// pageSize writes a size as people say it.
func pageSize(bytes uint64) string {
	if bytes%1024 == 0 {
		return fmt.Sprintf("%d KiB", bytes/1024)
	}
	return fmt.Sprintf("%d-byte", bytes)
}

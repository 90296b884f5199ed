// Package heatmap draws which pages of a program's code a run touches, and when: one square
// for each page, coloured by its first touch, and below it the number of touched pages over
// time. It writes a picture (SVG) or a page for a browser (HTML), both as one self-contained
// file. It is pure: the same data give the same bytes.
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
	Step  int    // the first execution that touched it, from 1; 0 if it was not touched
	First string // the function that touched it first
	Funcs []string
	More  int // number of functions with code on the page that are not in Funcs
}

// Layout is one link of a program, with the pages that a run touches.
type Layout struct {
	Label string // such as "before"; "" if there is only one
	Pages []Page // ascending by address
	Curve []int  // pages touched after each first execution
}

// touched returns the number of touched pages.
func (l *Layout) touched() int {
	n := 0
	for i := range l.Pages {
		if l.Pages[i].Step > 0 {
			n++
		}
	}
	return n
}

// Scenario is a run of the program in each of the layouts.
type Scenario struct {
	Name    string
	Layouts []Layout // one, or two: before and after
	Least   []int    // the minimum number of pages of any layout, after each first execution
}

// Document is the data of a picture.
type Document struct {
	Binary    string
	PageSize  uint64 // bytes
	Scenarios []Scenario
}

// The widths and heights of the picture, in user units; a browser scales it.
const (
	margin       = 24
	innerWidth   = 960
	mapGap       = 40  // between the two maps
	labelWidth   = 62  // left of a map, for addresses
	maxMapHeight = 400 // of a map, unless the smallest square needs more
	headHeight   = 118
	curveHeight  = 220
	legendWidth  = 220
)

// grid is the arrangement of the squares of a map.
type grid struct {
	side, gap, columns, rows int
}

func (g *grid) pitch() int  { return g.side + g.gap }
func (g *grid) height() int { return g.rows*g.pitch() - g.gap }

// maxPitch is the distance between the largest squares.
const maxPitch = 29

// gridFor arranges n squares in a width, in as few columns as the height allows. The number of
// columns is a multiple of eight, so that addresses at the beginnings of rows are round.
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
		columns = max(columns, (width+gap)/pitch/8*8) // space that rounding left
	}
	return grid{side: pitch - gap, gap: gap, columns: columns, rows: max((n+columns-1)/columns, 1)}
}

// writer builds the picture.
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

// number formats x with at most one decimal.
func number(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Round(x*10)/10), ".0")
}

// share formats a part of a whole in percent.
func share(part, whole int) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// pageSize formats a size with a unit.
func pageSize(bytes uint64) string {
	if bytes%1024 == 0 {
		return fmt.Sprintf("%d KiB", bytes/1024)
	}
	return fmt.Sprintf("%d-byte", bytes)
}

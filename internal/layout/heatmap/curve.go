package heatmap

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
)

// plot is the area in which curves are drawn, with its scales.
type plot struct {
	x, y, width, height float64
	steps, pages        int // at the right and upper ends
}

func (p *plot) at(step int) float64 { return p.x + p.width*float64(step)/float64(max(p.steps, 1)) }
func (p *plot) level(n int) float64 {
	return p.y + p.height - p.height*float64(n)/float64(max(p.pages, 1))
}
func (p *plot) bottom() float64       { return p.y + p.height }
func (p *plot) right() float64        { return p.x + p.width }
func lastOf(curve []int) (height int) { return curve[len(curve)-1] }

// drawCurve draws the number of pages touched after each first execution.
func drawCurve(w *writer, s *Scenario, top int) {
	p := plot{x: margin + labelWidth, y: float64(top), width: innerWidth - labelWidth - 150, height: curveHeight}
	for i := range s.Layouts {
		if c := s.Layouts[i].Curve; len(c) > 0 {
			p.steps = max(p.steps, len(c))
			p.pages = max(p.pages, lastOf(c))
		}
	}
	w.text(margin+labelWidth, p.y-14, "label", "start", "Pages touched over the run")
	p.axes(w)
	if p.steps == 0 {
		return
	}
	var ends []end
	add := func(curve []int, class, label string) {
		if len(curve) > 0 {
			p.line(w, curve, class)
			ends = append(ends, end{p.level(lastOf(curve)), class, fmt.Sprintf("%s %s", label, report.Count(lastOf(curve)))})
		}
	}
	add(s.Least, "least", "least possible")
	for i := range s.Layouts {
		l := &s.Layouts[i]
		class, label := "is", l.Label
		if i == 0 && len(s.Layouts) > 1 {
			class = "was"
		}
		if label == "" {
			label = "touched"
		}
		add(l.Curve, class, label)
	}
	p.labels(w, ends)
}

// axes draws both axes, with lines at round numbers.
func (p *plot) axes(w *writer) {
	for _, n := range ticks(p.pages) {
		w.printf("<path class=\"grid\" d=\"M%s %sH%s\"/>\n", number(p.x), number(p.level(n)), number(p.right()))
		w.text(p.x-8, p.level(n)+4, "soft", "end", report.Count(n))
	}
	for _, n := range ticks(p.steps) {
		w.printf("<path class=\"axis\" d=\"M%s %sv5\"/>\n", number(p.at(n)), number(p.bottom()))
		w.text(p.at(n), p.bottom()+19, "soft", "middle", report.Count(n))
	}
	w.printf("<path class=\"axis\" d=\"M%s %sH%s\"/>\n", number(p.x), number(p.bottom()), number(p.right()))
	w.text(p.x+p.width/2, p.bottom()+40, "soft", "middle", "functions executed for the first time")
	w.printf("<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(%d %s) rotate(-90)\">pages</text>\n",
		margin+4, number(p.y+p.height/2))
}

// line draws a curve as steps: it has corners only where it rises.
func (p *plot) line(w *writer, curve []int, class string) {
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", number(p.x), number(p.bottom()))
	height := 0
	for t, n := range curve {
		if n != height {
			fmt.Fprintf(&d, "H%sV%s", number(p.at(t)), number(p.level(n)))
			height = n
		}
	}
	fmt.Fprintf(&d, "H%s", number(p.at(len(curve))))
	w.printf("<path class=\"line %s\" d=\"%s\"/>\n", class, d.String())
}

// end is the end of a curve, with its label.
type end struct {
	y     float64
	class string
	label string
}

// labels writes the labels at the ends of curves, at least a line apart.
func (p *plot) labels(w *writer, ends []end) {
	const line = 17
	// The lowest label is placed first, the others above.
	for i := range ends {
		for k := i; k > 0 && ends[k].y > ends[k-1].y; k-- {
			ends[k], ends[k-1] = ends[k-1], ends[k]
		}
	}
	limit := p.bottom() + line
	for i := range ends {
		y := min(ends[i].y, limit-line)
		limit = y
		w.text(p.right()+10, y+4, ends[i].class, "start", ends[i].label)
	}
}

// ticks returns about five round numbers from 0 to at most n.
func ticks(n int) []int {
	step := 1
	for n/step > 6 {
		switch {
		case n/(2*step) <= 6:
			step *= 2
		case n/(5*step) <= 6:
			step *= 5
		default:
			step *= 10
		}
	}
	var out []int
	for i := 0; i <= n; i += step {
		out = append(out, i)
	}
	return out
}

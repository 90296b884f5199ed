package heatmap

import (
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
)

// WriteSVG writes one scenario of d as a picture.
func WriteSVG(w io.Writer, d *Document, scenario int) error {
	var b writer
	d.draw(&b, &d.Scenarios[scenario], true)
	_, err := io.WriteString(w, b.String())
	return err
}

// draw writes the picture of a scenario. A picture that is used alone contains the style.
func (d *Document) draw(w *writer, s *Scenario, alone bool) {
	most := 0
	for i := range s.Layouts {
		most = max(most, len(s.Layouts[i].Pages))
	}
	n := len(s.Layouts)
	width := (innerWidth - (n-1)*mapGap) / n
	g := gridFor(most, width-labelWidth)
	mapTop := headHeight + 30
	curveTop := mapTop + g.height() + 62
	total := curveTop + curveHeight + 58
	w.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
		innerWidth+2*margin, total, webpage.Escape(d.title(s)))
	if alone {
		w.printf("<style>%s</style>\n", style)
	}
	w.printf("<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n")
	d.head(w, s)
	for i := range s.Layouts {
		x := margin + i*(width+mapGap)
		(&canvas{w, g, len(s.Layouts[i].Curve)}).drawMap(&s.Layouts[i], x, mapTop)
	}
	drawCurve(w, s, curveTop)
	w.printf("</svg>\n")
}

// title describes the picture in one line.
func (d *Document) title(s *Scenario) string {
	last := &s.Layouts[len(s.Layouts)-1]
	touched := last.touched()
	t := fmt.Sprintf("%s, %s: %s of %s touched (%s)",
		short(d.Binary, 30), short(s.Name, 30), report.Count(touched), report.Plural(len(last.Pages), "page"), share(touched, len(last.Pages)))
	if len(s.Layouts) > 1 {
		t += fmt.Sprintf(", before %s", report.Count(s.Layouts[0].touched()))
	}
	return t
}

// short truncates a long name.
func short(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// head writes the title, the explanation and the colour scale.
func (d *Document) head(w *writer, s *Scenario) {
	w.text(margin, 36, "title", "start", d.title(s))
	w.text(margin, 59, "soft", "start", fmt.Sprintf(
		"Each square is one %s page of the program's code, in the order of addresses, row by row. Its colour shows when the run first", pageSize(d.PageSize)))
	w.text(margin, 76, "soft", "start", "needed it. Grey pages were never needed; the fewer pages are coloured, the less has to be read to start.")
	const y, height = 92, 12
	x := float64(margin)
	w.text(x, y+height-1, "", "start", "first touched")
	x += 94
	const steps = 44
	for i := range steps {
		// Half a unit wider than its share, so that no background is visible between them.
		w.printf("<rect x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\" fill=\"%s\"/>\n",
			number(x+float64(i)*legendWidth/steps), y, number(legendWidth/steps+0.5), height, colour(float64(i)/(steps-1)))
	}
	w.text(x+legendWidth+9, y+height-1, "", "start", "last touched")
	x += legendWidth + 125
	w.printf("<rect class=\"empty\" x=\"%s\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", number(x), y, height, height)
	w.text(x+20, y+height-1, "", "start", "not touched")
}

// canvas is what the squares of a layout are drawn on; the last step at which one is touched has the last colour.
type canvas struct {
	*writer
	grid
	steps int
}

// drawMap writes the squares of one layout, with their addresses at the left.
func (c *canvas) drawMap(l *Layout, x, y int) {
	touched := l.touched()
	label := fmt.Sprintf("%s of %s", report.Count(touched), report.Plural(len(l.Pages), "page"))
	if l.Label != "" {
		label = l.Label + ": " + label
	}
	left := x + labelWidth
	c.text(float64(left), float64(y)-10, "label", "start", label)
	every := 1
	for every*c.pitch() < 14 {
		every++
	}
	for row := 0; row < c.rows && row*c.columns < len(l.Pages); row++ {
		cells := l.Pages[row*c.columns : min((row+1)*c.columns, len(l.Pages))]
		top := y + row*c.pitch()
		if row%every == 0 {
			base := float64(top) + float64(c.side)/2 + 4
			c.text(float64(left-8), base, "addr", "end", fmt.Sprintf("%#x", cells[0].Addr))
		}
		c.drawRow(cells, left, top)
	}
}

// drawRow writes one row. If squares are small, adjacent pages that were not touched become
// one shape, because there may be thousands of them.
func (c *canvas) drawRow(cells []Page, left, top int) {
	for i := 0; i < len(cells); {
		p, x := &cells[i], left+i*c.pitch()
		if p.Step > 0 {
			at := 0.0
			if c.steps > 1 {
				at = float64(p.Step-1) / float64(c.steps-1)
			}
			c.printf("<rect class=\"page\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>%s</title></rect>\n",
				x, top, c.side, c.side, colour(at), webpage.Escape(p.tooltip(c.steps)))
			i++
			continue
		}
		run := 1
		for c.side < 8 && i+run < len(cells) && cells[i+run].Step == 0 {
			run++
		}
		title := p.tooltip(c.steps)
		if run > 1 {
			title = fmt.Sprintf("%#x to %#x: %d pages, not touched", p.Addr, cells[i+run-1].Addr, run)
		}
		c.printf("<path class=\"page empty\" d=\"")
		for k := range run {
			c.printf("M%d %dh%dv%dh-%dz", x+k*c.pitch(), top, c.side, c.side, c.side)
		}
		c.printf("\"><title>%s</title></path>\n", webpage.Escape(title))
		i += run
	}
}

// tooltip returns all data of a page.
func (p *Page) tooltip(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %#x", p.Addr)
	if p.Step > 0 {
		fmt.Fprintf(&b, "\nfirst touched by %s, function %s of %s", p.First, report.Count(p.Step), report.Count(steps))
	} else {
		b.WriteString("\nnot touched")
	}
	if len(p.Funcs) == 0 {
		return b.String()
	}
	b.WriteString("\non it: ")
	b.WriteString(strings.Join(p.Funcs, ", "))
	if p.More > 0 {
		fmt.Fprintf(&b, " and %s more", report.Count(p.More))
	}
	return b.String()
}

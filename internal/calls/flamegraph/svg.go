package flamegraph

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
	"github.com/cairnprof/cairn/internal/saturate"
)

// The measures of a picture, in its units.
const (
	margin     = 16
	rowHeight  = 18
	headHeight = 54 // with one line of notes, and without the scale of a Diff
	lineHeight = 17
	charWidth  = 6.7 // of the font of bars: 0.6 of its size in nearly all such fonts
	minBar     = 0.5 // narrower bars are merged, and not drawn if they are still narrower
	barGap     = 0.8
	maxRows    = 300 // deeper stacks are cut
)

// svgStyle is the style of a picture; the colours are in the themes.
const svgStyle = `.flame{background:var(--paper);font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.flame text{fill:var(--ink)}
.flame .title{font-size:19px;font-weight:600}
.flame .soft{fill:var(--soft)}
.flame .paper{fill:var(--paper)}
.flame g:hover>rect.b{stroke:var(--ink);stroke-width:1.4}
.flame text.b{fill:var(--bar-ink);font:11px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;pointer-events:none}
.flame .l,.flame .m{fill:var(--empty)}
.flame text.m{fill:var(--soft)}
.flame text.lt{font-weight:600}
.flame .u{stroke:var(--dash);stroke-width:1.5;stroke-dasharray:3 3;fill:none;pointer-events:none}
.flame rect.new{stroke:var(--ink);stroke-width:1.4}
.flame rect.gone{stroke:var(--ink);stroke-width:1.4;stroke-dasharray:4 3}
`

// WriteSVG writes a picture, with light and dark colours. Bars that would be too
// narrow to see are merged.
func WriteSVG(w io.Writer, doc Document, o Options) (Summary, error) {
	t, err := doc.tree()
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	p := picture{width: float64(max(o.Width, 0))}
	if p.width == 0 {
		p.width = DefaultWidth
	}
	p.width = max(p.width, 200)
	o.MinShare = max(o.MinShare, minBar/(p.width-2*margin))
	d, err := t.prune(&o, nil)
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	p.drawing = d
	p.draw()
	_, err = w.Write(p.Bytes())
	return d.Summary, err
}

// picture is an SVG that is being written.
type picture struct {
	bytes.Buffer
	*drawing
	width float64
	// The place of each bar, from 0 to 1.
	x, w []float64
	most uint64 // the largest change of a Diff
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *picture) text(x, y float64, class, s string) {
	p.printf("<text x=\"%s\" y=\"%s\" class=\"%s\">%s</text>\n", number(x), number(y), class, webpage.Escape(s))
}

func (p *picture) draw() {
	p.layout()
	rows := 0
	for i := range p.bars {
		rows = max(rows, int(p.bars[i].depth)+1)
	}
	notes := wrap(strings.Join(p.notes, " "), int((p.width-2*margin)/6.9))
	if rows > maxRows {
		notes = append(notes, fmt.Sprintf("Stacks are up to %s deep; the outermost %d are drawn.", report.Count(rows), maxRows))
		rows = maxRows
	}
	top := headHeight + lineHeight*float64(max(len(notes)-1, 0))
	if len(notes) == 0 {
		top -= lineHeight
	}
	if len(p.sides) > 1 {
		p.most = p.largestChange()
		top += 30
	}
	kinds := p.shown()
	if len(kinds) > 0 {
		top += 20
	}
	height := top + float64(rows)*rowHeight + margin
	title := cut(p.title, int((p.width-2*margin)/10.5))
	p.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" role=\"img\" aria-label=\"%s\">\n",
		number(p.width), number(height), number(p.width), number(height), webpage.Escape(p.title))
	p.printf("<style>%s.flame{%s}\n@media (prefers-color-scheme:dark){.flame{%s}}\n", svgStyle, light.css(), dark.css())
	p.shades()
	p.printf("</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n")
	p.text(margin, 29, "title", title)
	for i, n := range notes {
		p.text(margin, 48+lineHeight*float64(i), "soft", n)
	}
	if len(p.sides) > 1 {
		p.legend(top - 26)
	}
	p.kindLegend(kinds, top-20)
	for i := range p.bars {
		if p.bars[i].depth < maxRows {
			p.bar(i, top+float64(p.bars[i].depth)*rowHeight)
		}
	}
	p.printf("</svg>\n")
}

// shades writes the classes of the colours.
func (p *picture) shades() {
	letter, n := "c", webpage.Shades
	if len(p.sides) > 1 {
		letter, n = "d", changes+1
	}
	for i := range n {
		p.printf(".%s%d{fill:var(--%s%d)}", letter, i, letter, i)
	}
	for _, k := range p.shown() {
		p.printf(".k%d{fill:var(--k%d)}", k, k)
	}
	p.printf("\n")
}

// kindLegend names the colours of kinds of functions.
func (p *picture) kindLegend(kinds []Kind, y float64) {
	x := float64(margin)
	const box = 10
	for _, k := range kinds {
		p.printf("<rect class=\"k%d\" x=\"%s\" y=\"%s\" width=\"%d\" height=\"%d\"/>\n", k, number(x), number(y), box, box)
		p.text(x+box+5, y+9, "soft", k.String())
		x += box + 5 + float64(len(k.String()))*7 + 14
	}
}

// layout computes the places of the bars.
func (p *picture) layout() {
	p.w = p.widths()
	p.x = make([]float64, len(p.bars))
	var next []float64 // where the next bar of each depth begins
	for i := range p.bars {
		depth := int(p.bars[i].depth)
		next = append(next[:min(depth+1, len(next))], 0)[:depth+1]
		if i > 0 {
			p.x[i] = next[depth]
			next[depth] += p.w[i]
		}
		next = append(next, p.x[i])
	}
}

// widths returns the width of each bar, of 1 for the root. The sides of a Diff are added.
func (d *drawing) widths() []float64 {
	sums := make([]float64, len(d.bars))
	for k := range d.sides {
		w := make([]float64, len(d.bars))
		var below []float64 // by depth, of the bars after the current one
		for i := len(d.bars) - 1; i >= 0; i-- {
			b := &d.bars[i]
			s, depth := &b.side[k], int(b.depth)
			for len(below) < depth+2 {
				below = append(below, 0)
			}
			switch d.by {
			case total:
				w[i] = max(float64(s.Total), below[depth+1])
			case self:
				w[i] = float64(s.Self) + below[depth+1]
			case calls:
				w[i] = float64(s.Calls) + below[depth+1]
			}
			below[depth+1] = 0
			below[depth] += w[i]
			sums[i] += w[i]
		}
	}
	if all := sums[0]; all > 0 {
		for i := range sums {
			sums[i] /= all
		}
	}
	return sums
}

// bar writes one bar with its details.
func (p *picture) bar(i int, y float64) {
	b := &p.bars[i]
	inner := p.width - 2*margin
	// Edges instead of widths are rounded, so no bar extends beyond its parent.
	left, right := tenth(margin+p.x[i]*inner), tenth(margin+(p.x[i]+p.w[i])*inner)
	if right-left < minBar && i > 0 {
		return
	}
	class, ink := p.classes(b)
	gap := 0.0
	if right-left > 3 {
		gap = barGap
	}
	p.printf("<g><title>%s</title><rect class=\"b %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>",
		webpage.Escape(p.tooltip(i)), class, number(left), number(y), number(right-left-gap), number(rowHeight-barGap))
	if s := cut(p.barName(b), int((right-left-7)/charWidth)); utf8.RuneCountInString(s) > 2 {
		p.printf("<text class=\"b%s\" x=\"%s\" y=\"%s\">%s</text>", ink, number(left+4), number(y+12.6), webpage.Escape(s))
	}
	if b.uncertain() > 0 && b.merged == 0 && right-left > 5 {
		p.printf("<path class=\"u\" d=\"M%s %sH%s\"/>", number(left+1.5), number(y+rowHeight-1.6), number(right-1.5))
	}
	p.printf("</g>\n")
}

// uncertain returns how many calls have no exit.
func (b *bar) uncertain() uint64 {
	return saturate.Add(saturate.Add(b.side[0].Deduced, b.side[0].Open), saturate.Add(b.side[1].Deduced, b.side[1].Open))
}

// classes returns the CSS classes of a bar and its text.
func (p *picture) classes(b *bar) (class, ink string) {
	switch {
	case b.label:
		return "l", " lt"
	case b.merged > 0:
		return "m", " m"
	case len(p.sides) == 1:
		if k := p.kind(b.name); k != Plain {
			return fmt.Sprintf("k%d", k), ""
		}
		return fmt.Sprintf("c%d", webpage.Shade(p.names[b.name])), ""
	}
	class = fmt.Sprintf("d%d", p.changeShade(b))
	switch {
	case b.side[0].Calls == 0:
		class += " new"
	case b.side[1].Calls == 0:
		class += " gone"
	}
	return class, ""
}

// barName returns the text of a bar.
func (p *picture) barName(b *bar) string {
	switch {
	case b.merged > 0:
		return report.Count(b.merged) + " more"
	case b.label:
		return p.labels[b.name]
	case len(p.sides) > 1 && b.side[0].Calls == 0:
		return "new: " + p.names[b.name]
	case len(p.sides) > 1 && b.side[1].Calls == 0:
		return "gone: " + p.names[b.name]
	}
	return p.names[b.name]
}

// tooltip returns the details of a bar.
func (p *picture) tooltip(i int) string {
	b := &p.bars[i]
	var s strings.Builder
	s.WriteString(p.barName(b))
	if b.merged > 0 {
		s.WriteString(", too small to draw")
	}
	if len(p.sides) > 1 {
		p.tooltipDiff(&s, b)
		return s.String()
	}
	st := &b.side[0]
	all := &p.bars[0].side[0]
	fmt.Fprintf(&s, "\ntotal %s (%s)", report.CoarseSum(st.Total, p.step, p.unit), percent(st.Total, all.Total))
	if b.label {
		return s.String()
	}
	fmt.Fprintf(&s, ", self %s (%s)", report.CoarseSum(st.Self, p.step, p.unit), percent(st.Self, all.Total))
	if !p.tree.calls {
		return s.String()
	}
	fmt.Fprintf(&s, "\ncalls %s", report.Count(st.Calls))
	if b.merged == 0 && st.Calls > 0 {
		p.tooltipSpread(&s, st)
	}
	return s.String()
}

// tooltipSpread writes how long single calls took.
func (p *picture) tooltipSpread(s *strings.Builder, st *calltrie.Stats) {
	if st.Calls > 1 {
		fmt.Fprintf(s, ", mean %s", report.Coarse(st.Total/st.Calls, p.step, p.unit))
		values, known := spread(st)
		for i, v := range values {
			if !known && (i < maxValue || v == 0) {
				continue
			}
			fmt.Fprintf(s, "%s %s", [5]string{"\nmin", ", median", ", 90 %", ", 99 %", ", max"}[i], report.Coarse(v, p.step, p.unit))
		}
	}
	if st.Deduced > 0 {
		fmt.Fprintf(s, "\n%s without an exit in the log: the time is a lower bound", report.Count(st.Deduced))
	}
	if st.Open > 0 {
		fmt.Fprintf(s, "\n%s still running when the log ended", report.Count(st.Open))
	}
}

// wrap breaks a text into lines of at most limit runes.
func wrap(text string, limit int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		word = cut(word, limit)
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > limit {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// cut shortens s to at most limit columns; wide letters count as two.
func cut(s string, limit int) string {
	columns, end := 0, 0
	for i, r := range s {
		if r >= 0x1100 {
			columns++
		}
		if columns++; columns > limit {
			if limit < 1 {
				return ""
			}
			return s[:end] + "…"
		}
		if columns < limit {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// percent writes a part of a whole.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case p >= 9.95:
		return fmt.Sprintf("%.1f %%", p)
	case p >= 0.01 || p == 0:
		return fmt.Sprintf("%.2f %%", p)
	}
	return "< 0.01 %"
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }

// number writes x with at most one decimal.
func number(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", tenth(x)), ".0") }

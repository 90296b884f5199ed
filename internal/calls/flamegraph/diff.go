package flamegraph

import (
	"fmt"
	"math"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
)

// changed returns the change that colours a bar: of self time, or of own calls by that measure.
func (p *picture) changed(b *bar) (before, after uint64) {
	if p.by == calls {
		return b.side[0].Calls, b.side[1].Calls
	}
	return b.side[0].Self, b.side[1].Self
}

// largestChange returns the largest change of any bar, which has the full colour.
func (d *picture) largestChange() uint64 {
	most := uint64(0)
	for i := range d.bars {
		if b := &d.bars[i]; !b.label && b.merged == 0 {
			before, after := d.changed(b)
			most = max(most, max(before, after)-min(before, after))
		}
	}
	return most
}

// changeShade returns the number of a bar's colour. The scale is a square root: a tenth of the largest change
// is still visible.
func (p *picture) changeShade(b *bar) int {
	const middle = changes / 2
	before, after := p.changed(b)
	if before == after || p.most == 0 {
		return middle
	}
	amount := float64(max(before, after) - min(before, after))
	steps := int(math.Ceil(math.Sqrt(amount/float64(p.most)) * middle))
	if after < before {
		return middle - steps
	}
	return middle + steps
}

// legend explains the colours of a Diff.
func (p *picture) legend(y float64) {
	unit := p.unit
	what := "change of self time"
	if p.by == calls {
		what, unit = "change of calls", "calls"
	}
	const step = 12
	x := float64(margin)
	text := func(class, s string) {
		p.text(x, y+10.5, class, s)
		x += float64(len([]rune(s)))*7.4 + 12
	}
	text("", what)
	text("soft", "-"+report.Duration(p.most, unit))
	for i := range changes + 1 {
		p.printf("<rect class=\"d%d\" x=\"%s\" y=\"%s\" width=\"%d\" height=\"%d\"/>\n", i, number(x), number(y), step, step)
		x += step
	}
	x += 10
	text("soft", "+"+report.Duration(p.most, unit))
	for _, class := range []string{"new", "gone"} {
		if x += 6; x+70 > p.width {
			break
		}
		p.printf("<rect class=\"d%d %s\" x=\"%s\" y=\"%s\" width=\"18\" height=\"%d\"/>\n", changes/2, class, number(x), number(y), step)
		x += 24
		text("", class)
	}
}

// tooltipDiff writes both sides of a bar and what changed.
func (p *picture) tooltipDiff(s *strings.Builder, b *bar) {
	row := func(label string, before, after uint64, unit string) {
		write := func(v uint64) string {
			if unit == "" {
				return report.Count(v)
			}
			return report.Duration(v, unit)
		}
		fmt.Fprintf(s, "\n%s: %s, before %s", label, write(after), write(before))
		switch {
		case after > before:
			fmt.Fprintf(s, " (+%s)", write(after-before))
		case after < before:
			fmt.Fprintf(s, " (-%s)", write(before-after))
		}
	}
	x, y := &b.side[0], &b.side[1]
	row("total", x.Total, y.Total, p.unit)
	if b.label {
		return
	}
	row("self", x.Self, y.Self, p.unit)
	row("calls", x.Calls, y.Calls, "")
	if x.Calls > 0 && y.Calls > 0 && b.merged == 0 {
		row("mean", x.Total/x.Calls, y.Total/y.Calls, p.unit)
		before, known := spread(x)
		if after, also := spread(y); known && also {
			row("median", before[1], after[1], p.unit)
		}
	}
}

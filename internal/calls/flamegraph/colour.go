package flamegraph

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

// theme is the colours for a light or dark background. Names are of CSS variables.
type theme struct {
	vars string
	bars *[webpage.Shades]string
	// The ends of the scale of changes, and its middle.
	less, none, more rgb
	kinds            [kinds]string // colours of Kernel and on
}

var (
	light = theme{
		vars: webpage.Light,
		bars: &webpage.LightBars,
		less: rgb{0x7d, 0xb4, 0xe8}, none: rgb{0xe6, 0xe8, 0xeb}, more: rgb{0xf2, 0x8f, 0x73},
		kinds: [kinds]string{Kernel: "#dbd3c4", Restored: "#f3c6dc", Inlined: "#d3dae2"},
	}
	dark = theme{
		vars: webpage.Dark,
		bars: &webpage.DarkBars,
		less: rgb{0x2a, 0x6f, 0xb0}, none: rgb{0x39, 0x3f, 0x46}, more: rgb{0xb1, 0x45, 0x33},
		kinds: [kinds]string{Kernel: "#5a5142", Restored: "#72405c", Inlined: "#444d57"},
	}
)

// changes is the number of colours for changes: half of them are for decreases.
const changes = 16

// css returns the variables of a theme: those of the page, --c0... for bars, --k1... for kinds of functions, and
// --d0... for changes, of which --d8 is none.
func (t *theme) css() string {
	var b strings.Builder
	b.WriteString(t.vars)
	b.WriteString(webpage.BarVariables(t.bars))
	for k := Kernel; k < kinds; k++ {
		fmt.Fprintf(&b, ";--k%d:%s", k, t.kinds[k])
	}
	for i := range changes + 1 {
		end, amount := t.more, i-changes/2
		if amount < 0 {
			end, amount = t.less, -amount
		}
		fmt.Fprintf(&b, ";--d%d:%s", i, t.none.mix(end, amount, changes/2))
	}
	return b.String()
}

type rgb [3]int

// mix returns the colour part/whole of the way from c to end, as #rrggbb.
func (c rgb) mix(end rgb, part, whole int) string {
	for k := range c {
		c[k] = (c[k]*(whole-part) + end[k]*part + whole/2) / whole
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

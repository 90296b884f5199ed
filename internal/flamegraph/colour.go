package flamegraph

import (
	"fmt"
	"strings"
)

// Bars have cool colours, green to violet, of nearly one lightness: no function
// looks more important than another, and the warm colours are left to what was
// searched for and to what changed. Text on any of them has a contrast of at
// least 6 to 1.
var (
	lightBars = [shades]string{
		"#c8ddb1", "#b7ce9c", "#bce0bb", "#a8d1a7", "#b2e1c7", "#9bd3b4", "#a9e2d3", "#91d4c2",
		"#a5e2df", "#8cd3d0", "#a4e0ea", "#8bd2dd", "#a9def3", "#91cfe7", "#b0dafa", "#9acbef",
		"#bbd6fd", "#a6c6f3", "#c6d2fe", "#b4c2f4", "#d2cefb", "#c2bdf1", "#ddcbf6", "#cfb9ea",
	}
	darkBars = [shades]string{
		"#4d6034", "#3c4f20", "#3f623f", "#2d522d", "#31644b", "#1a543a", "#236557", "#055446",
		"#1a6462", "#005351", "#1a636d", "#01525b", "#246075", "#015066", "#315d7b", "#1b4c6c",
		"#3e597f", "#2c4870", "#4b557f", "#3a4470", "#57517d", "#47406d", "#614e78", "#513d68",
	}
)

// shades is how many colours bars have.
const shades = 24

// shade returns the number of the colour of a function: always the same for one
// name (FNV-1a, 32 bits).
func shade(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % shades)
}

// theme is the colours of light or dark surroundings. Names are of CSS variables.
type theme struct {
	vars string
	bars *[shades]string
	// The ends of the scale of changes, and its middle.
	less, none, more rgb
}

var (
	light = theme{
		vars: "--ink:#1c2024;--soft:#5c646d;--faint:#e4e6e9;--paper:#fff;--panel:#f6f7f8;--empty:#e3e5e8;--accent:#2166ac;--on-accent:#fff;" +
			"--bar-ink:#1c2024;--bar-soft:#454c54;--mark:#ffb765;--mark-ink:#1c2024;--dash:#5c646d;--meter:#7fb0e0;--worse:#a8321a;--better:#1f5f9e",
		bars: &lightBars,
		less: rgb{0x7d, 0xb4, 0xe8}, none: rgb{0xe6, 0xe8, 0xeb}, more: rgb{0xf2, 0x8f, 0x73},
	}
	dark = theme{
		vars: "--ink:#e8eaed;--soft:#a0a8b1;--faint:#30353b;--paper:#15181c;--panel:#1d2126;--empty:#2c3137;--accent:#6cb4f5;--on-accent:#10151a;" +
			"--bar-ink:#f2f4f6;--bar-soft:#cdd3d9;--mark:#a8560f;--mark-ink:#fff;--dash:#c3cad1;--meter:#3f74a8;--worse:#f5937a;--better:#7fbdf7",
		bars: &darkBars,
		less: rgb{0x2a, 0x6f, 0xb0}, none: rgb{0x39, 0x3f, 0x46}, more: rgb{0xb1, 0x45, 0x33},
	}
)

// changes is how many colours a change has: half of them are for less.
const changes = 16

// css returns the variables of a theme: those of the page, --c0... for bars, and
// --d0... for changes, of which --d8 is none.
func (t *theme) css() string {
	var b strings.Builder
	b.WriteString(t.vars)
	for i, c := range t.bars {
		fmt.Fprintf(&b, ";--c%d:%s", i, c)
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

package heatmap

import "fmt"

// viridis has eleven equidistant points of the colour scale of that name (S. van der Walt and
// N. Smith, 2015). Its lightness increases evenly, so it remains readable in greyscale and
// with any kind of colour blindness.
var viridis = [11][3]int{
	{0x44, 0x01, 0x54},
	{0x48, 0x24, 0x75},
	{0x41, 0x44, 0x87},
	{0x35, 0x5f, 0x8d},
	{0x2a, 0x78, 0x8e},
	{0x21, 0x91, 0x8c},
	{0x22, 0xa8, 0x84},
	{0x44, 0xbf, 0x70},
	{0x7a, 0xd1, 0x51},
	{0xbd, 0xdf, 0x26},
	{0xfd, 0xe7, 0x25},
}

// shades is the number of colours in a picture: more cannot be distinguished.
const shades = 64

// colour returns the scale's colour at x, from 0 to 1, as #rrggbb.
func colour(x float64) string {
	x = min(max(x, 0), 1)
	x = float64(int(x*(shades-1)+0.5)) / (shades - 1)
	last := len(viridis) - 1
	i := min(int(x*float64(last)), last-1)
	f := x*float64(last) - float64(i)
	mix := func(k int) int {
		a, b := float64(viridis[i][k]), float64(viridis[i+1][k])
		return int(a + (b-a)*f + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", mix(0), mix(1), mix(2))
}

// style is the style of the picture in light and dark mode. The classes of pages and lines are
// named by meaning, not by colour.
const style = `.cairn{--ink:#1c2024;--soft:#626a73;--faint:#e4e6e9;--empty:#e3e5e8;--paper:#fff;--was:#c2571a;--is:#2166ac;--least:#8a9199;
background:var(--paper);font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.cairn text{fill:var(--ink)}
.cairn .title{font-size:19px;font-weight:600}
.cairn .label{font-size:14px;font-weight:600}
.cairn .soft{fill:var(--soft)}
.cairn .addr{fill:var(--soft);font:10px ui-monospace,"DejaVu Sans Mono",monospace}
.cairn .paper{fill:var(--paper)}
.cairn .empty{fill:var(--empty)}
.cairn .grid{stroke:var(--faint);fill:none}
.cairn .axis{stroke:var(--soft);fill:none}
.cairn .line{fill:none;stroke-width:2.2;stroke-linejoin:round}
.cairn .was{stroke:var(--was)}
.cairn .is{stroke:var(--is)}
.cairn .least{stroke:var(--least);stroke-width:1.6;stroke-dasharray:5 4}
.cairn text.was{fill:var(--was);stroke:none;font-weight:600}
.cairn text.is{fill:var(--is);stroke:none;font-weight:600}
.cairn text.least{fill:var(--soft);stroke:none}
.cairn .page:hover{stroke:var(--ink);stroke-width:2}
@media (prefers-color-scheme:dark){.cairn{--ink:#e8eaed;--soft:#a0a8b1;--faint:#30353b;--empty:#2c3137;--paper:#15181c;--was:#f0975a;--is:#6cb4f5;--least:#7b838c}}
`

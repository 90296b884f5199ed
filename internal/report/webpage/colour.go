package webpage

import (
	"fmt"
	"strings"
)

// Shades is how many colours bars have.
const Shades = 24

// Bars have cool colours, green to violet, of nearly one lightness: no function
// looks more important than another, and the warm colours are left to what was
// searched for and to what changed. Text on any of them has a contrast of at
// least 6 to 1.
var (
	LightBars = [Shades]string{
		"#c8ddb1", "#b7ce9c", "#bce0bb", "#a8d1a7", "#b2e1c7", "#9bd3b4", "#a9e2d3", "#91d4c2",
		"#a5e2df", "#8cd3d0", "#a4e0ea", "#8bd2dd", "#a9def3", "#91cfe7", "#b0dafa", "#9acbef",
		"#bbd6fd", "#a6c6f3", "#c6d2fe", "#b4c2f4", "#d2cefb", "#c2bdf1", "#ddcbf6", "#cfb9ea",
	}
	DarkBars = [Shades]string{
		"#4d6034", "#3c4f20", "#3f623f", "#2d522d", "#31644b", "#1a543a", "#236557", "#055446",
		"#1a6462", "#005351", "#1a636d", "#01525b", "#246075", "#015066", "#315d7b", "#1b4c6c",
		"#3e597f", "#2c4870", "#4b557f", "#3a4470", "#57517d", "#47406d", "#614e78", "#513d68",
	}
)

// Variables of CSS for light and dark surroundings.
const (
	Light = "--ink:#1c2024;--soft:#5c646d;--faint:#e4e6e9;--paper:#fff;--panel:#f6f7f8;--empty:#e3e5e8;--accent:#2166ac;--on-accent:#fff;" +
		"--bar-ink:#1c2024;--bar-soft:#454c54;--mark:#ffb765;--mark-ink:#1c2024;--dash:#5c646d;--meter:#7fb0e0;--worse:#a8321a;--better:#1f5f9e"
	Dark = "--ink:#e8eaed;--soft:#a0a8b1;--faint:#30353b;--paper:#15181c;--panel:#1d2126;--empty:#2c3137;--accent:#6cb4f5;--on-accent:#10151a;" +
		"--bar-ink:#f2f4f6;--bar-soft:#cdd3d9;--mark:#a8560f;--mark-ink:#fff;--dash:#c3cad1;--meter:#3f74a8;--worse:#f5937a;--better:#7fbdf7"
)

// Shade returns the number of the colour of a function: always the same for one
// name (FNV-1a, 32 bits).
func Shade(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % Shades)
}

// BarVariables are the colours of bars as variables, --c0 and on.
func BarVariables(bars *[Shades]string) string {
	var b strings.Builder
	for i, c := range bars {
		fmt.Fprintf(&b, ";--c%d:%s", i, c)
	}
	return b.String()
}

package flamegraph

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

// variables returns the colours of a theme by their names.
func variables(t *testing.T, css string) map[string]string {
	vars := make(map[string]string)
	for _, part := range strings.Split(css, ";") {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			t.Fatalf("%q is no variable", part)
		}
		if len(value) == 4 {
			value = "#" + strings.Repeat(value[1:2], 2) + strings.Repeat(value[2:3], 2) + strings.Repeat(value[3:4], 2)
		}
		vars[name] = value
	}
	return vars
}

// luminance and contrast are computed as WCAG 2.2 defines them.
func luminance(t *testing.T, colour string) float64 {
	var c [3]int
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("%q: %v", colour, err)
	}
	sum := 0.0
	for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestContrast checks the contrast of all text (4.5 to 1, level AA for small text) and of lines
// (3 to 1).
func TestContrast(t *testing.T) {
	t.Parallel()
	for name, th := range map[string]*theme{"light": &light, "dark": &dark} {
		vars := variables(t, th.css())
		check := func(front, back string, least float64) {
			a, b := luminance(t, vars["--"+front]), luminance(t, vars["--"+back])
			if c := (max(a, b) + 0.05) / (min(a, b) + 0.05); c < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, front, back, c)
			}
		}
		const text, line = 4.5, 3
		for _, back := range []string{"paper", "panel"} {
			for _, front := range []string{"ink", "soft", "accent", "worse", "better"} {
				check(front, back, text)
			}
		}
		check("on-accent", "accent", text)
		check("mark-ink", "mark", text)
		for _, front := range []string{"ink", "soft"} {
			check(front, "empty", text)
		}
		for i := range webpage.Shades {
			check("bar-ink", fmt.Sprint("c", i), text)
			check("bar-soft", fmt.Sprint("c", i), text)
			check("dash", fmt.Sprint("c", i), line)
		}
		for k := Kernel; k < kinds; k++ {
			check("bar-ink", fmt.Sprint("k", int(k)), text)
			check("bar-soft", fmt.Sprint("k", int(k)), text)
		}
		for i := range changes + 1 {
			check("bar-ink", fmt.Sprint("d", i), text)
			check("ink", fmt.Sprint("d", i), line)
		}
	}
}

//go:build cairn

package mark

import (
	"fmt"
	"strings"
	"time"
)

// text formats the spike for standard error, like `cairn spikes`.
func (s *Spike) text(goroutine uint64) string {
	var b strings.Builder
	took := bounds(s.Min, s.Max)
	if s.Parent {
		fmt.Fprintf(&b, "cairn: spike %d: %s took %s%s\n", s.Number, s.Name, took, s.said())
		return b.String()
	}
	label := s.Label
	if label == "" {
		label = fmt.Sprint("goroutine ", goroutine)
	}
	fmt.Fprintf(&b, "cairn: spike %d: %s in %s, %s", s.Number, took, s.Name, label)
	if s.Frame != 0 {
		fmt.Fprintf(&b, ", frame %d", s.Frame)
	}
	b.WriteByte('\n')
	for i := len(s.Stack) - 1; i >= 0; i-- {
		c := &s.Stack[i]
		fmt.Fprintf(&b, "%3d) %s %s:%d", len(s.Stack)-1-i, c.Name, c.File, c.Line)
		switch {
		case i == 0:
			fmt.Fprintf(&b, "  %s  PEAK CHILD%s", took, s.said())
		case c.Max > 0:
			fmt.Fprintf(&b, "  so far %s", bounds(c.Min, c.Max))
		}
		b.WriteByte('\n')
	}
	for _, c := range s.Children {
		fmt.Fprintf(&b, "     of which %s %s\n", c.Name, bounds(c.Min, c.Max))
	}
	return b.String()
}

// said formats the program's texts for the end of a line.
func (s *Spike) said() string {
	var b strings.Builder
	for _, m := range append([]string{s.Desc}, s.Messages...) {
		if m != "" {
			fmt.Fprintf(&b, "  %q", m)
		}
	}
	return b.String()
}

// bounds formats a duration with its bounds.
func bounds(lo, hi time.Duration) string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.3g", float64(d)/1e6) }
	if a, b := ms(lo), ms(hi); a != b {
		return a + ".." + b + " ms"
	}
	return ms(lo) + " ms"
}

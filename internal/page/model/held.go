package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
)

// Phrase is a part of a sentence that has a view of its own.
type Phrase struct {
	Text string            `json:"text"`
	View string            `json:"view,omitempty"` // absent if the part is no link
	With map[string]string `json:"with,omitempty"`
}

// foundHeld is the longest wait of a late call for a thread that is known, most of the call's time: who waited, and
// who held the lock or ended the wait.
func foundHeld(m *Model) *Finding {
	if m.Spikes == nil {
		return nil
	}
	at := heldGroup(m.Spikes.Groups)
	if at < 0 {
		return nil
	}
	g := m.Spikes.Groups[at]
	h, view := g.Why.Holder, map[string]string{"n": strconv.Itoa(at)}
	wait := Phrase{"waited up to " + report.Duration(min(h.Waited, g.Interval[1]), report.Nanoseconds), "spikes", view}
	parts := []Phrase{m.phrase(g.Peak), {Text: " "}, wait}
	who := Phrase{h.Thread, "spikes", view} // where its stack is
	in := []Phrase{{Text: " in "}, {Text: "a function that is not known"}}
	if len(h.Stack) > 0 {
		in[1] = m.phrase(h.Stack[0])
	}
	switch h.Ended {
	case "woken":
		parts = append(parts, Phrase{Text: " until "}, who, Phrase{Text: " woke it"})
	default:
		parts = append(parts, Phrase{Text: " for a lock that "}, who, Phrase{Text: " " + h.Ended})
	}
	parts = append(append(parts, in...), Phrase{Text: "."})
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return &Finding{Kind: "held", Text: text.String(), View: "spikes", With: view, Parts: parts}
}

// heldGroup returns the index of the group whose call waited longest for a thread that is known, -1 if there is none.
func heldGroup(groups []*spikes.Object) int {
	at := -1
	for i, g := range groups {
		if mostlyHeld(g) && (at < 0 || g.Why.Holder.Waited > groups[at].Why.Holder.Waited) {
			at = i
		}
	}
	return at
}

// mostlyHeld reports whether a late call waited most of its time for a thread that is known.
func mostlyHeld(g *spikes.Object) bool {
	return g.Why != nil && g.Why.Holder != nil && g.Why.Holder.TID != 0 && 2*g.Why.Holder.Waited >= g.Interval[0]
}

// phrase is the name of a function, with its page if there is one.
func (m *Model) phrase(s spikes.Site) Phrase {
	symbol := cmp.Or(s.Symbol, s.Function)
	at := slices.IndexFunc(m.Functions, func(f Function) bool { return f.Symbol == symbol })
	if at < 0 {
		return Phrase{Text: s.Function}
	}
	return Phrase{s.Function, "function", map[string]string{"f": m.Functions[at].Key}}
}

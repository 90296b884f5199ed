package unwind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// moment shows a stack, outermost first: calls, "?" for missing frames, "out" for other
// binaries, and the instruction that was sampled.
func moment(set *machinecode.Set, m Moment) string {
	var parts []string
	for _, r := range append(m.Frames[:len(m.Frames):len(m.Frames)], m.Leaf) {
		switch r {
		case machinecode.Missing:
			parts = append(parts, "?")
		case external:
			parts = append(parts, "out")
		default:
			parts = append(parts, fmt.Sprintf("%x", set.Address(r)-text))
		}
	}
	return strings.Join(parts, " ")
}

// TestRepair has stacks as frame pointers show them where g, and at the end f, have no frame.
func TestRepair(t *testing.T) {
	t.Parallel()
	const framed, frameless = ehframe.CFAFrame, ehframe.CFAStack
	rows := func(f ehframe.CFA) []ehframe.Row {
		return []ehframe.Row{
			{PC: text, CFA: framed, Offset: 16},
			{PC: text + 0x20, CFA: f, Offset: 16},
			{PC: text + 0x30, CFA: frameless, Offset: 8},
			{PC: text + 0x40, CFA: framed, Offset: 16},
		}
	}
	const kernel = 1 << 63
	for _, c := range []struct {
		name   string
		f      ehframe.CFA
		stack  []uint64
		want   string
		counts Callers // those of repairs
	}{
		{"called by the function of the frame", framed, stack(0x34, 0x07), "2 22 34", Callers{Repaired: 1}},
		{"jumped to by it", framed, stack(0x34, 0x13), "e 34", Callers{Complete: 1}},
		{"called from a library, by one of several", framed, stack(0x34, 0xff), "? 34", Callers{Gaps: 1}},
		{"nothing is known", framed, stack(0x34), "34", Callers{Bare: 1, Alone: 1}},
		{"the caller is there", framed, stack(0x34, 0x0d), "8 34", Callers{Complete: 1}},
		{"the function has a frame", framed, stack(0x21, 0x07), "2 21", Callers{}},
		{"in the kernel", framed, []uint64{kernel + 8, text + 0x34, text + 0x07}, "2 22 34 out", Callers{Repaired: 1}},
		{"a system call", framed, []uint64{kernel + 8, kernel + 16, text + 0x21, text + 0x07}, "2 21 out", Callers{}},
		{"two without a frame", frameless, stack(0x34, 0xff), "? 34", Callers{Gaps: 1}},
		{"the frame is not that of the one caller", frameless, stack(0x21, 0x13), "e ? 21", Callers{Gaps: 1}},
		{"the one caller, from a library", frameless, stack(0x21, 0xff), "2 21", Callers{Repaired: 1}},
	} {
		set := code(t, rows(c.f)...)
		u := New(set, Options{Moments: true, Frameless: true})
		u.Add(&sample.Batch{Samples: []sample.Sample{{Stack: c.stack, Count: 1}}})
		r := u.Result()
		if len(r.Moments) != 1 {
			t.Errorf("%s: %d stacks, %+v", c.name, len(r.Moments), r.Stats)
			continue
		}
		if got := moment(set, r.Moments[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		st := Callers{Repaired: r.Stats.Repaired, Gaps: r.Stats.Gaps, Bare: r.Stats.Bare, Alone: r.Stats.Alone, Complete: r.Stats.Complete}
		if fmt.Sprint(st) != fmt.Sprint(c.counts) {
			t.Errorf("%s: %+v, want %+v", c.name, st, c.counts)
		}
	}
}

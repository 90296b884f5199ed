package tailtest

import (
	"fmt"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
)

// TestParse reads lines of truth as far as they are in the binary.
func TestParse(t *testing.T) {
	t.Parallel()
	code, err := machinecode.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	at := func(addr uint64) ref {
		if addr >= 0x7000 {
			return machinecode.External
		}
		return machinecode.None + ref(addr)
	}
	for line, want := range map[string]string{
		"O0>5 C10>20 C25>30 L33":       "[16 37 51]",
		"C10>20 C7025>30 O0>40 L44":    "[68]",
		"C10>20 C7025>30 C45>50 L55":   "[69 85]",
		"L5":                           "[5]",
		"C10>20 ...3 L33":              "",
		"C10>20 C25>30":                "",
		"C10>20 Cx>30 L33":             "",
		"":                             "",
		"C10>20 C25>30 L33 C1>2 more!": "[16 37 51]",
	} {
		var s stack
		got := ""
		if s.parse(line, code, at) {
			got = fmt.Sprint(s.frames)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestTally counts pairs up to the first frame that is not the true one.
func TestTally(t *testing.T) {
	t.Parallel()
	want := stack{frames: []ref{1, 2, 3, 4, 5}, jumps: [][]ref{nil, {9}, {8}, nil}}
	got := restored([]tailcall.Frame{
		{At: 77}, {At: 2}, {At: 9, Rule: tailcall.RuleSeen}, {At: 3}, {At: 7, Rule: tailcall.RuleStatic}, {At: 4}, {At: 6, Rule: tailcall.RuleAlike},
	}, 5)
	r := Recording{}
	c := Tally{distinct: map[string]bool{}}
	c.compare(&got, &want, r.same)
	if fmt.Sprint(c.Missing, c.Exact, c.Wrong, c.None, c.Plain, c.False) != "2 1 1 0 1 1" {
		t.Error(&c)
	}
	if pairs, exact := c.Distinct(); pairs != 2 || exact != 1 {
		t.Error(pairs, exact)
	}
	if n := c.Misses[Miss{Call: 3, Next: 4, Got: tailcall.RuleStatic}]; n != 1 || len(c.Misses) != 2 {
		t.Error(c.Misses)
	}
}

package profgen

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// preinlinings are ways to decide what is inlined, with the options of llvm-profgen.
var preinlinings = []struct {
	args   []string
	set    func(*Preinline)
	cold   Cold
	nested bool
}{
	{args: []string{"--gen-cs-nested-profile"}, nested: true}, // its default
	{},
	{args: []string{"--csspgo-replay-preinline"}, set: func(p *Preinline) { p.Replay = true }},
	{args: []string{"--use-context-cost-for-preinliner=0"}, set: func(p *Preinline) { p.Sizes = nil }},
	{
		args: []string{"--sample-profile-inline-growth-limit=2", "--sample-profile-inline-limit-min=40", "--csspgo-preinliner-multiplier-for-previous-inlining=1"},
		set:  func(p *Preinline) { p.Growth, p.MinLimit, p.Again = 2, 40, 1 },
	},
	{
		args: []string{"--sample-profile-hot-inline-threshold=1", "--sample-profile-cold-inline-threshold=30", "--sample-profile-inline-limit-max=900"},
		set:  func(p *Preinline) { p.HotSize, p.ColdSize, p.MaxLimit = 1, 30, 900 },
	},
	{args: []string{"--trim-cold-profile"}, cold: Cold{Trim: true, Own: true}},
	{args: []string{"--csprof-merge-cold-context"}, cold: Cold{Merge: true, Depth: 1, Own: true}},
}

// TestPreinlineAgainstLLVM compares the result of the pre-inliner, byte by byte, with what
// llvm-profgen writes.
func TestPreinlineAgainstLLVM(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.record(t)
			byLines := !slices.Contains(r.flags, "-fpseudo-probe-for-profiling")
			l := r.load(t, byLines)
			scopes := r.scopes(t)
			counts := l.unwind(t, r.text, false, 2)
			list, probes := l.contexts(t, counts)
			decide := NewPreinline()
			decide.Sizes = NewSizes(l.code, scopes, probes, counts)
			before := sampleprof.Summarize(list).Total
			if list, _ = decide.Contexts(list); sampleprof.Summarize(list).Total != before {
				t.Errorf("of all counts, %d, there are %d left", before, sampleprof.Summarize(list).Total)
			}
			for _, way := range preinlinings {
				o := decide
				o.Lossy = true
				if way.set != nil {
					way.set(&o)
				}
				list, _ := l.contexts(t, counts)
				list, done := o.Contexts(list)
				t.Logf("%d contexts, %d inlined, %d functions", done.Before, done.Inlined, done.Own)
				if done.Inlined+done.Own != len(list) {
					t.Errorf("%v: there are %d contexts", way.args, len(list))
				}
				if way.cold.Merge || way.cold.Trim {
					way.cold.Summary = &done.Summary
					list, _ = way.cold.Contexts(list)
				}
				args := append([]string{"--csspgo-preinliner"}, way.args...)
				if way.nested {
					same(t, fmt.Sprint(way.args), flatText(t, Nest(list)), r.llvm(t, r.text, args...))
				} else {
					same(t, fmt.Sprint(way.args), contextsText(t, list), r.llvm(t, r.text, args...))
				}
			}
		})
	}
}

// scopes returns what was inlined where, nil without debug information.
func (r *recording) scopes(t *testing.T) []*objfile.ScopeTable {
	t.Helper()
	f, err := objfile.Open(r.program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scopes, err := f.Scopes()
	if err != nil && !errors.Is(err, objfile.ErrNoScopes) {
		t.Fatal(err)
	}
	return []*objfile.ScopeTable{scopes}
}

// contexts makes the contexts of a program, and returns the probes that it has.
func (l *loaded) contexts(t *testing.T, counts *unwind.Result) ([]sampleprof.Context, *Probes) {
	t.Helper()
	if l.lines != nil {
		return ContextsByLines(counts, l.lines, Options{}), nil
	}
	probes := l.probes(t, counts)
	return ContextsByProbes(counts, probes, Options{}), probes
}

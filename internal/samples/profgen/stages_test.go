package profgen

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/sampleprof"
)

// stages are what can be done with contexts, with the options of llvm-profgen.
var stages = []struct {
	args   []string
	cold   Cold
	nested bool
}{
	{args: []string{"--gen-cs-nested-profile"}, nested: true},
	{args: []string{"--csprof-merge-cold-context"}, cold: Cold{Merge: true, Depth: 1}},
	{args: []string{"--trim-cold-profile"}, cold: Cold{Trim: true}},
	{
		args: []string{"--csprof-merge-cold-context", "--csprof-max-cold-context-depth=2", "--trim-cold-profile"},
		cold: Cold{Merge: true, Depth: 2, Trim: true},
	},
	{
		args: []string{"--csprof-merge-cold-context", "--gen-cs-nested-profile"},
		cold: Cold{Merge: true, Depth: 1}, nested: true,
	},
}

// TestStagesAgainstLLVM compares profiles that are nested, and those whose cold contexts are
// merged or omitted, with what llvm-profgen writes.
func TestStagesAgainstLLVM(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.record(t)
			byLines := !slices.Contains(r.flags, "-fpseudo-probe-for-profiling")
			l := r.load(t, byLines)
			counts := l.unwind(t, r.text, false, 2)
			for _, stage := range stages {
				var list []sampleprof.Context
				if byLines {
					list = ContextsByLines(counts, l.lines, Options{})
				} else {
					list = ContextsByProbes(counts, l.probes(t, counts), Options{})
				}
				if stage.cold.Merge || stage.cold.Trim {
					var cut Cut
					list, cut = stage.cold.Contexts(list)
					t.Logf("%+v", cut)
				}
				text := ""
				if stage.nested {
					text = flatText(t, Nest(list))
				} else {
					text = contextsText(t, list)
				}
				same(t, fmt.Sprint(stage.args), text, r.llvm(t, r.text, stage.args...))
			}
			flat := withoutStacks(r.text)
			counts = l.unwind(t, flat, true, 2)
			var p sampleprof.Profile
			if byLines {
				p = FlatByLines(counts, l.lines)
			} else {
				p = FlatByProbes(counts, l.probes(t, counts))
			}
			t.Logf("%+v", Cold{Trim: true}.Functions(p))
			same(t, "flat, trimmed", flatText(t, p), r.llvm(t, flat, "--trim-cold-profile"))
		})
	}
}

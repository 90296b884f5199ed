package profgen

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// TestAgainstLLVM compares profiles of all kinds, byte by byte, with those that llvm-profgen
// makes of the same samples, whole and damaged ones.
func TestAgainstLLVM(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.record(t)
			damage := r.load(t, false).damaged
			hasProbes := slices.Contains(r.flags, "-fpseudo-probe-for-profiling")
			hasLines := slices.Contains(r.flags, "-g")
			for name, text := range map[string][]byte{"whole": r.text, "damaged": damage(r.text, 7)} {
				t.Run(name, func(t *testing.T) {
					if hasProbes {
						r.compareProbes(t, text)
					}
					if hasLines {
						r.compareLines(t, text, hasProbes)
					}
				})
			}
		})
	}
}

func (r *recording) compareProbes(t *testing.T, text []byte) {
	t.Helper()
	l := r.load(t, false)
	counts := l.unwind(t, text, false, 2)
	same(t, "unsymbolized", l.unsymbolized(t, counts), r.llvm(t, text, "--skip-symbolization"))
	same(t, "contexts by probes", contextsText(t, ContextsByProbes(counts, l.probes(t, counts), Options{})), r.llvm(t, text))
	flat := withoutStacks(text)
	counts = l.unwind(t, flat, true, 2)
	same(t, "flat by probes", flatText(t, FlatByProbes(counts, l.probes(t, counts))), r.llvm(t, flat))
}

func (r *recording) compareLines(t *testing.T, text []byte, hasProbes bool) {
	t.Helper()
	var args []string
	if hasProbes {
		args = []string{"--use-dwarf-correlation"}
	}
	l := r.load(t, true)
	contexts := ContextsByLines(l.unwind(t, text, false, 2), l.lines, Options{})
	same(t, "contexts by lines", contextsText(t, contexts), r.llvm(t, text, args...))
	flat := withoutStacks(text)
	profile := FlatByLines(l.unwind(t, flat, true, 2), l.lines)
	same(t, "flat by lines", flatText(t, profile), r.llvm(t, flat, args...))
}

func (l *loaded) probes(t *testing.T, r *unwind.Result) *Probes {
	t.Helper()
	p, err := ReadProbes(l.code, []*objfile.Program{l.program}, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (l *loaded) unsymbolized(t *testing.T, r *unwind.Result) string {
	t.Helper()
	var b bytes.Buffer
	p := unsymbolized.Profile{HasContexts: true, Counts: r.Counts(l.code, l.code.Binaries()[0].Base)}
	if err := unsymbolized.Write(&b, &p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func contextsText(t *testing.T, c []sampleprof.Context) string {
	t.Helper()
	var b bytes.Buffer
	if err := sampleprof.WriteContexts(&b, Unambiguous(c)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func flatText(t *testing.T, p sampleprof.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := sampleprof.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// same compares profiles and shows the first lines that differ.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(w) < 5 {
		t.Errorf("%s: llvm-profgen writes %d lines", what, len(w))
	}
	if got == want {
		t.Logf("%s: %d lines are the same", what, len(w))
		return
	}
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	t.Errorf("%s: %d lines, llvm-profgen writes %d. From line %d on:\n%s\nllvm-profgen:\n%s", what, len(g), len(w), i+1,
		strings.Join(g[i:min(i+6, len(g))], "\n"), strings.Join(w[i:min(i+6, len(w))], "\n"))
}

// TestWorkers: how many goroutines count makes no difference.
func TestWorkers(t *testing.T) {
	t.Parallel()
	r := recordings()[0]
	r.record(t)
	l := r.load(t, false)
	text := bytes.Repeat(r.text, 5)
	want := l.unsymbolized(t, l.unwind(t, text, false, 1))
	for _, n := range []int{2, 3, 7} {
		if got := l.unsymbolized(t, l.unwind(t, text, false, n)); got != want {
			t.Errorf("%d workers: %d bytes, with one %d", n, len(got), len(want))
		}
	}
}

package profgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

const (
	libraryCode = `
static volatile long sink;
__attribute__((noinline)) static long step(long x) { for (int i = 0; i < 3; i++) sink += x; return sink; }
__attribute__((noinline)) static long again(long x) { return step(x + 1) + 2; }
long apply(long (*f)(long), long x) { return f(x) + again(x) + 1; }
`
	callerCode = `
extern long apply(long (*f)(long), long x);
static volatile long total;
__attribute__((noinline)) static long callback(long x) { for (int i = 0; i < 4; i++) total += x; return total; }
int main(void) {
  __builtin_debugtrap();
  for (long i = 0; i < 300; i++) total += apply(callback, i) + 1;
  return 0;
}
`
)

// TestBinaries: of a program and a library of it, each alone gives what
// llvm-profgen makes of it, and both together give contexts that lead from one to
// the other and back.
func TestBinaries(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{profgen, "clang-22", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"library.c": libraryCode, "caller.c": callerCode} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fpseudo-probe-for-profiling", "-g"}
	run(t, "clang-22", append(flags, "-shared", "-fPIC", "-o", path("libapply.so"), path("library.c"))...)
	run(t, "clang-22", append(flags, "-o", path("caller"), path("caller.c"), path("libapply.so"))...)
	run(t, "gcc", "-O2", "-D_GNU_SOURCE", "-w", "-o", path("lbr"), "testdata/lbr.c")
	run(t, path("lbr"), "7", path("perf"), path("caller"))
	text, err := os.ReadFile(path("perf"))
	if err != nil {
		t.Fatal(err)
	}

	var programs []*objfile.Program
	alone := "" // flat profiles of one binary each
	for _, name := range []string{"caller", "libapply.so"} {
		r := recording{program: path(name)}
		r.compareProbes(t, text)
		r.compareLines(t, text, true)
		alone += r.llvm(t, withoutStacks(text))
		programs = append(programs, r.load(t, false).program)
	}
	both := &loaded{}
	if both.code, err = machinecode.NewSet(programs...); err != nil {
		t.Fatal(err)
	}
	counts := both.unwind(t, text, false, 1)
	probes, err := ReadProbes(both.code, programs, counts)
	if err != nil {
		t.Fatal(err)
	}
	profile := contextsText(t, ContextsByProbes(counts, probes, Options{}))
	for _, context := range []string{"[main:5 @ apply:2 @ _ZL8callback", "[main:5 @ apply:3 @ _ZL5again", ":2 @ _ZL4stepl.__uniq."} {
		if !strings.Contains(profile, context) {
			t.Errorf("there is no context %s...] in\n%s", context, profile)
		}
	}
	counts = both.unwind(t, withoutStacks(text), true, 1)
	if probes, err = ReadProbes(both.code, programs, counts); err != nil {
		t.Fatal(err)
	}
	onlyCallsBetween(t, flatText(t, FlatByProbes(counts, probes)), alone)
}

// onlyCallsBetween checks that the flat profile of both binaries is the sum of the profiles of
// each, plus the callees of calls between them.
func onlyCallsBetween(t *testing.T, both, alone string) {
	t.Helper()
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	known := map[string]int{}
	for _, l := range lines(alone) {
		known[l]++
	}
	var more []string
	for _, l := range lines(both) {
		if known[l]--; known[l] < 0 {
			more = append(more, l)
		}
	}
	between := 0
	for _, l := range more {
		if strings.Contains(l, " apply:") || strings.Contains(l, "callback") {
			between++
		}
	}
	if between == 0 || between != len(more) {
		t.Errorf("of %d lines that are in no profile of one binary %d are calls between them:\n%s", len(more), between, strings.Join(more, ""))
	}
}

//go:build linux && amd64

package oracle

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/folded"
)

// flameGraphDir names the directory of a copy of github.com/brendangregg/FlameGraph.
const flameGraphDir = "CAIRN_FLAMEGRAPH"

// TestStackcollapse compares the stacks of cairn flame with those of FlameGraph's stackcollapse-*.pl, for all inputs that
// FlameGraph has, stack by stack. docs/flame.md has the figures.
func TestStackcollapse(t *testing.T) {
	t.Parallel()
	mustHave(t, "perl")
	dir := os.Getenv(flameGraphDir)
	if dir == "" {
		t.Skipf("%s does not say where FlameGraph is", flameGraphDir)
	}
	inputs, err := filepath.Glob(filepath.Join(dir, "test", "perf-*.txt"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs in %s: %v", dir, err)
	}
	perf := []string{filepath.Join(dir, "stackcollapse-perf.pl"), "--all"}
	for _, path := range append(inputs, filepath.Join(dir, "example-perf-stacks.txt.gz")) {
		compareCollapsed(t, path, perf, tidyPerf)
		compareCollapsed(t, path, append(perf, "--tid"), tidyPerf, "--per-thread")
	}
	compareCollapsed(t, filepath.Join(dir, "example-dtrace-stacks.txt"), []string{filepath.Join(dir, "stackcollapse.pl")}, tidyDTrace)
}

// compareCollapsed compares the stacks of a file as a script and cairn flame read them. tidy makes names equal that both
// print on purpose in another way.
func compareCollapsed(t *testing.T, path string, script []string, tidy func(stack []string) []string, flags ...string) {
	t.Helper()
	if len(flags) > 0 && !hasThreads(t, path) {
		return
	}
	c := exec.Command("perl", script...)
	// The scripts omit a last sample that no blank line follows, and names of frames that have no symbol and not even
	// [unknown] in its place.
	c.Stdin = bytes.NewReader(append(noSymbol.ReplaceAll(unpacked(t, path), []byte("$1 [unknown] (")), "\n\n"...))
	theirs, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", script[0], err)
	}
	ours, err := exec.Command(cairn, append(append([]string{"flame", "--mangled", "--format", "folded", "-o", "-"}, flags...), path)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want := collapsed(t, theirs, split, tidy)
	got := collapsed(t, ours, parsed, tidy)
	differ, sum := 0, uint64(0)
	for stack, n := range want {
		sum += n
		if got[stack] != n {
			differ++
			t.Errorf("%s: %d, want %d: %s", filepath.Base(path), got[stack], n, stack)
		}
	}
	for stack, n := range got {
		if _, ok := want[stack]; !ok {
			differ++
			t.Errorf("%s: %d, want none: %s", filepath.Base(path), n, stack)
		}
	}
	t.Logf("%s %v: %d stacks, sum %d, %d differ", filepath.Base(path), flags, len(want), sum, differ)
}

// parsed parses a line that cairn wrote.
func parsed(line string) ([]string, uint64, error) { return folded.Parse(line) }

// split parses a line of a tool that has no escapes.
func split(line string) ([]string, uint64, error) {
	i := strings.LastIndexByte(line, ' ')
	n, err := strconv.ParseUint(line[i+1:], 10, 64)
	return strings.Split(line[:max(i, 0)], ";"), n, err
}

// collapsed sums the stacks of a text.
func collapsed(t *testing.T, text []byte, parse func(string) ([]string, uint64, error), tidy func([]string) []string) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	for line := range bytes.Lines(text) {
		stack, n, err := parse(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[strings.Join(tidy(stack), ";")] += n
	}
	return out
}

var (
	frameMark = regexp.MustCompile(`(_\[[kij]\])+$`)
	noSymbol  = regexp.MustCompile(`(?m)^(\t *[0-9a-f]+)  \(`)
	goMethod  = regexp.MustCompile(`\.\(.*\)\.`)
	threadID  = regexp.MustCompile(`^(.*)[- ](?:\?/)?(\d+(?:/\d+)?)$`)
	cppArgs   = regexp.MustCompile(`(::.*)[(<].*`)
)

// tidyPerf changes names as stackcollapse-perf.pl does: it removes parameters, quotes, and parts of Java's names. Of the
// vDSO, which is no part of the kernel, it removes the mark of that.
func tidyPerf(stack []string) []string {
	out := []string{strings.ReplaceAll(stack[0], " ", "_")}
	if m := threadID.FindStringSubmatch(stack[0]); m != nil {
		out[0] = strings.ReplaceAll(m[1], " ", "_") + "-" + strings.TrimSuffix(m[2], "/0") // the script takes thread 0 for none
	}
	for _, name := range stack[1:] {
		mark := frameMark.FindString(name)
		name = strings.ReplaceAll(strings.TrimSuffix(name, mark), ";", ":")
		if name == "[no stack]" {
			continue
		}
		if !goMethod.MatchString(name) {
			if i := parameters(name); i >= 0 {
				name = name[:i]
			}
		}
		name = strings.NewReplacer(`"`, "", `'`, "", "[[", "[", "]]", "]").Replace(name)
		if strings.HasPrefix(stack[0], "java") && strings.Contains(name, "/") {
			name = strings.TrimPrefix(name, "L")
		}
		if strings.Contains(name, "vdso") {
			mark = ""
		}
		out = append(out, name+mark[:min(len(mark), len("_[k]"))])
	}
	return out
}

// parameters returns where the parameters of a function begin, or -1.
func parameters(name string) int {
	for i := range len(name) {
		if name[i] == '(' && !strings.HasPrefix(name[i+1:], "anonymous namespace)") {
			return i
		}
	}
	return -1
}

// tidyDTrace removes what stackcollapse.pl keeps of modules and of addresses without a symbol, and parameters.
func tidyDTrace(stack []string) []string {
	var out []string
	for _, name := range stack {
		name = frameMark.ReplaceAllString(name, "")
		if module, symbol, ok := strings.Cut(name, "`"); ok {
			if name = symbol; strings.HasPrefix(symbol, "0x") {
				name = "[" + module + "]"
			}
		}
		out = append(out, cppArgs.ReplaceAllString(name, "$1"))
	}
	return out
}

// hasThreads reports whether the samples of a file name their threads: cairn flame --per-thread is an error elsewhere.
func hasThreads(t *testing.T, path string) bool {
	t.Helper()
	_, err := exec.Command(cairn, "flame", "--per-thread", "--format", "folded", "-o", filepath.Join(t.TempDir(), "x"), path).Output()
	return err == nil
}

// unpacked reads a file that may be compressed.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

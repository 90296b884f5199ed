//go:build linux && amd64

package oracle

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// llvmTests names the directory of LLVM's own tests of llvm-profgen,
// llvm/test/tools/llvm-profgen in its sources.
const llvmTests = "CAIRN_LLVM_TESTS"

// TestLLVMProfgenTests runs what LLVM's own tests of llvm-profgen run, by that and by cairn
// under its name, and compares what they write. docs/profgen-why.md has the figures, of the
// sources of LLVM 19 that Debian has.
func TestLLVMProfgenTests(t *testing.T) {
	t.Parallel()
	mustHave(t, llvmProfgen)
	mustHave(t, llvmProfdata)
	dir := os.Getenv(llvmTests)
	if dir == "" {
		t.Skipf("%s does not say where LLVM's sources are", llvmTests)
	}
	tests, err := filepath.Glob(filepath.Join(dir, "*.test"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	r := &llvmRuns{dir: dir, tmp: t.TempDir(), counts: map[string]int{}}
	r.cairn = filepath.Join(r.tmp, "llvm-profgen")
	if err := os.Symlink(cairn, r.cairn); err != nil {
		t.Fatal(err)
	}
	for _, path := range tests {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r.work = r.tmp
		for _, line := range runLines(string(text)) {
			r.line(t, path, line)
		}
	}
	for _, how := range slices.Sorted(maps.Keys(r.counts)) {
		t.Logf("%3d %s", r.counts[how], how)
	}
	if same := r.counts[sameBytes] + r.counts[sameText]; same < 98 {
		t.Errorf("%d outputs are the same", same)
	}
}

// How runs compare.
const (
	sameBytes     = "the same, byte by byte"
	sameText      = "the same as text, with sections in another order"
	notSame       = "differ"
	neitherTakes  = "rejected by both"
	oursRefuses   = "rejected by cairn"
	sameThenError = "print the same, and then there is an error of cairn: no sample is in the binary"
)

// llvmRuns runs both tools.
type llvmRuns struct {
	dir, tmp, cairn string
	work            string // where the commands of a test run
	counts          map[string]int
	said            string // by cairn, at last
}

// runLines returns the commands of a test. Those that go on on the next line are put
// together.
func runLines(text string) (lines []string) {
	begun := ""
	for _, m := range regexp.MustCompile(`(?m)RUN: ?(.*)$`).FindAllStringSubmatch(text, -1) {
		part, more := strings.CutSuffix(strings.TrimSpace(m[1]), `\`)
		begun += part
		if !more {
			lines = append(lines, begun)
			begun = ""
		}
	}
	return lines
}

// line runs a command: with both tools if it is llvm-profgen's, and as it is if it makes
// what later ones read.
func (r *llvmRuns) line(t *testing.T, test, line string) {
	t.Helper()
	line = strings.NewReplacer("%s", test, "%S", r.dir, "%p", r.dir, "%t", filepath.Join(r.tmp, filepath.Base(test)+".tmp"), "%T", r.tmp).Replace(line)
	if to, ok := strings.CutPrefix(line, "cd "); ok {
		r.work = to
		return
	}
	_, args, ok := strings.Cut(line, "llvm-profgen ")
	if !ok {
		if !strings.Contains(line, "FileCheck") {
			r.run("bash", "-c", "PATH=/usr/lib/llvm-22/bin:$PATH; "+line)
		}
		return
	}
	args = regexp.MustCompile(`\s(\||2>|&&|;|>).*`).ReplaceAllString(args, "")
	ours, theirs := filepath.Join(r.tmp, "ours"), filepath.Join(r.tmp, "theirs")
	var words []string
	out := ""
	for word := range strings.FieldsSeq(args) {
		if path, ok := strings.CutPrefix(strings.TrimLeft(word, "-"), "output="); ok {
			out = path
			continue
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	how := r.compare(words, ours, theirs)
	r.counts[how]++
	if how == notSame || how == oursRefuses {
		t.Logf("%s: %s: %s\n%s", how, filepath.Base(test), strings.ReplaceAll(strings.Join(words, " "), r.dir+"/", ""), r.said)
	}
	if text, err := os.ReadFile(theirs); err == nil && out != "" {
		if err := os.WriteFile(out, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *llvmRuns) run(name string, args ...string) bool {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.work
	return cmd.Run() == nil
}

// both runs a tool and returns what it printed on standard output and on standard error.
func (r *llvmRuns) both(name string, args []string, out string) (printed, said []byte, ok bool) {
	_ = os.Remove(out)
	cmd := exec.Command(name, append(slices.Clone(args), "--output="+out)...)
	cmd.Dir = r.work
	var err bytes.Buffer
	cmd.Stderr = &err
	printed, failed := cmd.Output()
	return printed, err.Bytes(), failed == nil
}

// compare runs both tools and says how what they write compares.
func (r *llvmRuns) compare(args []string, ours, theirs string) string {
	printed, said, got := r.both(r.cairn, args, ours)
	wanted, _, want := r.both(llvmProfgen, args, theirs)
	r.said = string(said)
	same := bytes.Equal(printed, wanted)
	switch {
	case !want && !got:
		return neitherTakes
	case !got && same && len(printed) > 0:
		return sameThenError
	case !got:
		return oursRefuses
	case !want:
		return "rejected by llvm-profgen"
	case !same:
		r.said += "\nprinted: " + firstDifference(string(printed), string(wanted))
		return notSame
	}
	a, _ := os.ReadFile(ours)
	b, _ := os.ReadFile(theirs)
	if bytes.Equal(a, b) {
		return sameBytes
	}
	for _, what := range [][]string{{"merge", "--sample", "--text", "--output=-"}, {"show", "--sample", "--show-prof-sym-list"}} {
		x, _ := exec.Command(llvmProfdata, append(what, ours)...).Output()
		y, _ := exec.Command(llvmProfdata, append(what, theirs)...).Output()
		if _, list, ok := bytes.Cut(x, []byte("Dump profile symbol list")); ok { // functions are in no order
			_, other, _ := bytes.Cut(y, []byte("Dump profile symbol list"))
			x, y = list, other
		} else if what[0] == "show" {
			continue
		}
		if len(x) == 0 || !bytes.Equal(x, y) {
			return notSame
		}
	}
	return sameText
}

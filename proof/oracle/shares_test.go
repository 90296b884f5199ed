//go:build linux && amd64

package oracle

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
)

// shares are what functions executed of all instructions of a program, its libraries left
// out: by themselves, and with what they called.
type shares struct {
	self, whole map[string]float64
	total       float64
}

// add counts instructions of the first function of a stack, innermost first.
func (s *shares) add(stack []string, n float64) {
	s.total += n
	s.self[stack[0]] += n
	seen := map[string]bool{}
	for _, f := range stack {
		if !seen[f] {
			s.whole[f] += n
			seen[f] = true
		}
	}
}

func newShares() *shares { return &shares{self: map[string]float64{}, whole: map[string]float64{}} }

// callgrindShares reads a file of callgrind with --separate-callers, whose functions are
// stacks: f'caller'main. A number is a level of recursion.
func callgrindShares(r io.Reader, object string) (*shares, error) {
	s := newShares()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<22)
	var ob string
	var stack []string
	callee := false
	for lines.Scan() {
		line := lines.Text()
		name, value, isHeader := strings.Cut(line, "=")
		switch {
		case isHeader && name == "ob":
			ob = value
		case isHeader && name == "fn":
			stack = stack[:0]
			for f := range strings.SplitSeq(value, "'") {
				if _, err := strconv.Atoi(f); err != nil {
					stack = append(stack, wholeOf(f))
				}
			}
		case isHeader && name == "calls":
			callee = true
		case !isHeader && line != "" && (line[0] >= '0' && line[0] <= '9'):
			f := strings.Fields(line)
			if !callee && ob == object && len(f) == 2 {
				n, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					return nil, fmt.Errorf("%q: %w", line, err)
				}
				s.add(stack, n)
			}
			callee = false
		}
	}
	return s, lines.Err()
}

// wholeOf returns the function that a copy of one, or a part, was made of.
func wholeOf(name string) string {
	name, _, _ = strings.Cut(name, " [clone ")
	for _, suffix := range []string{".cold", ".constprop.", ".part.", ".isra."} {
		name, _, _ = strings.Cut(name, suffix)
	}
	return name
}

// foldedShares reads folded stacks.
func foldedShares(text string) (*shares, error) {
	s := newShares()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		var stack []string
		for f := range strings.SplitSeq(line[:i], ";") {
			f = strings.TrimSuffix(f, " [inferred]")
			stack = append([]string{wholeOf(f)}, stack...)
		}
		s.add(stack, n)
	}
	return s, nil
}

// compareShares wants the same shares within a hundredth of all instructions, and of shares with
// callees within most.
func compareShares(t *testing.T, got, want *shares, most float64) {
	t.Helper()
	worst := 0.0
	compared := 0
	for kind, maps := range map[string][2]map[string]float64{"self": {got.self, want.self}, "inclusive": {got.whole, want.whole}} {
		for f, n := range maps[1] {
			if strings.HasPrefix(f, "0x") || strings.HasPrefix(f, "(") {
				continue // it has no symbol
			}
			if want.self[f] == 0 && got.whole[f] == 0 {
				continue // of a library
			}
			g, w := maps[0][f]/got.total, n/want.total
			worst = max(worst, g-w, w-g)
			compared++
			limit := most
			if kind == "self" {
				limit = exactly
			}
			if g-w > limit || w-g > limit {
				t.Errorf("%s: %s: %.2f%% of the samples, %.2f%% of the instructions", f, kind, 100*g, 100*w)
			}
		}
	}
	t.Logf("%d shares compared, the worst is %.2f%% off; %.0f samples of %.0f instructions", compared, 100*worst, got.total, want.total)
	if compared < 6 {
		t.Error("hardly any function was compared")
	}
}

// exactly is the difference of shares that sampling may make.
const exactly = 0.01

// holdShares records a program, and holds the shares of its functions against callgrind's.
func holdShares(t *testing.T, program, every string, most float64, args ...string) *shares {
	t.Helper()
	mustHave(t, "valgrind")
	dir := t.TempDir()
	out, perf, folded := filepath.Join(dir, "callgrind.out"), filepath.Join(dir, "perf"), filepath.Join(dir, "folded")
	argv := underCallgrind(out, "--separate-callers=1000", program, args...)
	output(t, command(t, argv[0], argv[1:]...))
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := callgrindShares(f, program)
	if err != nil {
		t.Fatal(err)
	}
	output(t, command(t, cairn, append([]string{"record", "--lbr", "-o", perf, "--every", every, "--", program}, args...)...))
	notes, err := command(t, cairn, "profgen", "--binary", program, "--format", "folded", "-o", folded, perf).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, notes)
	}
	t.Logf("%s", notes)
	text, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := foldedShares(string(text))
	if err != nil {
		t.Fatal(err)
	}
	compareShares(t, got, want, most)
	return got
}

// TestSharesStraight checks that a leaf function without a branch has the samples of its
// instructions.
func TestSharesStraight(t *testing.T) {
	t.Parallel()
	program := filepath.Join(workDir, "straight")
	output(t, command(t, "gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-o", program, filepath.Join("testdata", "straight.c")))
	got := holdShares(t, program, "101", exactly, "20000")
	if share := got.self["get"] / got.total; share < 0.7 {
		t.Errorf("get has %.1f%% of the samples", 100*share)
	}
}

// TestSharesFrameless checks the totals of a program without frame pointers: its callers too.
func TestSharesFrameless(t *testing.T) {
	t.Parallel()
	program := filepath.Join(workDir, "frameless")
	output(t, command(t, "gcc", "-O2", "-g", "-fomit-frame-pointer", "-o", program, filepath.Join("testdata", "frameless.c")))
	got := holdShares(t, program, "101", exactly, "300")
	if share := got.whole["main"] / got.total; share < 0.99 {
		t.Errorf("main has %.1f%% of the samples", 100*share)
	}
}

// TestShares compares the shares of the functions of real programs with callgrind's. Valgrind
// does not read the debug information of clang.
func TestShares(t *testing.T) {
	skipLong(t)
	t.Parallel()
	every := map[string]string{"SQLite": "1999", "Duktape": "499", "H3": "101", "Lua": "13", "tinyxml2": "101", "pugixml": "29"}
	for _, g := range tailguests.All {
		t.Run(g.Name, func(t *testing.T) {
			g := g.With("gcc", g.Level)
			t.Parallel()
			mustHave(t, g.Compiler)
			root, dir, sources := fetchGuest(t, g)
			dir, err := filepath.EvalSymlinks(dir) // as callgrind names it
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, "program")
			compile, err := g.Command(root, sources, program)
			if err != nil {
				t.Fatal(err)
			}
			// The sort of Duktape chooses its pivots by a number that depends on the time.
			compile = append(compile, "-DDUK_USE_GET_RANDOM_DOUBLE(udata)=0.4")
			output(t, command(t, compile[0], compile[1:]...))
			holdShares(t, program, every[g.Name], exactly, g.Args(root, 1)...)
			// Frames of tail calls that are not certain are the others: of pugixml's by 3.7 %.
			const restored = 0.04
			output(t, command(t, compile[0], append(compile[1:], "-fomit-frame-pointer")...))
			holdShares(t, program, every[g.Name], restored, g.Args(root, 1)...)
		})
	}
}

//go:build linux && amd64

package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
)

// sourceLine is a line of a file.
type sourceLine struct {
	file string
	line int
}

// TestLines compares what covered says of source lines with gcov, without optimisation, and
// clang's source coverage, which count in the source: no line that ran is called missed. Lines
// that they differ about are left out: gcov counts those that share a block with others' ends,
// clang gives the lines after a return a count.
func TestLines(t *testing.T) {
	t.Parallel()
	programs := []string{"tinyxml2", "Lua", "H3", "pugixml", "SQLite"}
	for _, g := range tailguests.All {
		if !slices.Contains(programs, g.Name) {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			if g.Name != "tinyxml2" {
				skipLong(t)
			}
			t.Parallel()
			mustHave(t, "gcov")
			mustHave(t, "llvm-cov-22")
			root, dir, sources := fetchGuest(t, g)
			truth := agreed(gcovLines(t, g, root, dir, sources), clangLines(t, g, root, dir, sources))
			for _, v := range []variant{{"gcc", "-O0"}, {"gcc", "-O2"}, {"clang-22", "-O2"}} {
				t.Run(v.compiler+v.flags, func(t *testing.T) {
					t.Parallel()
					judgeLines(t, truth, guestLines(t, g, v, root, sources))
				})
			}
		})
	}
}

// compileGuest compiles a guest with lines, in one command that starts with prefix.
func compileGuest(t *testing.T, g *tailguests.Guest, v variant, root, sources, program string, prefix []string, more ...string) {
	t.Helper()
	g = g.With(v.compiler, v.flags)
	mustHave(t, g.Compiler)
	argv, err := g.Command(root, sources, program)
	if err != nil {
		t.Fatal(err)
	}
	argv = slices.DeleteFunc(argv, func(a string) bool {
		return a == "-g1" || strings.HasPrefix(a, "-fpseudo-probe") || strings.HasPrefix(a, "-fdebug-info") || strings.Contains(a, "omit-")
	})
	argv = slices.Concat(prefix, argv, []string{"-g"}, more)
	output(t, command(t, argv[0], argv[1:]...))
}

// guestLines returns the lines of a guest that ran or did not, as covered has them.
func guestLines(t *testing.T, g *tailguests.Guest, v variant, root, sources string) map[sourceLine]bool {
	t.Helper()
	dir := t.TempDir()
	program, raws, file := filepath.Join(dir, "program"), filepath.Join(dir, "raws"), filepath.Join(dir, "run.mip")
	compileGuest(t, g, v, root, sources, program, []string{cairn, "cc", "--mode", "block"})
	cmd := command(t, program, g.Args(root, 1)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	output(t, cmd)
	output(t, command(t, cairn, "merge", "--strict", "-o", file, program, raws))
	return readLCOV(t, output(t, command(t, cairn, "covered", "-p", file, "--debug", program, "--lcov")))
}

// clangLines returns the lines that ran or did not by clang's coverage of sources.
func clangLines(t *testing.T, g *tailguests.Guest, root, dir, sources string) map[sourceLine]bool {
	t.Helper()
	program, raw, data := filepath.Join(dir, "clangcov"), filepath.Join(dir, "cov.raw"), filepath.Join(dir, "cov.data")
	compileGuest(t, g, variant{"clang-22", "-O2"}, root, sources, program, nil, "-fprofile-instr-generate", "-fcoverage-mapping")
	cmd := command(t, program, g.Args(root, 1)...)
	cmd.Env = append(cmd.Env, "LLVM_PROFILE_FILE="+raw)
	output(t, cmd)
	output(t, command(t, "llvm-profdata-22", "merge", "-o", data, raw))
	return readLCOV(t, output(t, command(t, "llvm-cov-22", "export", "-format=lcov", "-instr-profile", data, program)))
}

// gcovLines returns the lines that ran or did not by gcov, in each of ten runs: some
// lines depend on addresses and the time.
func gcovLines(t *testing.T, g *tailguests.Guest, root, dir, sources string) map[sourceLine]bool {
	t.Helper()
	program := filepath.Join(dir, "gcov")
	compileGuest(t, g, variant{"gcc", "-O0"}, root, sources, program, nil, "--coverage")
	lines := gcovRun(t, program, g.Args(root, 1))
	for range 9 {
		lines = agreed(lines, gcovRun(t, program, g.Args(root, 1)))
	}
	return lines
}

// gcovRun returns the lines that ran or did not in a run of a program with gcov's probes.
func gcovRun(t *testing.T, program string, args []string) map[sourceLine]bool {
	t.Helper()
	output(t, command(t, program, args...))
	counts, err := filepath.Glob(program + "-*.gcda")
	if err != nil || len(counts) == 0 {
		t.Fatalf("gcov has no counts of the run: %v", err)
	}
	defer func() {
		for _, name := range counts {
			os.Remove(name)
		}
	}()
	lines := map[sourceLine]bool{}
	d := json.NewDecoder(strings.NewReader(output(t, command(t, "gcov", append([]string{"--json-format", "--stdout"}, counts...)...))))
	for {
		var report struct {
			Files []struct {
				File  string
				Lines []struct {
					Number int    `json:"line_number"`
					Count  uint64 `json:"count"`
				}
			}
		}
		if err := d.Decode(&report); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Files {
			for _, l := range f.Lines {
				at := sourceLine{realPath(f.File), l.Number}
				lines[at] = lines[at] || l.Count > 0
			}
		}
	}
}

// readLCOV returns the lines of a tracefile and whether they ran.
func readLCOV(t *testing.T, text string) map[sourceLine]bool {
	t.Helper()
	lines := map[sourceLine]bool{}
	file := ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		switch key {
		case "SF":
			file = realPath(value)
		case "DA":
			number, count, _ := strings.Cut(value, ",")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%s: %v", s.Text(), err)
			}
			at := sourceLine{file, n}
			lines[at] = lines[at] || count != "0"
		}
	}
	return lines
}

// realPath makes one name of those that compilers write for a file.
func realPath(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

// agreed returns the lines that both say the same of.
func agreed(a, b map[sourceLine]bool) map[sourceLine]bool {
	same := map[sourceLine]bool{}
	for at, ran := range a {
		if other, ok := b[at]; ok && other == ran {
			same[at] = ran
		}
	}
	return same
}

// judgeLines compares lines with the truth: none that ran is called missed, and none that did not is called run.
func judgeLines(t *testing.T, truth, got map[sourceLine]bool) {
	t.Helper()
	c := tally{t: t}
	var ran, notRun, shown, told, wrong int
	for at, did := range truth {
		is, known := got[at]
		if did {
			ran++
			if is {
				shown++
			}
			c.check(!known || is, "%s:%d ran, and is called missed", at.file, at.line)
			continue
		}
		notRun++
		switch {
		case !known:
		case is:
			wrong++
			t.Logf("%s:%d did not run, and is called run", at.file, at.line)
		default:
			told++
		}
	}
	c.done("lines")
	t.Logf("of %d lines that ran, %d are called run; of %d that did not, %d are called missed and %d run", ran, shown, notRun, told, wrong)
	if ran < 300 || notRun < 100 || told < notRun/5 {
		t.Errorf("that proves little")
	}
	if wrong > 0 {
		t.Errorf("%d lines that did not run are called run", wrong)
	}
}

//go:build linux && amd64

package oracle

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/machinecode"
	"github.com/cairnprof/cairn/internal/objfile"
	"github.com/cairnprof/cairn/internal/profgen"
	"github.com/cairnprof/cairn/internal/tailcall"
	"github.com/cairnprof/cairn/internal/tailtruth"
	samples "github.com/cairnprof/cairn/sample"
)

// guest is a real program whose missing frames are looked for.
type guest struct {
	name     string
	compiler string
	level    string
	source   func(t *testing.T) string // returns a directory
	files    []string                  // in it, as globs
	driver   string                    // in testdata
	include  string                    // below the directory
	args     []string
	every    string
}

var guests = []guest{
	{
		name: "SQLite", compiler: "clang-22", level: "-O1", every: "307",
		source: moduleSource("github.com/mattn/go-sqlite3@v1.14.52"), files: []string{"sqlite3-binding.c"}, driver: "sqlite.c",
		args: []string{":memory:", filepath.Join("testdata", "sqlite.sql"), "3"},
	},
	{
		name: "Duktape", compiler: "gcc", level: "-O2", every: "101",
		source: moduleSource("gopkg.in/olebedev/go-duktape.v3@v3.0.0-20200619000410-60c24ae608a6"),
		files:  []string{"duktape.c"}, driver: "missing/duktape.c",
		args: []string{"1", filepath.Join("testdata", "missing", "script.js")},
	},
	{
		name: "H3", compiler: "gcc", level: "-O3", every: "101",
		source: moduleSource("github.com/uber/h3-go/v4@v4.1.0"), files: []string{"*.c"}, driver: "missing/cells.c",
		args: []string{"40"},
	},
	{
		name: "Lua", compiler: "clang-22", level: "-O3", every: "17",
		source: debianSource("lua5.4"), files: []string{"src/l*.c"}, include: "src",
		args: []string{filepath.Join("testdata", "missing", "script.lua")},
	},
	{
		name: "tinyxml2", compiler: "clang++-22", level: "-O2", every: "101",
		source: debianSource("tinyxml2"), files: []string{"tinyxml2.cpp"}, driver: "missing/xml.cc",
		args: []string{"10"},
	},
	{
		name: "pugixml", compiler: "g++", level: "-O2", every: "31",
		source: debianSource("pugixml"), files: []string{"src/pugixml.cpp"}, include: "src", driver: "missing/xpath.cc",
		args: []string{"10"},
	},
}

func moduleSource(version string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		return goModule(t, version)
	}
}

// debianSource returns a function that unpacks a source package of Debian.
func debianSource(name string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		if out, err := command(t, filepath.Join("..", "..", "scripts", "debian-source.sh"), name, dir).CombinedOutput(); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			t.Skipf("the source of %s is not to be had: %s", name, out)
		}
		return dir
	}
}

// TestMissingFrames holds the frames that are put back against the true stacks of
// real programs, at several depths of the branch records: without any, too, as in
// samples of frame pointers alone.
func TestMissingFrames(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sums := map[int]*[2]tailtruth.Tally{}
	t.Run("programs", func(t *testing.T) {
		for _, g := range guests {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				mustHave(t, g.compiler)
				r := g.record(t)
				for _, depth := range []int{32, 16, 8, -1} {
					got := judgeMissing(t, r, depth)
					mu.Lock()
					if sums[depth] == nil {
						sums[depth] = &[2]tailtruth.Tally{}
					}
					for i := range got {
						sums[depth][i].Add(&got[i])
					}
					mu.Unlock()
				}
			})
		}
	})
	var all tailtruth.Tally
	for depth, sum := range sums {
		llvm, full := &sum[0], &sum[1]
		t.Logf("all, %d branches: llvm: %v", depth, llvm)
		t.Logf("all, %d branches: full: %v", depth, full)
		if depth == 32 && full.Exact*100 < full.Missing*95 {
			t.Errorf("of %d pairs with missing frames %d were found, less than 95%%", full.Missing, full.Exact)
		}
		all.Add(full)
	}
	if bad := all.Wrong + all.False; bad*2000 > all.Missing {
		t.Errorf("%d of %d pairs are wrong, more than 0.05%%", bad, all.Missing)
	}
}

// judgeMissing compares both inferrers with the truth.
func judgeMissing(t *testing.T, r *tailtruth.Recording, depth int) []tailtruth.Tally {
	t.Helper()
	cut := *r
	cut.Depth = depth
	got, err := cut.Judge(t.Context(), func(g *tailcall.Graph) []tailtruth.Inferrer {
		return []tailtruth.Inferrer{{Inferrer: tailcall.NewLLVM(g), Alone: true}, {Inferrer: tailcall.NewFull(g, r.Place)}}
	})
	if err != nil {
		t.Fatal(err)
	}
	llvm, full := &got[0], &got[1]
	t.Logf("%d branches: llvm: %v", depth, llvm)
	t.Logf("%d branches: full: %v", depth, full)
	for m, n := range full.Misses {
		if m.Got != "" {
			t.Logf("%d times wrong, by rule %s: %#x .. %#x", n, m.Got, r.Code.Address(m.Call), r.Code.Address(m.Next))
		}
	}
	if full.Missing == 0 {
		t.Error("no frames are missing")
	}
	if full.Exact < llvm.Exact {
		t.Errorf("%d branches: %d chains were found, by LLVM's algorithm %d", depth, full.Exact, llvm.Exact)
	}
	return got
}

// record compiles and runs the guest.
func (g *guest) record(t *testing.T) *tailtruth.Recording {
	t.Helper()
	src, dir := g.source(t), t.TempDir()
	program, perf, truth := filepath.Join(dir, g.name), filepath.Join(dir, "perf"), filepath.Join(dir, "truth")
	args := []string{g.level, "-g1", "-w", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-I" + filepath.Join(src, g.include), "-o", program}
	probes := strings.HasPrefix(g.compiler, "clang")
	if probes {
		args = append(args, "-fpseudo-probe-for-profiling", "-fdebug-info-for-profiling")
	}
	if g.driver != "" {
		args = append(args, filepath.Join("testdata", filepath.FromSlash(g.driver)))
	}
	for _, glob := range g.files {
		found, err := filepath.Glob(filepath.Join(src, glob))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files: %v", glob, err)
		}
		args = append(args, slices.DeleteFunc(found, func(f string) bool { return filepath.Base(f) == "luac.c" })...)
	}
	output(t, command(t, g.compiler, append(args, "-lm")...))
	record := []string{"record", "--lbr", "-o", perf, "--truth", truth, "--every", g.every, "--", program}
	output(t, command(t, cairn, append(record, g.args...)...))

	code, place := loadMissing(t, program, probes)
	return &tailtruth.Recording{
		Code: code, Place: place,
		Samples: func() (samples.Source, error) {
			f, err := os.Open(perf)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { f.Close() })
			return perfscript.Open(f, perf, 0)
		},
		Truth: func() (io.Reader, error) {
			f, err := os.Open(truth)
			if err == nil {
				t.Cleanup(func() { f.Close() })
			}
			return f, err
		},
	}
}

// loadMissing reads a program, and by what a profile tells its calls apart.
func loadMissing(t *testing.T, program string, probes bool) (*machinecode.Set, func(machinecode.Ref) uint64) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	code, err := machinecode.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	if probes {
		table, err := profgen.ReadProbes(code, []*objfile.Program{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return code, table.Place
	}
	var info profgen.DebugInfo
	if info.Lines, err = f.Lines(); err != nil {
		t.Fatal(err)
	}
	if info.Scopes, err = f.Scopes(); err != nil {
		t.Fatal(err)
	}
	return code, profgen.NewLines(code, []profgen.DebugInfo{info}).Place
}

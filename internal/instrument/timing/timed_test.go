package timing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// timedBuilds are compilers and options for programs in C. What cairn cc adds
// for gcc is at the end of its lines.
var timedBuilds = [][]string{
	{"gcc", "-O0", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O1", "-g", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O3", "-fPIC", "-fcf-protection", "-mavx2", "-dp", "-fno-ipa-ra"},
	{"gcc", "-Os", "-fno-plt", "-ffunction-sections", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-mharden-sls=all", "-fstack-protector-all", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-mstackrealign", "-fno-omit-frame-pointer", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-fpatchable-function-entry=4", "-fno-asynchronous-unwind-tables", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-mindirect-branch=thunk", "-mfunction-return=thunk", "-fcf-protection=none", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O2", "-pg", "-mfentry", "-fno-reorder-blocks", "-dp", "-fno-ipa-ra"},
	{"gcc", "-O3", "-fno-jump-tables", "-fno-optimize-sibling-calls", "-march=x86-64-v3", "-dp", "-fno-ipa-ra"},
	{"clang-22", "-O0", "-fno-integrated-as"},
	{"clang-22", "-O3", "-mretpoline", "-fno-integrated-as"},
	{"clang-22", "-O2", "-g", "-fno-integrated-as"},
	{"clang-22", "-Os", "-fPIC", "-fno-semantic-interposition", "-fcf-protection", "-fno-integrated-as"},
	{"clang-22", "-Oz", "-fno-integrated-as"},
}

// timedRewrite has the shadow stack's calls at entries, if it is to be linked
// with that runtime.
func timedRewrite(t testing.TB, src []byte, entered bool) ([]byte, probe.Result) {
	t.Helper()
	unit, err := isa.Parse(src, machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	out, result := Rewrite(unit, probe.Options{Mode: prof.ModeSpike, Entered: entered})
	if why := asmtest.Lost(src, out); why != "" {
		t.Fatal(why)
	}
	return out, result
}

// shadowReport is what testdata/shadow.c says at the end of a program.
type shadowReport struct {
	entries, exits, unwound, open, errors int
	pairs                                 [][2]uint64
}

// runShadow assembles text, links it with the runtime that keeps a stack of its
// own, and runs it. The first argument may be an object to link with it.
func runShadow(t *testing.T, dir, linker string, text []byte, args ...string) (string, shadowReport) {
	t.Helper()
	shadow, err := filepath.Abs("testdata/shadow.c")
	if err != nil {
		t.Fatal(err)
	}
	asmtest.Write(t, filepath.Join(dir, "b.s"), text)
	asmtest.Command(t, dir, "gcc", "-O1", "-mgeneral-regs-only", "-w", "-c", "-o", "shadow.o", shadow)
	objects := []string{"-no-pie", "-o", "b", "b.s", "shadow.o", "-lm"}
	if len(args) > 0 && strings.HasSuffix(args[0], ".o") {
		objects, args = append(objects, args[0]), args[1:]
	}
	asmtest.Command(t, dir, append([]string{linker}, objects...)...)
	cmd := exec.Command(filepath.Join(dir, "b"), args...)
	cmd.Env = append(os.Environ(), "SHADOW="+filepath.Join(dir, "shadow"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = fmt.Appendf(out, "%v", err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "shadow"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r shadowReport
	for i, line := range strings.Split(strings.TrimSpace(string(report)), "\n") {
		if i == 0 {
			fmt.Sscan(line, &r.entries, &r.exits, &r.unwound, &r.open, &r.errors)
			continue
		}
		a, b, _ := strings.Cut(line, " ")
		from, _ := strconv.ParseUint(a, 16, 64)
		to, _ := strconv.ParseUint(b, 16, 64)
		r.pairs = append(r.pairs, [2]uint64{from, to})
	}
	r.check(t, dir)
	return string(out), r
}

// check holds the report to what must be true of every program: each exit met
// the entry of its own call, and what met is in one function.
func (r *shadowReport) check(t *testing.T, dir string) {
	t.Helper()
	if r.errors > 0 {
		t.Errorf("%d exits without their entries", r.errors)
	}
	if r.entries != r.exits+r.unwound+r.open {
		t.Errorf("%d entries, %d exits, %d unwound, %d open", r.entries, r.exits, r.unwound, r.open)
	}
	type symbol struct {
		at, end uint64
		name    string
	}
	var symbols []symbol
	for line := range strings.Lines(string(asmtest.Command(t, dir, "nm", "-S", "b"))) {
		f := strings.Fields(line)
		if len(f) == 4 && strings.Contains("tTwW", f[2]) {
			at, _ := strconv.ParseUint(f[0], 16, 64)
			size, _ := strconv.ParseUint(f[1], 16, 64)
			symbols = append(symbols, symbol{at, at + size, f[3]})
		}
	}
	slices.SortFunc(symbols, func(a, b symbol) int { return cmp.Compare(a.at, b.at) })
	name := func(pc uint64) string {
		i, _ := slices.BinarySearchFunc(symbols, pc, func(s symbol, pc uint64) int { return cmp.Compare(s.at, pc) })
		if i == 0 || pc > symbols[i-1].end {
			return fmt.Sprintf("nothing at %#x", pc)
		}
		if m := asm.ColdName().FindStringSubmatch(symbols[i-1].name); m != nil {
			return m[1]
		}
		return symbols[i-1].name
	}
	for _, p := range r.pairs {
		if a, b := name(p[0]-1), name(p[1]-1); a != b {
			t.Errorf("an entry of %s met an exit of %s", a, b)
		}
	}
}

// TestTimedExits runs a program that leaves its functions in every way.
func TestTimedExits(t *testing.T) {
	t.Parallel()
	for _, build := range timedBuilds {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := asmtest.Compile(t, dir, "testdata/exits.c", append(slices.Clone(build), "-std=gnu11")...)
			asmtest.Command(t, dir, "gcc", "-no-pie", "-o", "a", "a.s", "-lm")
			want, err := exec.Command(filepath.Join(dir, "a")).CombinedOutput()
			if err != nil || !bytes.Contains(want, []byte("end\n")) {
				t.Fatalf("the program as it was: %v\n%s", err, want)
			}
			out, result := timedRewrite(t, src, true)
			for _, s := range result.Skipped {
				early := slices.Contains([]string{"construct_early", "resolver", "choose"}, s.Name)
				if early != (s.Reason == SkipResolver || s.Reason == SkipConstructor) {
					t.Errorf("%s: %s", s.Name, s.Reason)
				}
			}
			got, report := runShadow(t, dir, "gcc", out)
			if got != string(want) {
				t.Errorf("the output differs:\n%s\nwant\n%s", got, want)
			}
			// jump never comes back and leaves with catcher's second return.
			// At the end main and finish are open.
			if report.unwound != 1 || report.open != 2 || report.entries < 5000 {
				t.Errorf("%+v", report)
			}
		})
	}
}

// eachTimed runs a test with each of the builds as the timed modes have it compiled.
func eachTimed(t *testing.T, test func(t *testing.T, build []string)) {
	for _, build := range asmtest.Builds() {
		if build[0] == "g++" {
			build = append(slices.Clone(build), "-dp", "-fno-ipa-ra")
		}
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			test(t, build)
		})
	}
}

// TestTimedExceptions unwinds through timed functions.
func TestTimedExceptions(t *testing.T) {
	t.Parallel()
	eachTimed(t, timedExceptions)
}

func timedExceptions(t *testing.T, build []string) {
	dir := t.TempDir()
	src := asmtest.Compile(t, dir, "../split/testdata/exceptions.cc", build...)
	run := func(name string) string {
		out, err := exec.Command(filepath.Join(dir, name)).CombinedOutput()
		return fmt.Sprintf("%s%v", out, err)
	}
	asmtest.Command(t, dir, "g++", "-no-pie", "-o", "a", "a.s")
	want := run("a")
	out, result := timedRewrite(t, src, false)
	if len(result.Skipped) > 0 {
		t.Errorf("skipped %v", result.Skipped)
	}
	asmtest.Write(t, filepath.Join(dir, "c.s"), out)
	runtime, err := filepath.Abs("testdata/null.c")
	if err != nil {
		t.Fatal(err)
	}
	asmtest.Command(t, dir, "gcc", "-O1", "-c", "-o", "null.o", runtime)
	asmtest.Command(t, dir, "g++", "-pie", "-o", "c", "c.s", "null.o")
	if got := run("c"); got != want {
		t.Errorf("the output differs:\n%s\nwant\n%s", got, want)
	}
	out, _ = timedRewrite(t, src, true)
	got, report := runShadow(t, dir, "g++", out)
	if report.entries < 900 || report.unwound < 200 || report.open < 3 || report.open > 5 {
		t.Errorf("%d entries, %d unwound, %d open", report.entries, report.unwound, report.open)
	}
	if got != want {
		t.Errorf("the output differs:\n%s\nwant\n%s", got, want)
	}
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// TestTimedCost counts the instructions that a call costs more.
func TestTimedCost(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("needs valgrind")
	}
	program, err := filepath.Abs("testdata/exits.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := asmtest.Compile(t, dir, program, "gcc", "-O2", "-dp", "-fno-ipa-ra", "-std=gnu11")
	out, _ := timedRewrite(t, src, true)
	_, report := runShadow(t, dir, "gcc", out)
	instructions := func(text []byte) float64 {
		asmtest.Write(t, filepath.Join(dir, "c.s"), text)
		runtime, err := filepath.Abs("testdata/null.c")
		if err != nil {
			t.Fatal(err)
		}
		asmtest.Command(t, dir, "gcc", "-no-pie", "-O1", "-o", "c", "c.s", runtime, "-lm")
		said, err := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file="+filepath.Join(dir, "out"), filepath.Join(dir, "c")).CombinedOutput()
		m := collected.FindSubmatch(said)
		if err != nil || m == nil {
			t.Fatalf("%v\n%s", err, said)
		}
		n, _ := strconv.ParseFloat(string(m[1]), 64)
		return n
	}
	timed, _ := timedRewrite(t, src, false)
	cost := (instructions(timed) - instructions(src)) / float64(report.entries)
	t.Logf("%.2f instructions for each of %d calls", cost, report.entries)
	if cost < 9.5 || cost > 10.5 {
		t.Errorf("a call costs %.2f instructions, want 10", cost)
	}
}

// TestTimedSQLite holds every exit of SQLite to the entry of its call. Its
// source comes from the module cache.
func TestTimedSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("SQLite takes long to compile; make long runs it, and make test has it in the timed modes in proof/oracle")
	}
	t.Parallel()
	list := exec.Command("go", "mod", "download", "-json", "github.com/mattn/go-sqlite3@v1.14.52")
	list.Dir = t.TempDir()
	text, err := list.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(text, &module) != nil || module.Dir == "" {
		t.Skipf("SQLite is not to be had: %v", err)
	}
	oracle, err := filepath.Abs("../../../proof/oracle/testdata")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(oracle, "sqlite.want"))
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range [][]string{
		{"gcc", "-O1", "-dp", "-fno-ipa-ra"},
		{"clang-22", "-O1", "-fno-integrated-as"},
	} {
		t.Run(build[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			asmtest.Command(t, dir, append(slices.Clone(build), "-w", "-pipe", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION",
				"-S", "-o", "a.s", filepath.Join(module.Dir, "sqlite3-binding.c"))...)
			asmtest.Command(t, dir, "gcc", "-O2", "-w", "-I"+module.Dir, "-c", "-o", "driver.o", filepath.Join(oracle, "sqlite.c"))
			src, err := os.ReadFile(filepath.Join(dir, "a.s"))
			if err != nil {
				t.Fatal(err)
			}
			out, result := timedRewrite(t, src, true)
			if result.Functions < 1500 || len(result.Skipped) > 0 {
				t.Errorf("%d functions, left alone %v", result.Functions, result.Skipped)
			}
			got, report := runShadow(t, dir, "gcc", out, "driver.o", filepath.Join(dir, "test.db"), filepath.Join(oracle, "sqlite.sql"), "9")
			if got != string(want) {
				t.Errorf("it answers %.200q", got)
			}
			if report.entries < 1e6 || report.unwound != 0 || report.open != 0 {
				t.Errorf("%d entries, %d exits, %d unwound, %d open", report.entries, report.exits, report.unwound, report.open)
			}
			t.Logf("%d functions, %d exits in the text; %d entries", result.Functions, result.Exits, report.entries)
		})
	}
}

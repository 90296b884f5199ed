package nativert

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// hookRuntime compiles the runtime with hooks and the names that compilers call
// them by into an archive, with more flags if they are given.
func hookRuntime(t *testing.T, flags ...string) string {
	t.Helper()
	shared := timedRuntime(t, "gcc", flags...)
	data, err := os.ReadFile(shared)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "libtimed.a")
	if err := os.WriteFile(archive, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range append(HookObjects(), Object{"hook_names.o", []string{"hook_names.S"}}) {
		// The sources are beside the archive.
		if err := compileObject(dir, filepath.Dir(shared), "gcc", slices.Concat([]string{"-Os"}, TimedFlags(X86_64), flags), o); err != nil {
			t.Fatal(err)
		}
		runTool(t, dir, "ar", "rcs", archive, o.Name)
	}
	return archive
}

// hookProgram builds testdata/hook/storms.cc with hooks. It is linked without -pg,
// which would have it write a profile of nothing.
func hookProgram(t *testing.T, compiler, archive string, compile, link []string) string {
	t.Helper()
	dir := t.TempDir()
	program, object := filepath.Join(dir, "storms"), filepath.Join(dir, "storms.o")
	args := append([]string{"-O2", "-g", "-mavx2", "-w", "-c", "-o", object, filepath.Join("testdata", "hook", "storms.cc")}, compile...)
	runTool(t, ".", compiler, args...)
	args = append([]string{"-pthread", "-o", program, object, archive, "-Wl,-u,__cairn_preinit", "-Wl,--eh-frame-hdr"}, link...)
	runTool(t, ".", compiler, args...)
	return program
}

// stormOf returns the arguments for so many rounds, a multiple of 1000, of all storms
// but those left out, and what the program answers.
func stormOf(rounds int, without ...string) (args []string, answer string) {
	for _, x := range []struct {
		name          string
		rounds, total int
	}{
		{"exceptions", rounds, rounds * 3 / 2},
		{"jumps", rounds, rounds / 100 * 5050},
		{"values", rounds, rounds*(rounds-1)/2 + 2*rounds},
		{"traces", rounds, rounds},
		{"raised", rounds, 2 * rounds},
		{"coroutines", rounds, 5*rounds - 10},
		{"threads", 300, 500},
		{"planted", 3, 3},
	} {
		if !slices.Contains(without, x.name) {
			args = append(args, x.name, strconv.Itoa(x.rounds))
			answer += fmt.Sprintf("%s %d\n", x.name, x.total)
		}
	}
	return args, answer + "ok\n"
}

// TestHookStorms swaps return addresses below exceptions, longjmp, backtraces,
// threads that end, coroutines and signals.
func TestHookStorms(t *testing.T) {
	t.Parallel()
	archive := hookRuntime(t)
	type row struct {
		name, compiler string
		compile, link  []string
	}
	all := 100_000
	if testing.Short() {
		all = 20_000
	}
	for _, c := range shorttest.Rows(
		2,
		row{"static", "g++", []string{"-pg", "-mfentry"}, []string{"-static"}},
		row{"clang", "clang++-22", []string{"-pg", "-mfentry"}, nil},
		row{"dynamic", "g++", []string{"-pg", "-mfentry"}, nil},
		row{"framed", "g++", []string{"-pg"}, nil},
	) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skip(err)
			}
			program := hookProgram(t, c.compiler, archive, c.compile, c.link)
			// So low a threshold that many calls are judged, and their stacks walked.
			rounds, answer := stormOf(all)
			out, logs := runTimed(t, "threshold=200us,rate=1000000", append([]string{program}, rounds...)...)
			if out != answer {
				t.Errorf("the program says\n%s", out)
			}
			if l := one(t, logs); len(l.episodes) == 0 {
				t.Errorf("no episode; %+v", l.trailer)
			}
			testHooked(t, program)
		})
	}
}

// testHooked wants calls of 12 ms found, each with all of its callers' times, also
// where a hooked function ended by a jump to another.
func testHooked(t *testing.T, argv ...string) {
	t.Helper()
	_, logs := runTimed(t, "threshold=6ms,rate=1000000", append(argv, "planted", "10")...)
	l := one(t, logs)
	testIntervals(t, l)
	deep := 0
	for _, e := range l.episodes {
		timed := 0
		for _, x := range e.stack {
			if x.flags&wire.EntryNoStamp == 0 {
				timed++
			}
		}
		if timed >= 3 { // the peak, its caller, main
			deep++
		}
	}
	if want := 30; deep < want && l.trailer.blind < 4_000_000 {
		t.Errorf("%d episodes with the times of their callers, of %d, want %d; %+v", deep, len(l.episodes), want, l.trailer)
	}
}

// TestHookRefused runs a program whose return addresses cannot be swapped: it says
// so, and goes on.
func TestHookRefused(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ name, flag, spike, why string }{
		{"shadow stack", "-DCAIRN_TEST_SHADOW_STACK", "threshold=6ms", "shadow stack (CET)"},
		{"masked", "-DX", "threshold=6ms,stamp=masked", "window of stamps cannot be reserved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := hookProgram(t, "g++", hookRuntime(t, c.flag), []string{"-pg", "-mfentry"}, nil)
			rounds, answer := stormOf(1000)
			cmd := exec.CommandContext(t.Context(), program, rounds...)
			cmd.Env = append(cmd.Environ(), "CAIRN_SPIKE="+c.spike, "CAIRN_DIR="+t.TempDir())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || string(out) != answer || !strings.Contains(stderr.String(), c.why) {
				t.Errorf("%v\n%s%s", err, out, stderr.String())
			}
		})
	}
}

// hookLibrary builds the library that is preloaded.
func hookLibrary(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := []string{"-o", "libcairn-spike.so"}
	for _, o := range LibraryObjects() {
		if err := compileObject(dir, dir, "gcc", append([]string{"-Os"}, TimedFlags(X86_64)...), o); err != nil {
			t.Fatal(err)
		}
		link = append(link, o.Name)
	}
	runTool(t, dir, "gcc", append(link, LibraryLinkFlags...)...)
	return filepath.Join(dir, "libcairn-spike.so")
}

// TestHookLibrary preloads the hooks into programs that compilers made ready for
// them, each in its own way.
func TestHookLibrary(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	library := hookLibrary(t)
	type row struct {
		name, compiler string
		flags          []string
		summary        string
	}
	for _, c := range shorttest.Rows(
		4,
		row{"mcount, clang", "clang++-22", []string{"-pg"}, ""},
		row{"functions", "g++", []string{"-finstrument-functions"}, ""},
		row{"entries, landing pads", "g++", []string{"-fpatchable-function-entry=16,8", "-fcf-protection=full"}, "entries N in the program"},
		row{"entries, short", "g++", []string{"-fpatchable-function-entry=6,2"}, "entries 0 short=N in the program"},
		row{"fentry", "g++", []string{"-pg", "-mfentry"}, ""},
		row{"functions, clang", "clang++-22", []string{"-finstrument-functions"}, ""},
		row{"entries", "g++", []string{"-fpatchable-function-entry=5"}, "entries N in the program"},
		row{"entries, clang", "clang++-22", []string{"-fpatchable-function-entry=8,2", "-fno-pie", "-no-pie"}, "entries N in the program"},
	) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			program, object, summary := filepath.Join(dir, "storms"), filepath.Join(dir, "storms.o"), filepath.Join(dir, "summary")
			runTool(t, ".", c.compiler, append([]string{"-O2", "-g", "-mavx2", "-w", "-c", "-o", object, filepath.Join("testdata", "hook", "storms.cc")}, c.flags...)...)
			runTool(t, ".", c.compiler, append(c.flags[1:], "-pthread", "-o", program, object)...)
			if err := os.WriteFile(summary, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			argv := []string{"env", "LD_PRELOAD=" + library, "CAIRN_HOOK_SUMMARY=" + summary, program}
			// What gcc -finstrument-functions makes does not survive being cancelled at
			// any instruction, hooks or not.
			var without []string
			if c.flags[0] == "-finstrument-functions" {
				without = []string{"threads"}
			}
			rounds, answer := stormOf(20_000, without...)
			out, logs := runTimed(t, "threshold=200us,rate=1000000", append(argv, rounds...)...)
			if out != answer {
				t.Errorf("the program says\n%s", out)
			}
			l := one(t, logs)
			testIntervals(t, l)
			said, _ := os.ReadFile(summary)
			said = regexp.MustCompile(`[1-9]\d*`).ReplaceAll(said, []byte("N"))
			if text := strings.TrimPrefix(strings.TrimSpace(string(said)), "N "); text != c.summary {
				t.Errorf("the library says %q, want %q", text, c.summary)
			}
			if strings.Contains(c.summary, "short") {
				if len(l.episodes) > 0 {
					t.Errorf("%d episodes without hooks", len(l.episodes))
				}
				return
			}
			testHooked(t, argv...)
		})
	}
}

// testIntervals wants no call to have taken longer than its callers have.
func testIntervals(t *testing.T, l *spikeLog) {
	t.Helper()
	for _, e := range l.episodes {
		if e.lo < e.t || e.hi < e.lo || e.end-e.lo < l.started {
			t.Errorf("episode %+v", e)
		}
		for i, x := range e.stack {
			if x.flags&wire.EntryNoStamp == 0 && x.hi < e.lo {
				t.Errorf("episode %d took %d, entry %d has %d..%d so far", e.number, e.lo, i, x.lo, x.hi)
			}
		}
	}
}

//go:build linux && amd64

package oracle

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	calls "github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// recordAll keeps all calls in the recorder: there is no spike, and much room.
const recordAll = "threshold=1000s,flight=64MB"

// flightLogs runs a program of mode spike with a flight recorder, which may be
// killed, and returns what it says and its logs.
func flightLogs(t *testing.T, settings, program string, args ...string) (string, []string) {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "CAIRN_SPIKE="+settings)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("%s: %v\n%s", cmd, err, errs.String())
	}
	return out.String(), mustGlob(t, filepath.Join(dir, "*.cairnlog"))
}

// openFlight opens the window of a spike, or of all.
func openFlight(t *testing.T, file string, spike uint64) *tracelog.Windows {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracelog.OpenWindows(bytes.NewReader(data), int64(len(data)), file, nil, spike)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range w.Info().Damage {
		t.Error(d)
	}
	return w
}

// recorded counts the calls of each function of the program, by its address in
// units of 4 bytes.
func recorded(t *testing.T, w *tracelog.Windows, counts map[uint64]uint64) {
	t.Helper()
	for i := range w.Threads() {
		for e, err := range calls.Events(w, i) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind.IsEnter() {
				counts[uint64(e.Func)]++
			}
		}
	}
}

// byAddress gives counts the addresses of functions, which need not be multiples
// of 4 here.
func byAddress(t *testing.T, program string, counts map[uint64]uint64) map[uint64]uint64 {
	t.Helper()
	out := make(map[uint64]uint64)
	for addr := range symbolsOf(t, program) {
		if n := counts[addr>>2]; n > 0 {
			out[addr] = n
		}
	}
	return out
}

// TestFlightTold compares the calls in recorders with what the program says of itself, also
// when it was killed.
func TestFlightTold(t *testing.T) {
	t.Parallel()
	for _, options := range shorttest.Rows(
		1,
		[]string{"gcc", "-O2", "-fPIC", "-fno-plt", "-fuse-ld=gold"}, []string{"gcc", "-O0"}, []string{"gcc", "-Os", "-static", "-fcf-protection"},
	) {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			t.Parallel()
			program := build(t, "spike --small 0 --flight", options[0], append(options[1:], filepath.Join("testdata", "calls.c"), "-lpthread")...)
			for _, run := range []struct {
				args  string
				slack float64
			}{
				{"threads 64", 0},
				{"kill 30000", 0},
				{"long 1", 0},
				// A handler that comes while a place is being taken loses its calls; it is
				// called a few dozen times.
				{"signals 300000", 0.5},
			} {
				t.Run(run.args, func(t *testing.T) {
					said, logs := flightLogs(t, recordAll, program, strings.Fields(run.args)...)
					if len(logs) != 1 {
						t.Fatalf("%d logs", len(logs))
					}
					counts := make(map[uint64]uint64)
					recorded(t, openFlight(t, logs[0], 0), counts)
					checkTold(t, program, said, byAddress(t, program, counts), run.slack)
				})
			}
			// What children do is not in their parent's recorder.
			_, logs := flightLogs(t, recordAll, program, "forks", "40")
			for _, file := range logs {
				counts := make(map[uint64]uint64)
				recorded(t, openFlight(t, file, 0), counts)
				names := symbolsOf(t, program)
				for addr, n := range byAddress(t, program, counts) {
					if name := names[addr]; len(logs) == 1 && name != "main" && name != "rounds" && name != "told" {
						t.Errorf("%d calls of %s", n, name)
					}
				}
			}
		})
	}
}

// TestFlightStorm compares the stacks of a program that throws, jumps and recurses in 65
// threads with what it counted itself.
func TestFlightStorm(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(1, "g++ -O2 -fPIC -fcf-protection", "clang++-22 -O2") {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(line)
			program := build(t, "spike --small 0 --flight --only ^w_", words[0], append(words[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			said, logs := flightLogs(t, recordAll, program, "64", "200")
			if len(logs) == 0 {
				t.Fatal("no log")
			}
			got := parseFolded(t, output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--mangled", "--spike", "0", logs[0])))
			sameStacks(t, line, got, parseFolded(t, said))
		})
	}
}

// TestFlightTrace compares the stacks of a recorder with those of mode trace, which has the
// exits. What qsort calls is left out: it has no probes, and calls at any depth, so that a
// comparison looks like a callee of the one before.
func TestFlightTrace(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "stacks.c")
	writeTestFile(t, source, strings.Replace(stacksProgram, "qsort(v, 500, sizeof v[0], order);", "", 1))
	for _, line := range shorttest.Rows(1, "clang-22 -O2", "gcc -O0", "gcc -O2") {
		words := strings.Fields(line)
		_, want := callLogs(t, "file", build(t, "trace", words[0], append(words[1:], source)...))
		_, logs := flightLogs(t, recordAll, build(t, "spike --small 0 --flight", words[0], append(words[1:], source)...))
		if len(logs) != 1 {
			t.Fatalf("%d logs", len(logs))
		}
		foldedOf := func(args ...string) string {
			return output(t, command(t, cairn, append([]string{"convert", "--format", "folded", "--by", "calls"}, args...)...))
		}
		theirs, ours := foldedOf(want[0].Info().File), foldedOf("--spike", "0", logs[0])
		if ours != theirs || strings.Count(ours, "\n") < 20 {
			t.Errorf("%s: stacks are not those of mode trace:\n%s\nmode trace:\n%s", line, ours, theirs)
		}
	}
}

package nativert

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// hookRuntime compiles the runtime with hooks and the names that compilers call
// them by into an archive, with more flags if they are given.
func hookRuntime(t *testing.T, flags ...string) string {
	t.Helper()
	archive := timedRuntime(t, "gcc", flags...)
	for _, o := range append(HookObjects(), Object{"hook_names.o", []string{"hook_names.S"}}) {
		args := append([]string{"-Os"}, TimedFlags...)
		args = append(append(append(args, flags...), "-c", "-o", o.Name), o.Args...)
		runTool(t, filepath.Dir(archive), "gcc", args...)
		runTool(t, filepath.Dir(archive), "ar", "rcs", archive, o.Name)
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

var (
	stormRounds = strings.Fields("exceptions 100000 jumps 100000 values 100000 traces 100000 raised 100000 coroutines 100000 threads 600 planted 3")
	stormAnswer = "exceptions 150000\njumps 5050000\nvalues 5000150000\ntraces 100000\nraised 200000\ncoroutines 499990\nthreads 1000\nplanted 3\nok\n"
)

// TestHookStorms swaps return addresses below exceptions, longjmp, backtraces,
// threads that end, coroutines and signals.
func TestHookStorms(t *testing.T) {
	t.Parallel()
	archive := hookRuntime(t)
	for _, c := range []struct {
		name, compiler string
		compile, link  []string
	}{
		{"dynamic", "g++", []string{"-pg", "-mfentry"}, nil},
		{"static", "g++", []string{"-pg", "-mfentry"}, []string{"-static"}},
		{"clang", "clang++-22", []string{"-pg", "-mfentry"}, nil},
		{"framed", "g++", []string{"-pg"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skip(err)
			}
			program := hookProgram(t, c.compiler, archive, c.compile, c.link)
			// So low a threshold that many calls are judged, and their stacks walked.
			out, logs := runTimed(t, "threshold=200us,rate=1000000", append([]string{program}, stormRounds...)...)
			if out != stormAnswer {
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
func testHooked(t *testing.T, program string) {
	_, logs := runTimed(t, "threshold=6ms,rate=1000000", program, "planted", "10")
	l := one(t, logs)
	deep := 0
	for _, e := range l.episodes {
		if e.lo < e.t || e.hi < e.lo {
			t.Errorf("episode %+v", e)
		}
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
			cmd := exec.CommandContext(t.Context(), program, stormRounds...)
			cmd.Env = append(cmd.Environ(), "CAIRN_SPIKE="+c.spike, "CAIRN_DIR="+t.TempDir())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || string(out) != stormAnswer || !strings.Contains(stderr.String(), c.why) {
				t.Errorf("%v\n%s%s", err, out, stderr.String())
			}
		})
	}
}

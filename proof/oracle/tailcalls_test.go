//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// A stackedCall is the functions on the stack when a call began, outermost first.
type stackedCall []string

// stackedCalls returns the calls of a log in their order, as a verb shows them.
func stackedCalls(t *testing.T, args ...string) (calls []stackedCall) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "calls.json")
	output(t, command(t, cairn, append([]string{"convert", "--format", "chrome", "-o", out}, args...)...))
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct{ Ph, Name string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var stack stackedCall
	for _, e := range doc.TraceEvents {
		switch e.Ph {
		case "B":
			stack = append(stack, e.Name)
			calls = append(calls, slices.Clone(stack))
		case "E":
			stack = stack[:len(stack)-1]
		}
	}
	return calls
}

// missesOnly reports whether a stack is the true one, but for functions that it lacks.
func (c stackedCall) missesOnly(truth stackedCall) bool {
	at := 0
	for _, name := range truth {
		if at < len(c) && c[at] == name {
			at++
		}
	}
	return at == len(c)
}

// judgeTails compares the calls of a program with those of its twin, which makes the same ones
// without jumps. It returns the functions whose calls all have the true stack, or not, and the
// share of the calls that have.
func judgeTails(t *testing.T, calls, truth []stackedCall) (whole map[string]bool, share float64) {
	t.Helper()
	if len(calls) != len(truth) {
		t.Fatalf("%d calls, and %d of the twin", len(calls), len(truth))
	}
	whole = make(map[string]bool)
	right, wrong := 0, 0
	for i, c := range calls {
		name := c[len(c)-1]
		if want := truth[i][len(truth[i])-1]; name != want {
			t.Fatalf("call %d is of %s, and of %s in the twin", i, name, want)
		}
		if _, known := whole[name]; !known {
			whole[name] = true
		}
		switch {
		case slices.Equal(c, truth[i]):
			right++
			continue
		case !c.missesOnly(truth[i]):
			if wrong++; wrong < 5 {
				t.Errorf("call %d stands on\n%s, in truth on\n%s", i, strings.Join(c, " "), strings.Join(truth[i], " "))
			}
		}
		whole[name] = false
	}
	return whole, float64(right) / float64(len(calls))
}

// tracers are ways to have a log: how to compile and to run for it.
var tracers = map[string]struct {
	compile func(language string) []string
	env     func(dir string) []string
}{
	"basic": {xrayTail, func(dir string) []string {
		return []string{
			"XRAY_OPTIONS=patch_premain=true xray_mode=xray-basic xray_logfile_base=" + dir + "/log.",
			"XRAY_BASIC_OPTIONS=func_duration_threshold_us=0 max_stack_depth=1000",
		}
	}},
	"FDR": {
		func(language string) []string { return append(xrayTail(language), filepath.Join(xrayDir, "fdr.o")) },
		func(dir string) []string {
			return []string{"XRAY_FDR=func_duration_threshold_us=0 buffer_size=1048576 buffer_max=4", "XRAY_OPTIONS=xray_logfile_base=" + dir + "/log."}
		},
	},
	"trace-gcc":   {cairnTail("gcc"), traceTail},
	"trace-clang": {cairnTail(xrayC), traceTail},
}

func xrayTail(language string) []string {
	return []string{xrayC, "-x", language, "-fxray-instrument", "-fxray-instruction-threshold=1"}
}

func cairnTail(compiler string) func(string) []string {
	return func(language string) []string {
		return []string{cairn, "cc", "--mode", "trace", compiler, "-x", language}
	}
}

func traceTail(dir string) []string { return []string{"CAIRN_DIR=" + dir, "CAIRN_TRACE=file"} }

// openTails are the functions of jumps.c of which calls lack a caller: those that are
// jumped to by an address that is computed, the two that jump round and round, and one
// that may be called as well.
var openTails = []string{"pointed", "leaf", "even", "odd", "inner"}

// TestTailCallsOfLogs checks that stacks of logs with recorded tail calls are those of the same
// program without tail calls. Where a chain is uncertain, functions are missing, but none is
// wrong.
func TestTailCallsOfLogs(t *testing.T) {
	t.Parallel()
	mustHave(t, xrayC)
	for name, tracer := range tracers {
		for _, language := range shorttest.Rows(1, "c++", "c") {
			t.Run(name+"-"+strings.ReplaceAll(language, "+", "p"), func(t *testing.T) {
				t.Parallel()
				if name == "basic" {
					needsRDTSCP(t)
				}
				dir := t.TempDir()
				compile := tracer.compile(language)
				var extra []string
				if last := compile[len(compile)-1]; filepath.Ext(last) == ".o" {
					extra = []string{"-x", "none", filepath.Join(dir, "fdr.o")}
					compile = compile[:len(compile)-1]
					output(t, command(t, xrayC, "-c", "-o", extra[2], filepath.Join(xrayDir, "fdr.c")))
				}
				logs := make([]string, 2)
				programs := []string{filepath.Join(dir, "jumps"), filepath.Join(dir, "twin")}
				for i, flag := range []string{"-foptimize-sibling-calls", "-fno-optimize-sibling-calls"} {
					argv := append(slices.Clone(compile), "-O2", flag, "-o", programs[i], filepath.Join(xrayDir, "jumps.c"))
					argv = append(argv, extra...)
					if language == "c++" {
						argv = append(argv, "-x", "none", "-lstdc++")
					}
					output(t, command(t, argv[0], argv[1:]...))
					logs[i] = tailLog(t, programs[i], tracer.env, "50")
				}
				shown := func(i int, args ...string) []stackedCall {
					args = append(args, logs[i])
					if !strings.HasPrefix(name, "trace") {
						args = append(args, "--map", programs[i])
					}
					return stackedCalls(t, args...)
				}
				truth := shown(1)
				_, before := judgeTails(t, shown(0), truth)
				whole, share := judgeTails(t, shown(0, "--tail-calls=logical"), truth)
				t.Logf("%.1f %% of the stacks are whole, %.1f %% as recorded", 100*share, 100*before)
				for fn, right := range whole {
					fn, _, _ = strings.Cut(fn, "(")
					if _, virtual, _ := strings.Cut(fn, "::"); virtual != "" {
						continue
					}
					if open := slices.Contains(openTails, fn); right == open {
						t.Errorf("%s: stacks are whole: %v", fn, right)
					}
				}
				if share < before+0.3 {
					t.Errorf("%.1f %% of the stacks are whole, %.1f %% as recorded", 100*share, 100*before)
				}
			})
		}
	}
}

// tailLog runs a program and returns the log that it leaves.
func tailLog(t *testing.T, program string, env func(dir string) []string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Args[0] = "program" // an interpreter looks at its name
	cmd.Env = append(cmd.Env, env(dir)...)
	output(t, cmd)
	logs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%s left the logs %q: %v", program, logs, err)
	}
	return logs[0]
}

// TestTailCallsOfLua is the same with an interpreter that makes many tail calls.
func TestTailCallsOfLua(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, xrayC)
	needsRDTSCP(t)
	i := slices.IndexFunc(tailguests.All, func(g *tailguests.Guest) bool { return g.Name == "Lua" })
	g := tailguests.All[i].With(xrayC, "-O1")
	root, dir, sources := fetchGuest(t, g)
	var calls [2][]stackedCall
	for i, flag := range []string{"-foptimize-sibling-calls", "-fno-optimize-sibling-calls"} {
		program := filepath.Join(dir, []string{"one", "two"}[i])
		compile, err := g.Command(root, sources, program)
		if err != nil {
			t.Fatal(err)
		}
		// Where things are in memory is not to matter.
		compile = append(compile, flag, "-fxray-instrument", "-fxray-instruction-threshold=1", "-no-pie", "-fno-pie",
			"-Dluai_makeseed(L)=1", "-DSTRCACHE_N=1", "-DSTRCACHE_M=1")
		output(t, command(t, compile[0], compile[1:]...))
		log := tailLog(t, program, tracers["basic"].env, g.Args(root, 1)...)
		args := []string{log, "--map", program}
		if i == 0 {
			args = append(args, "--tail-calls=logical")
		}
		calls[i] = stackedCalls(t, args...)
	}
	_, share := judgeTails(t, calls[0], calls[1])
	t.Logf("%.2f %% of the stacks of %d calls are whole", 100*share, len(calls[0]))
	if share < 0.995 {
		t.Errorf("only %.2f %% of the stacks are whole", 100*share)
	}
}

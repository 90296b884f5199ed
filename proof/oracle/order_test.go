//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// TestSQLiteOrder compares the order buffer with the tracer, one function after
// the other, and after a kill with an orderly exit.
func TestSQLiteOrder(t *testing.T) {
	t.Parallel()
	type row struct{ mode, compiler, flags string }
	for _, test := range shorttest.Rows(
		1,
		row{"order", "gcc", "-O2"},
		row{"order --order-slots 4096", "gcc", "-O1 -ffunction-sections"},
		row{"block+order", "clang-22", "-O1 -ffunction-sections"},
	) {
		t.Run(test.mode+" "+test.compiler, func(t *testing.T) {
			t.Parallel()
			program := buildSQLite(t, test.mode, test.compiler, strings.Fields(test.flags)...)
			answer, seen, m := trace(t, program, sqliteArgs(t, allPhases)...)
			checkAnswer(t, answer, sqliteAnswer(t))
			checkOrder(t, m, seen)
			checkTrace(t, m, seen)
			killedOrder(t, program)
		})
	}
}

// TestSQLiteOrderCut has a buffer that is too small, and checks that it holds the last first
// executions that the tracer saw.
func TestSQLiteOrderCut(t *testing.T) {
	skipLong(t)
	t.Parallel()
	const slots = 256
	program := buildSQLite(t, "order --order-slots 200", "gcc", "-O2")
	_, seen, m := trace(t, program, sqliteArgs(t, allPhases)...)
	if len(m.Traces) != 1 || !m.Traces[0].Cut || len(seen) <= slots {
		t.Fatalf("%d functions in %d slots: traces %+v", len(seen), slots, m.Traces)
	}
	m.Traces[0].Cut = false
	checkTrace(t, m, seen[len(seen)-slots:])
}

// checkTrace compares the one trace of a profile with what a tracer saw.
func checkTrace(t *testing.T, m *prof.Module, seen []firstCall) {
	t.Helper()
	if len(m.Traces) != 1 || m.Traces[0].Cut {
		t.Fatalf("traces %+v, want one of the whole run", m.Traces)
	}
	var want []string
	name := map[uint64]string{}
	for i := range m.Funcs {
		name[m.Funcs[i].Addr()] = m.Funcs[i].Name
	}
	for _, call := range seen {
		want = append(want, name[call.Entry])
	}
	c := tally{t: t}
	got := traceNames(m)
	for i := range max(len(got), len(want)) {
		c.check(i < len(got) && i < len(want) && got[i] == want[i], "first execution %d differs: the trace has %.1q, the tracer %.1q",
			i+1, got[min(i, len(got)):], want[min(i, len(want)):])
	}
	c.done("first executions in sequence")
}

// traceNames returns the functions of the first trace.
func traceNames(m *prof.Module) []string {
	var names []string
	for _, f := range m.Traces[0].Funcs {
		names = append(names, m.Funcs[f].Name)
	}
	return names
}

// killedOrder kills SQLite while the order buffer is a file: what is in it is
// what an orderly exit begins with.
func killedOrder(t *testing.T, program string) {
	t.Helper()
	names := map[string][]string{}
	for end, continuous := range map[string]string{"kill": "1", "exit": "0"} {
		raws := t.TempDir()
		cmd, stdin := startPhases(t, program, "3", "CAIRN_DIR="+raws, "CAIRN_CONTINUOUS="+continuous)
		if end == "kill" {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		stdin.Close()
		if err := cmd.Wait(); (err == nil) != (end == "exit") {
			t.Fatalf("%s: SQLite ended with %v", end, err)
		}
		names[end] = traceNames(profile(t, program, raws))
	}
	kill, exit := names["kill"], names["exit"]
	if last := slices.Index(exit, "wait_for_end"); last < 100 || len(kill) <= last || len(kill) > len(exit) {
		t.Fatalf("killed after %d first executions, exit has %d and waits at number %d", len(kill), len(exit), last+1)
	}
	if !slices.Equal(kill, exit[:len(kill)]) {
		t.Errorf("killed, %d first executions; they differ from those of an exit", len(kill))
	}
}

// TestThreadsOrder checks that every function has one slot, whichever thread is first.
func TestThreadsOrder(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "crowd.c")
	for _, compiler := range []string{"gcc", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			program := build(t, "order", compiler, "-O2", "-pthread", "-w", source)
			functions := len(emptyProfile(t, program).Funcs)
			for range 40 {
				raws := t.TempDir()
				cmd := command(t, program)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				output(t, cmd)
				r := onlyRaw(t, raws)
				seen := map[uint32]bool{}
				for _, off := range r.Order {
					seen[off] = true
				}
				if int(r.Next) != functions || len(r.Order) != functions || len(seen) != functions || r.Cut() {
					t.Fatalf("%d functions: %d slots taken, %d filled, with %d functions", functions, r.Next, len(r.Order), len(seen))
				}
			}
		})
	}
}

// onlyRaw reads the one raw file in a directory.
func onlyRaw(t *testing.T, raws string) mip.Raw {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(raws, "*.mipraw"))
	if err != nil || len(files) != 1 {
		t.Fatalf("raw files %q, %v: want one", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := mip.ParseRaw(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

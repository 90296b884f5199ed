//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/prof"
)

// checkTimes compares how often each block ran with the executions of its first instruction. Of blocks without code
// there is none. It returns how many blocks there are, and how many of them have a counter.
func checkTimes(t testing.TB, m *prof.Module, ran execution) (blocks, probes int) {
	t.Helper()
	c := tally{t: t}
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		c.check(!got.Inexact, "%s: the counts are inexact", f.Name)
		blocks, probes = blocks+f.NumBlocks(), probes+f.NumProbes()
		n := 0
		for _, fr := range f.Fragments {
			for k, off := range fr.Blocks {
				n++
				if off == fr.Size || k+1 < len(fr.Blocks) && fr.Blocks[k+1] == off {
					continue
				}
				want := ran.instr[fr.Addr+uint64(off)]
				c.check(got.Times[n-1] == want, "%s: block %d at +%#x: %d times, in truth %d", f.Name, n, off, got.Times[n-1], want)
				c.check((got.Blocks[n-1] > 0) == (want > 0), "%s: block %d at +%#x: in %d runs, in truth %d executions", f.Name, n, off, got.Blocks[n-1], want)
			}
		}
	}
	c.done("executions of blocks")
	return blocks, probes
}

// checkConserved checks that what leaves each block is what entered it.
func checkConserved(t testing.TB, m *prof.Module) {
	t.Helper()
	c := tally{t: t}
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		times := f.Executions(got)
		out := make([]uint64, len(times))
		for _, e := range edges.Of(f, times) {
			out[e.From] += e.Times
		}
		for b := range out {
			c.check(out[b] == times[b], "%s: block %d ran %d times and was left %d times", f.Name, b, times[b], out[b])
		}
	}
	c.done("edges")
}

// TestEdges compares the executions of blocks with callgrind's, in programs with exceptions, longjmp, jump tables, and
// flags that are live between blocks.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"shapes.cc", "tree.cc", "flow.c", "switches.c"} {
		for _, compiler := range []string{"gcc", "clang-22"} {
			for _, level := range []string{"-O0", "-O2", "-O3 -fno-exceptions", "-Os"} {
				if strings.Contains(level, "exceptions") && !strings.HasSuffix(source, ".c") {
					level = "-O3"
				}
				cc := compiler
				if strings.HasSuffix(source, ".cc") {
					cc = map[string]string{"gcc": "g++", "clang-22": "clang++-22"}[compiler]
				}
				t.Run(source+" "+compiler+" "+level, func(t *testing.T) {
					t.Parallel()
					program := build(t, "edge", cc, append(strings.Fields(level), "-w", filepath.Join("testdata", source), "-lm")...)
					_, ran, m := callgrindWith(t, "--skip-plt=no", program, "0", "7")
					checkCalls(t, m, ran)
					blocks, probes := checkTimes(t, m, ran)
					checkConserved(t, m)
					t.Logf("%d of %d blocks have a counter", probes, blocks)
				})
			}
		}
	}
}

// TestSQLiteEdges does so on a program of 2000 functions.
func TestSQLiteEdges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ compiler, flags string }{{"gcc", "-O2"}, {"clang-22", "-O1 -no-pie"}} {
		t.Run(test.compiler, func(t *testing.T) {
			if test.compiler != "gcc" {
				skipLong(t)
			}
			t.Parallel()
			program := buildSQLite(t, "edge", test.compiler, strings.Fields(test.flags)...)
			answer, ran, m := callgrindWith(t, "--skip-plt=no", program, sqliteArgs(t, allPhases)...)
			checkAnswer(t, answer, sqliteAnswer(t))
			checkCalls(t, m, ran)
			blocks, probes := checkTimes(t, m, ran)
			checkConserved(t, m)
			t.Logf("%d of %d blocks have a counter", probes, blocks)
		})
	}
}

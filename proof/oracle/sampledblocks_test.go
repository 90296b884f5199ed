//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// buildMapped builds a program without probes that has the map of its blocks beside it.
func buildMapped(t *testing.T, compiler string, args ...string) string {
	t.Helper()
	mustHave(t, compiler)
	program := filepath.Join(t.TempDir(), "program")
	argv := append([]string{"build", "--map", "--", compiler}, args...)
	output(t, command(t, cairn, append(argv, "-Wl,--build-id", "-o", program)...))
	return program
}

// estimated returns the profile that profgen makes of samples of a run.
func estimated(t *testing.T, every, program string, args ...string) *prof.Module {
	t.Helper()
	file := filepath.Join(t.TempDir(), "estimated.mip")
	output(t, command(t, cairn, "profgen", program, sample(t, every, program, args...).samples, "--format", "mip", "-o", file))
	return readProfile(t, file)
}

// overlap returns the share of executions of blocks that estimates and callgrind agree on: of both, the smaller share of
// each block in all executions, added up. That is how LLVM compares profiles of blocks.
func overlap(m *prof.Module, ran execution) float64 {
	var truth, estimates []float64
	for i := range m.Funcs {
		f := &m.Funcs[i]
		times := f.Executions(&m.Counts[i])
		for b := range coverage.Blocks(f) {
			if b.Lo < b.Hi {
				truth = append(truth, float64(ran.instr[b.Lo]))
				estimates = append(estimates, float64(times[b.Index]))
			}
		}
	}
	sum := func(all []float64) (n float64) {
		for _, x := range all {
			n += x
		}
		return n
	}
	a, b, both := sum(truth), sum(estimates), 0.0
	for i := range truth {
		both += min(truth[i]/a, estimates[i]/b)
	}
	return both
}

// TestSampledBlocks compares the executions of blocks that are estimated from samples of a program without probes with
// callgrind's of the same program.
func TestSampledBlocks(t *testing.T) {
	t.Parallel()
	lua := func(t *testing.T) (compiler string, args []string) {
		i := slices.IndexFunc(tailguests.All, func(g *tailguests.Guest) bool { return g.Name == "Lua" })
		g := tailguests.All[i].With("gcc", "-O2")
		root, dir, sources := fetchGuest(t, g)
		compile, err := g.Command(root, sources, filepath.Join(dir, "lua"))
		if err != nil {
			t.Fatal(err)
		}
		return compile[0], compile[1:]
	}
	for _, test := range []struct {
		name, every string
		long        bool
		least       float64
		build       func(t *testing.T) (compiler string, args []string)
		run         func(t *testing.T) []string
	}{
		{"tree", "97", false, 0.9, func(*testing.T) (string, []string) {
			return "g++", []string{"-O2", "-w", "testdata/tree.cc", "-lm"}
		}, func(*testing.T) []string { return []string{"0", "7"} }},
		{"SQLite", "397", true, 0.9, func(t *testing.T) (string, []string) {
			return "gcc", append(slices.Clone(sqliteDefines), "-O2", "-I"+goModule(t, sqliteModule), filepath.Join("testdata", "sqlite.c"), assemblySQLite(t, "gcc", []string{"-O2"}), "-lm")
		}, func(t *testing.T) []string { return sqliteArgs(t, allPhases) }},
		{"Lua", "97", true, 0.9, lua, func(*testing.T) []string { return []string{"-e", luaScript} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.long {
				skipLong(t)
			}
			compiler, args := test.build(t)
			program := buildMapped(t, compiler, args...)
			out := filepath.Join(t.TempDir(), "callgrind.out")
			argv := underCallgrind(out, "--dump-instr=yes", program, test.run(t)...)
			output(t, command(t, argv[0], argv[1:]...))
			m := estimated(t, test.every, program, test.run(t)...)
			real, err := filepath.EvalSymlinks(program)
			if err != nil {
				t.Fatal(err)
			}
			checkConserved(t, m)
			share := overlap(m, executed(t, out, real))
			t.Logf("%.1f %% of the executions of blocks agree", 100*share)
			if share < test.least {
				t.Errorf("%.3f of the executions of blocks agree, at least %.3f do", share, test.least)
			}
		})
	}
}

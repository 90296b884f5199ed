//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

// TestSQLiteSplit builds SQLite by a profile of the first phases of the script and by a random
// one, and runs all phases, so that code that was moved as never executed is executed.
func TestSQLiteSplit(t *testing.T) {
	t.Parallel()
	flags := []string{"-O1", "-ffunction-sections"}
	for _, compiler := range []string{"gcc", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			if compiler != "gcc" {
				skipLong(t)
			}
			t.Parallel()
			dir := t.TempDir()
			sources := []string{
				"-O1", "-w", "-I" + goModule(t, sqliteModule), filepath.Join("testdata", "sqlite.c"), assemblySQLite(t, compiler, flags), "-lm",
			}
			_, few := run(t, build(t, "block", compiler, sources...), sqliteArgs(t, "2")...)
			for name, m := range map[string]*prof.Module{"real": few, "random": atRandom(few)} {
				file := filepath.Join(dir, name+".mip")
				writeProfile(t, file, m)
				program := filepath.Join(dir, name)
				summary := output(t, command(t, cairn, append(append([]string{"build", "--json", "--use", file, "--", compiler},
					sources...), "-o", program)...))
				checkSplit(t, name, summary)
				checkAnswer(t, answerOf(t, program, sqliteArgs(t, allPhases)...), sqliteAnswer(t))
			}
		})
	}
}

// atRandom is a profile of the same module in which every function ran, and
// half of the blocks did.
func atRandom(m *prof.Module) *prof.Module {
	r := rand.New(rand.NewPCG(1, 2))
	drawn := *m
	drawn.Counts = make([]prof.Counts, len(m.Counts))
	for i := range m.Counts {
		c := prof.Counts{Runs: 1, Blocks: make([]uint64, len(m.Counts[i].Blocks))}
		for b := range c.Blocks {
			c.Blocks[b] = r.Uint64N(2)
		}
		drawn.Counts[i] = c
	}
	return &drawn
}

func writeProfile(t *testing.T, file string, m *prof.Module) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := mip.WriteProfile(f, &prof.Profile{Modules: []prof.Module{*m}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkSplit checks that there was something to get wrong.
func checkSplit(t *testing.T, name, summary string) {
	t.Helper()
	var got struct {
		Use struct {
			Split, Stale, Missing int
			Refused               map[string][]string
		}
	}
	if err := json.Unmarshal([]byte(summary), &got); err != nil {
		t.Fatalf("%v\n%s", err, summary)
	}
	if u := got.Use; u.Split < 300 || u.Stale > 0 || u.Missing > 0 || len(u.Refused) > 0 {
		t.Errorf("%s: %+v", name, u)
	}
	t.Logf("%s: %d functions split", name, got.Use.Split)
}

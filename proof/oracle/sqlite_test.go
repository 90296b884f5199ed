//go:build linux && amd64

package oracle

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// goModule returns the directory of a module in the module cache, which is
// fetched if it is not there. Big programs come from there: their sources need
// not be in this repository.
func goModule(t *testing.T, version string) string {
	t.Helper()
	dir, err := tailguests.Module(t.Context(), version)
	if err != nil {
		t.Skip(err)
	}
	return dir
}

const sqliteModule = "github.com/mattn/go-sqlite3@v1.14.52"

// sqliteDefines are for compilers.
var sqliteDefines = []string{"-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"}

// assemblySQLite returns the assembly file that a compiler makes of SQLite.
func assemblySQLite(t *testing.T, compiler string, flags []string) string {
	t.Helper()
	source := filepath.Join(goModule(t, sqliteModule), "sqlite3-binding.c")
	return assembly(t, compiler, source, append(slices.Clone(flags), sqliteDefines...)...)
}

// buildSQLite links SQLite and a driver that runs a script of SQL. With -short one
// compilation by gcc serves all tests that ask for -O2 and for -O1.
func buildSQLite(t *testing.T, mode, compiler string, flags ...string) string {
	t.Helper()
	if testing.Short() && compiler == "gcc" && slices.Equal(flags, []string{"-O2"}) {
		flags = []string{"-O1", "-ffunction-sections"}
	}
	forCompiler := slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return strings.HasPrefix(f, "-Wl,") || strings.HasPrefix(f, "-fuse-ld=")
	})
	return build(t, mode, compiler, append(flags, "-w", "-I"+goModule(t, sqliteModule),
		filepath.Join("testdata", "sqlite.c"), assemblySQLite(t, compiler, forCompiler), "-lm")...)
}

// allPhases is more than the script has.
const allPhases = "9"

// sqliteArgs are the driver's arguments for a new database.
func sqliteArgs(t *testing.T, phases string) []string {
	return []string{filepath.Join(t.TempDir(), "test.db"), filepath.Join("testdata", "sqlite.sql"), phases}
}

// sqliteAnswer is what SQLite makes of the script: the test of the build
// without probes holds it to be true.
func sqliteAnswer(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sqlite.want"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSQLiteWithoutProbes(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := goModule(t, sqliteModule)
	plain := build(t, "", "gcc", append(sqliteDefines, "-O0", "-I"+dir, filepath.Join("testdata", "sqlite.c"),
		filepath.Join(dir, "sqlite3-binding.c"), "-lm")...)
	checkAnswer(t, answerOf(t, plain, sqliteArgs(t, allPhases)...), sqliteAnswer(t))
}

// TestSQLite compares everything on a program of 2000 functions.
func TestSQLite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ compiler, flags string }{{"gcc", "-O1 -ffunction-sections"}, {"clang-22", "-O1 -no-pie"}} {
		t.Run(test.compiler, func(t *testing.T) {
			if test.compiler != "gcc" {
				skipLong(t)
			}
			t.Parallel()
			full := buildSQLite(t, "full", test.compiler, strings.Fields(test.flags)...)
			t.Run("callgrind", func(t *testing.T) {
				answer, ran, m := callgrind(t, full, sqliteArgs(t, allPhases)...)
				checkAnswer(t, answer, sqliteAnswer(t))
				checkCalls(t, m, ran)
				checkCovered(t, m, ran)
			})
			t.Run("tracer", func(t *testing.T) {
				answer, seen, m := trace(t, full, sqliteArgs(t, allPhases)...)
				checkAnswer(t, answer, sqliteAnswer(t))
				checkOrder(t, m, seen)
			})
			t.Run("kill", func(t *testing.T) { killed(t, full) })
		})
	}
}

// TestSQLiteBlocks compares the coverage of blocks where nothing is counted.
func TestSQLiteBlocks(t *testing.T) {
	skipLong(t)
	t.Parallel()
	answer, ran, m := callgrind(t, buildSQLite(t, "block", "gcc", "-O1", "-ffunction-sections"), sqliteArgs(t, allPhases)...)
	checkAnswer(t, answer, sqliteAnswer(t))
	checkCovered(t, m, ran)
}

// killed kills SQLite in the middle of the script while the counts are a file,
// and compares what is in it with what an orderly exit at the same place writes.
func killed(t *testing.T, program string) {
	const phases = "3"
	profiles := map[string]*prof.Module{}
	for end, continuous := range map[string]string{"kill": "1", "exit": "0"} {
		raws := t.TempDir()
		cmd, stdin := startPhases(t, program, phases, "CAIRN_DIR="+raws, "CAIRN_CONTINUOUS="+continuous)
		if end == "kill" {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		stdin.Close()
		if err := cmd.Wait(); (err == nil) != (end == "exit") {
			t.Fatalf("%s: SQLite ended with %v", end, err)
		}
		profiles[end] = profile(t, program, raws)
	}
	// Where the driver waits, an exit goes on and a kill does not.
	for _, m := range profiles {
		i := slices.IndexFunc(m.Funcs, func(f prof.Func) bool { return f.Name == "wait_for_end" })
		if i < 0 || m.Counts[i].Calls != 1 {
			t.Fatalf("wait_for_end has number %d, want it called once", i)
		}
		m.Counts[i].Blocks = nil
	}
	// Nobody can tell whether there were threads in what was killed.
	for i := range profiles["kill"].Counts {
		c := &profiles["kill"].Counts[i]
		if c.Runs > 0 && !c.Inexact {
			t.Fatalf("%s: the count of a process that was killed is called exact", profiles["kill"].Funcs[i].Name)
		}
		c.Inexact = false
	}
	checkSame(t, profiles["kill"], profiles["exit"])
}

// startPhases starts SQLite, and returns when it has done some phases and waits
// for the end of its input.
func startPhases(t *testing.T, program, phases string, env ...string) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := command(t, program, sqliteArgs(t, phases)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "waiting" {
			return cmd, stdin
		}
	}
	t.Fatalf("SQLite ended early: %v", cmd.Wait())
	return nil, nil
}

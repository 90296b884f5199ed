package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestMain puts the command first on PATH. It is linked as it ships: each process of a test
// binary would initialise what only tests import as well, which takes a fifth of its start.
func TestMain(m *testing.M) {
	shorttest.Main(m, func(_, cairn string) error {
		return os.Setenv("PATH", filepath.Dir(cairn)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	})
}

// TestScript runs testdata/script at the root of the repository: one script
// for each behaviour of the command, named verb_case.txtar.
func TestScript(t *testing.T) {
	t.Parallel()
	cache := shorttest.Cache(t.TempDir()) // of runtimes, which depend on nothing of a script
	goCache, _ := exec.Command("go", "env", "GOCACHE").Output()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"prove": proveModes, "covers": covers, "tracelog": makeTraceLog, "longlog": makeLongLog, "spikelog": spikelog, "holds": holds, "ciscript": ciScript, "profilestore": profileStore, "otlpfile": otlpFile, "killeach": killEach},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CAIRN_CACHE", cache)
			env.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			return errors.Join(kitEnv(env), scriptEnv(env))
		},
	})
}

// scripts returns the paths of the scripts that run.
func scripts(t *testing.T) (paths []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d scripts, %v", len(all), err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if shorttest.Selects(text) {
			paths = append(paths, path)
		}
	}
	return paths
}

// scriptEnv keeps a script, and every compiler it starts, inside its own
// directory. PATH is left as testscript made it: the cairn under test first,
// then the PATH of the test.
func scriptEnv(env *testscript.Env) error {
	for name, dir := range map[string]string{"HOME": "home", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"} {
		path := filepath.Join(env.WorkDir, "."+dir)
		if err := os.MkdirAll(path, 0o777); err != nil {
			return err
		}
		env.Setenv(name, path)
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("RUSTUP_HOME") == "" {
		env.Setenv("RUSTUP_HOME", filepath.Join(home, ".rustup")) // where a rustc finds itself, if there is one
	}
	env.Setenv("DEBUGINFOD_URLS", "")
	return nil
}

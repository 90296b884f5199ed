package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/internal/verb"
)

func TestMain(m *testing.M) {
	// Compilers start cairn under the names of the tools it stands in for.
	if standsIn(os.Args) {
		os.Exit(execute(context.Background(), os.Args, verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	testscript.Main(m, map[string]func(){
		"cairn": func() {
			os.Exit(run(os.Args, verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// TestScript runs testdata/script at the root of the repository: one script
// for each behaviour of the command, named verb_case.txtar.
func TestScript(t *testing.T) {
	t.Parallel()
	cache := shorttest.Cache(t.TempDir()) // of runtimes, which depend on nothing of a script
	goCache, _ := exec.Command("go", "env", "GOCACHE").Output()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"prove": proveModes, "covers": covers, "tracelog": makeTraceLog, "longlog": makeLongLog, "spikelog": spikelog, "holds": holds, "ciscript": ciScript, "profilestore": profileStore, "otlpfile": otlpFile, "killeach": killEach},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CAIRN_CACHE", cache)
			env.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			return errors.Join(kitEnv(env), scriptEnv(env))
		},
	})
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
	env.Setenv("DEBUGINFOD_URLS", "")
	return nil
}

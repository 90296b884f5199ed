package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

// ciScript is the command "ciscript FILE OUT" of scripts. It writes what a file for GitHub or GitLab has a
// shell run.
func ciScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ciscript FILE OUT")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	var doc struct {
		Runs struct {
			Steps []struct{ Run string }
		}
		Coverage struct {
			Variables map[string]string
			Script    []string
		} `yaml:".cairn-coverage"`
	}
	ts.Check(yaml.Unmarshal(data, &doc))
	var lines []string
	for _, s := range doc.Runs.Steps {
		lines = append(lines, "set -eo pipefail", s.Run)
	}
	for name, value := range doc.Coverage.Variables {
		lines = append(lines, ": ${"+name+"="+value+"}")
	}
	lines = append(lines, doc.Coverage.Script...)
	if len(lines) == 0 {
		ts.Fatalf("%s has no script", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte("set -e\n"+strings.Join(lines, "\n")+"\n"), 0o666))
}

// kitEnv tells scripts where the kit for other build systems is.
func kitEnv(env *testscript.Env) error {
	kit, err := filepath.Abs(filepath.Join("..", "..", "kit"))
	env.Setenv("KIT", kit)
	return err
}

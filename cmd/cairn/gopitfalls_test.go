package main

import (
	"os"
	"path/filepath"
	"testing"
)

// goPitfalls are the ways in which instrumenting Go programs by -toolexec goes wrong, with the
// scripts that check that it does not here.
var goPitfalls = []struct {
	pitfall string
	scripts []string
}{
	{"one mode costs too much or tells too little: there are several, and each is read by all commands", []string{"go_build", "go_modules", "go_spike", "go_stacks"}},
	{"the module is edited: go.mod, go.sum and sources stay, also in builds that other tools start", []string{"go_cache"}},
	{"the cache mixes instrumented packages with others: each mode and choice of packages has keys of its own", []string{"go_cache", "go_flags"}},
	{"output of a tool is kept and printed by later builds", []string{"go_cache"}},
	{"what a tool writes beside its output is missing when the package comes from the cache", []string{"go_cache"}},
	{"printing the syntax tree anew moves lines, comments and directives", []string{"go_source", "go_build"}},
	{"assembly, functions that may not grow the stack, blank functions, and what cgo makes", []string{"go_source", "go_cgo"}},
	{"probes keep functions from being inlined", []string{"go_source", "go_pgo"}},
	{"generic functions and function literals have several pieces of code, or none", []string{"go_source", "go_build"}},
	{"probes are data races, and the race detector changes what a probe costs", []string{"go_flags"}},
	{"a program that is killed, panics or exits has written nothing", []string{"go_build", "go_spike", "go_stacks"}},
	{"time of a thread is not that of a goroutine", []string{"go_spike", "go_stacks"}},
	{"names in package runtime differ between releases", []string{"go_release", "go_cross"}},
	{"the linker takes no order of functions", []string{"go_pgo"}},
	{"combinations: -race, -cover, -pgo, -trimpath, -buildmode, tags, vendored modules, workspaces, cgo, tests", []string{"go_flags", "go_cover", "go_pgo", "go_cgo", "go_modules"}},
}

// TestGoPitfalls checks that each pitfall has its scripts.
func TestGoPitfalls(t *testing.T) {
	t.Parallel()
	for _, p := range goPitfalls {
		for _, s := range p.scripts {
			if _, err := os.Stat(filepath.Join("..", "..", "testdata", "script", s+".txtar")); err != nil {
				t.Errorf("%s: %v", p.pitfall, err)
			}
		}
	}
}

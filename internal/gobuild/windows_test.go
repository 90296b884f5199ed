package gobuild_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// withoutImports needs few packages to be compiled.
const withoutImports = `package main

//go:noinline
func odd(n int) bool {
	if n == 0 {
		return false
	}
	return !odd(n - 1)
}

//go:noinline
func never() { println("never") }

func main() {
	for i := range 10 {
		if odd(i) && i > 10 {
			never()
		}
	}
	println("done")
}
`

// TestWindowsArm builds programs for Windows on AArch64, which nothing here can run. They have the functions, and in mode count the
// calls in their code, of the same program for Windows on x86-64.
func TestWindowsArm(t *testing.T) {
	shorttest.Proof(t)
	cairn, _ := needsGo(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(withoutImports), 0o666); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(dir, "app.exe")
	build := func(mode, arch, machine string) {
		do(t, dir, "", []string{"GOOS=windows", "GOARCH=" + arch, "CGO_ENABLED=0"}, cairn, "go", "--mode", mode, "build", "-o", "app.exe", "main.go")
		f, err := objfile.Open(app)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := f.MachineName(); got != machine || f.Windows() == nil {
			t.Errorf("mode %s for %s: machine %q", mode, arch, got)
		}
	}
	described := func() (list []string) {
		do(t, dir, "", nil, cairn, "map", app, "-o", "app.mipmap")
		data, err := os.ReadFile(filepath.Join(dir, "app.mipmap"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := mip.ReadMap(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Funcs {
			f := &m.Funcs[i]
			list = append(list, fmt.Sprint(f.Name, f.Calls, f.NumBlocks()))
		}
		slices.Sort(list)
		return list
	}
	for _, mode := range []prof.Mode{prof.ModeCount, prof.ModeBlock, prof.ModeCover, prof.ModeOrder, prof.ModeSpike, prof.ModeStacks, prof.ModeTrace} {
		build(mode.String(), "arm64", "AArch64")
		if mode.Timed() {
			continue // names are those of the symbol table
		}
		arm := described()
		if len(arm) == 0 {
			t.Errorf("mode %v: no functions", mode)
		}
		if mode == prof.ModeCount || mode == prof.ModeBlock {
			build(mode.String(), "amd64", "x86-64")
			if amd := described(); !slices.Equal(arm, amd) {
				t.Errorf("mode %v: functions for AArch64\n%q\nfor x86-64\n%q", mode, arm, amd)
			}
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestSample tries programs in all modes: on this machine ours and one of csmith, on emulated
// machines csmith's, where it is installed. With -short there are fewer of both.
func TestSample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cairn, err := shorttest.Cairn(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range targets {
		tg := &targets[i]
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			if _, err := targetOf(tg.name); err != nil {
				t.Skip(err)
			}
			var log strings.Builder
			tr := torture{cairn: cairn, out: filepath.Join(dir, "out-"+tg.name), log: &log, target: tg}
			if err := tr.prepare(); err != nil {
				t.Fatal(err)
			}
			own, count, want := "testdata", 3, 2 // that of csmith may be left out
			_, missing := os.Stat("/usr/include/csmith/csmith.h")
			switch {
			case missing != nil:
				count = 2
			case tg.emulator == nil && testing.Short():
				tr.modes = 4
			case tg.emulator == nil:
			case testing.Short():
				own, count, want, tr.modes = "", 2, 1, 3
			default:
				own, count, want = "", 30, 10
			}
			next, err := sources(own, false, 3, count)
			if err != nil {
				t.Fatal(err)
			}
			tr.run(t.Context(), next, 2)
			if tr.failed > 0 || tr.programs < want {
				t.Errorf("%d programs, %d cases failed:\n%s%s", tr.programs, tr.failed, log.String(), tr.markdown())
			}
		})
	}
}

// TestTargets proves that no mode is lost on the way to a machine.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		machine string
		modes   int
	}{{"x86-64", 15}, {"aarch64", 15}, {"armv7", 8}} {
		for i := range targets {
			tg := &targets[i]
			if tg.name == c.machine && len(tg.modes()) != c.modes {
				t.Errorf("%s has %d modes, want %d", tg.name, len(tg.modes()), c.modes)
			}
		}
	}
	if _, err := targetOf("vax"); err == nil {
		t.Error("programs for a vax are tried")
	}
}

// TestCatches proves that a program which answers otherwise is found.
func TestCatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\necho 7\nexit 3\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	// It stands in the place of the compiler, and makes nothing.
	p := program{torture: &torture{cairn: "true", target: &targets[0]}, dir: dir, compiler: []string{"true"}}
	for _, c := range []struct {
		want answer
		same bool
	}{
		{answer{output: []byte("7\n"), status: "exit status 3"}, true},
		{answer{output: []byte("8\n"), status: "exit status 3"}, false},
		{answer{output: []byte("7\n"), status: "exit status 0"}, false},
		{answer{output: []byte("7\n"), status: "signal: aborted"}, false},
	} {
		p.want = c.want
		if err := p.try(t.Context(), &mode{name: "cover", flags: []string{}}); (err == nil) != c.same {
			t.Errorf("%+v: %v", c.want, err)
		}
	}
}

// TestUndefined proves that programs whose behaviour is not defined, or that do not end,
// are not compared.
func TestUndefined(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	for _, c := range []struct{ name, body, why string }{
		{"fails", "return 3;", "it fails without cairn: what it does is not defined for this compiler"},
		{"crashes", "__builtin_trap();", "it fails without cairn: what it does is not defined for this compiler"},
		{"loops", "for (volatile int i = 0;;) i++;", "it runs too long"},
		{"passes", "return 0;", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "test.c")
			if err := os.WriteFile(file, []byte("int main(void) { "+c.body+" }\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			p := program{torture: &torture{out: dir, target: &targets[0]}, dir: dir, source: source{name: "test.c", file: file, test: true}}
			if why := p.plain(t.Context()); why != c.why {
				t.Errorf("not compared as %q, want %q", why, c.why)
			}
		})
	}
}

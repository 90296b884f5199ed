//go:build linux && amd64

package lbr

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestSegments records a program whose executable segments have a hole between them.
func TestSegments(t *testing.T) {
	t.Parallel()
	lib := library(t)
	for _, flags := range []string{"-O1 -no-pie -Wl,--section-start=.far=0x900000", "-O1 -pie -Wl,--section-start=.far=0x900000"} {
		path := program(t, "gcc", "segments.c", strings.Fields(flags)...)
		same(t, lib, path)
	}
}

// TestWritable has a program whose code can be written to: it runs without recording, and cairn says so.
func TestWritable(t *testing.T) {
	t.Parallel()
	path := program(t, "gcc", "segments.c", "-DWRITABLE", "-Wl,--section-start=.far=0x900000")
	r := same(t, library(t), path)
	if want := "its code is not mapped as in its file, or is writable"; !slices.Contains(r.plain, want) || len(r.samples) > 0 {
		t.Errorf("%q, %d samples", r.plain, len(r.samples))
	}
}

// TestTextRelocations has a program whose instructions have addresses that the dynamic linker
// fills in, as that of Poly/ML: it runs without recording, and cairn says so.
func TestTextRelocations(t *testing.T) {
	t.Parallel()
	path := program(t, "gcc", "relocated.c", "-O1", "-pie", "-Wl,-z,notext")
	r := same(t, library(t), path)
	if want := "the dynamic linker changes its code (text relocations)"; !slices.Contains(r.plain, want) || len(r.samples) > 0 {
		t.Errorf("%q, %d samples", r.plain, len(r.samples))
	}
}

// TestSignals records programs that use signals, stacks and tracers in ways that a recorder
// could disturb.
func TestSignals(t *testing.T) {
	t.Parallel()
	lib, path := library(t), program(t, "gcc", "signals.c", "-O1", "-pthread")
	for _, part := range []string{"forks", "coroutines", "small", "overflows", "barriers", "masks", "sent", "older", "traced"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			same(t, lib, path, part)
		})
	}
}

// TestReturns records a program that mostly calls libraries, and checks that returns from there
// cause no faults.
func TestReturns(t *testing.T) {
	t.Parallel()
	lib := library(t)
	for _, flags := range []string{"-O1", "-O1 -no-pie -fno-pie"} {
		r := same(t, lib, program(t, "g++", "returns.cc", strings.Fields(flags)...))
		if n := strings.Count(r.stdout, "\n"); n != 4 {
			t.Errorf("it says %q", r.stdout)
		}
		if len(r.totals) != 1 || r.totals[0].Branches < 500_000 || r.totals[0].Faults > 20_000 { // of 170,000 returns
			t.Errorf("%+v: faults where there should be none", r.totals)
		}
	}
}

// same runs a program plain and recorded, and wants the same of both, and samples.
func same(t *testing.T, lib, path string, args ...string) *recording {
	t.Helper()
	plain := exec.CommandContext(t.Context(), path, args...)
	want, err := plain.Output()
	if plain.ProcessState == nil {
		t.Fatal(err)
	}
	r := record(t, lib, path, "CAIRN_LBR_EVERY=31 CAIRN_LBR_TRUTH=1", args...)
	if r.stdout != string(want) || r.code != plain.ProcessState.ExitCode() {
		t.Errorf("%s %v: it says %q and ends with %d; plain, %q and %d", path, args, r.stdout, r.code, want, plain.ProcessState.ExitCode())
	}
	if len(r.samples) == 0 && len(r.plain) == 0 {
		t.Errorf("%s %v: no samples, and no word why", path, args)
	}
	return r
}

package main

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestRecorder runs some of the programs of RECORDER.md plain and recorded, and wants the
// same answers: a few quick ones if it must be short, otherwise also those with compilers to
// memory and those that are recorded in other ways. CAIRN_RECORDER is a regular expression of the
// names of others.
func TestRecorder(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("needs gcc, Linux and x86-64")
	}
	dir := t.TempDir()
	cairn, err := shorttest.Cairn(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{cairn: cairn, rounds: 1}
	if err := writeRecorderFiles(dir); err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile("^(Perl|bash|mawk|gcc)$")
	if !testing.Short() {
		chosen = regexp.MustCompile("^(Perl|bash|mawk|gcc|Node.js.*|Java|LuaJIT|MuJS|Guile|Go|Rust|Python 3|make|GNU m4)$")
	}
	if names := os.Getenv("CAIRN_RECORDER"); names != "" {
		chosen = regexp.MustCompile(names)
	}
	ran := 0
	for _, g := range allRecorderGuests() {
		if !chosen.MatchString(g.name) {
			continue
		}
		r := b.recordGuest(t.Context(), dir, &g)
		switch {
		case r.bad:
			t.Errorf("%s: %s", g.name, r.why)
		case r.why != "":
			t.Logf("%s: %s", g.name, r.why)
		default:
			ran++
			t.Logf("%s: %.2f s, recorded %.2f s, %s samples %s", g.name, r.plain, r.copied, r.samples, r.note)
		}
	}
	if ran == 0 {
		t.Skip("none of the programs is here")
	}
}

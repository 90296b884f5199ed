package main

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestSample builds zlib, whose configure asks the compiler many things, with records
// and by its profile. Without its shared library each file is compiled once.
func TestSample(t *testing.T) {
	t.Parallel()
	static := zlib
	static.build, static.modules = "./configure --static && make -j2", []string{"example", "example64", "minigzip64"}
	sample(t, &static, 50, 30)
}

// TestCrossSample builds cJSON for Armv7 as shared libraries and programs, whose tests run on an emulator.
func TestCrossSample(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute: not with -short")
	}
	i := slices.IndexFunc(guests, func(g guest) bool { return g.name == "cjson-armv7" })
	sample(t, &guests[i], 100, 100)
}

// sample builds a guest in mode full and by its profile, and expects at least so many functions, and that
// so many ran.
func sample(t *testing.T, g *guest, functions, ran int) {
	t.Helper()
	for _, tool := range append([]string{"gcc", "make", "apt-get"}, g.tools...) {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	repo, err := shorttest.Source(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	c := &corpus{
		out: out, repo: repo, limit: 10 * time.Minute, cases: regexp.MustCompile("^(full|use)$"),
		say: t.Logf,
	}
	if err := c.fetch(t.Context(), g); err != nil {
		t.Skip(err)
	}
	if c.cairn, err = shorttest.Cairn(out); err != nil {
		t.Fatal(err)
	}
	rows := c.guest(t.Context(), g)
	for _, r := range rows {
		if r.Why != "" {
			t.Errorf("%s: %s", r.Variant, r.Why)
		}
		if r.Size[0] == 0 || r.Size[1] == 0 {
			t.Errorf("%s: sizes %v", r.Variant, r.Size)
		}
	}
	if len(rows) != 2 {
		t.Fatalf("%d cases, want 2: %+v", len(rows), rows)
	}
	if full := rows[0]; full.Summary.Functions < functions || full.Ran < ran {
		t.Errorf("%d functions, of which %d ran", full.Summary.Functions, full.Ran)
	}
}

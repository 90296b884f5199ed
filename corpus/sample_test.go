package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestSample builds zlib, whose configure asks the compiler many things, with records
// and by its profile.
func TestSample(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"gcc", "make", "apt-get"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	c := &corpus{
		out: out, repo: repo, limit: 10 * time.Minute, cases: regexp.MustCompile("^(full|use)$"),
		say: t.Logf,
	}
	if err := c.fetch(t.Context(), &zlib); err != nil {
		t.Skip(err)
	}
	if c.cairn, err = shorttest.Cairn(out); err != nil {
		t.Fatal(err)
	}
	rows := c.guest(t.Context(), &zlib)
	if len(rows) != 2 {
		t.Fatalf("%d cases, want 2: %+v", len(rows), rows)
	}
	for _, r := range rows {
		if r.Why != "" {
			t.Errorf("%s: %s", r.Variant, r.Why)
		}
		if r.Size[0] == 0 || r.Size[1] == 0 {
			t.Errorf("%s: sizes %v", r.Variant, r.Size)
		}
	}
	if full := rows[0]; full.Summary.Functions < 50 || full.Ran < 30 {
		t.Errorf("%d functions, of which %d ran", full.Summary.Functions, full.Ran)
	}
}

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/verb"
)

// TestManPages generates the man pages and checks that groff reads each without a warning.
func TestManPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program with another tag")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "-tags", "man", ".", "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed: pages are not rendered")
	}
	commandsOf(newRoot(&verb.Streams{}), func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		page := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		if groff == "" {
			return
		}
		cmd := exec.Command(groff, "-man", "-Tutf8", "-wall", "-P-cbou", page)
		var problems strings.Builder
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil || problems.Len() > 0 {
			t.Errorf("%s: %v\n%s", page, err, problems.String())
		}
		text := strings.Join(strings.Fields(string(out)), " ") // lines are justified
		for _, want := range []string{"NAME", "SYNOPSIS", c.Short[:10]} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", page, want)
			}
		}
	})
}

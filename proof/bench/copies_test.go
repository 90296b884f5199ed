package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWriteWithNotes checks that notes stay when a report is written again, and that nothing else does.
func TestWriteWithNotes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "COPIES.md")
	for _, c := range []struct{ old, text, want string }{
		{"", "# One\n\n| 1 |\n\n", "# One\n\n| 1 |\n\n"},
		{"# One\n\n| 1 |\n\n", "# One\n\n| 2 |\n\n", "# One\n\n| 2 |\n\n"},
		{"# One\n\n| 1 |\n\n## Notes\n\nby hand\n", "# One\n\n| 2 |\n\n", "# One\n\n| 2 |\n\n## Notes\n\nby hand\n"},
	} {
		if c.old != "" {
			if err := os.WriteFile(path, []byte(c.old), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := writeWithNotes(path, []byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		}
	}
	if writeWithNotes(t.TempDir(), nil) == nil {
		t.Error("a directory is written")
	}
}

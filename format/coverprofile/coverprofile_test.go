package coverprofile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{Unit{"x/b.go", 1, 2, 3, 4, 1}, 7}, {Unit{"x/a\n.go", 5, 1, 5, 9, 2}, 1}, {Unit{"x/a\n.go", 4, 11, 4, 12, 1}, 0},
	}
	for mode, want := range map[Mode]string{
		Set:   "mode: set\nx/a?.go:4.11,4.12 1 0\nx/a?.go:5.1,5.9 2 1\nx/b.go:1.2,3.4 1 1\n",
		Count: "mode: count\nx/a?.go:4.11,4.12 1 0\nx/a?.go:5.1,5.9 2 1\nx/b.go:1.2,3.4 1 7\n",
	} {
		var b strings.Builder
		if err := Write(&b, mode, rows); err != nil || b.String() != want {
			t.Errorf("mode %s: %v\n%s", mode, err, b.String())
		}
	}
}

// TestReadable checks that go tool cover accepts what is written.
func TestReadable(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	source, profile := filepath.Join(dir, "a.go"), filepath.Join(dir, "cover.out")
	if err := os.WriteFile(source, []byte("package a\n\nfunc f() int {\n\treturn 1\n}\n\nfunc g() int {\n\treturn 1\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Write(&b, Count, []Row{{Unit{source, 3, 14, 5, 2, 1}, 3}, {Unit{source, 7, 14, 9, 2, 3}, 0}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profile, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "cover", "-func", profile).CombinedOutput()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != source+":3: f 100.0% "+source+":7: g 0.0% total: (statements) 25.0%" {
		t.Errorf("%v\n%s", err, out)
	}
	page := filepath.Join(dir, "cover.html")
	if out, err := exec.Command("go", "tool", "cover", "-html", profile, "-o", page).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

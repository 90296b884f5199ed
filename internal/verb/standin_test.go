package verb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLinkOrCopy makes stand-ins where links work, and on another volume, where the first is a copy and others are its names.
func TestLinkOrCopy(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "cairn")
	if err := os.WriteFile(self, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name string) os.FileInfo {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	links := linkOrCopy{link: os.Link}
	if err := links.standIn(self, filepath.Join(dir, "gcc")); err != nil || !os.SameFile(file("cairn"), file("gcc")) {
		t.Errorf("not a link: %v", err)
	}
	if err := links.standIn(self, filepath.Join(dir, "gcc")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a stand-in that exists: %v", err)
	}
	copies := linkOrCopy{link: func(from, to string) error {
		if from == self {
			return errors.New("another volume")
		}
		return os.Link(from, to)
	}}
	for _, name := range []string{"as", "ld"} {
		if err := copies.standIn(self, filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "as")); err != nil || string(text) != "program" || file("as").Mode().Perm()&0o100 == 0 {
		t.Errorf("the copy is %q, %v, %v", text, file("as").Mode(), err)
	}
	if os.SameFile(file("cairn"), file("as")) || !os.SameFile(file("as"), file("ld")) {
		t.Error("the second is not a link to the first")
	}
	if err := (&linkOrCopy{link: copies.link}).standIn(self, filepath.Join(dir, "as")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a copy that exists: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

package verb

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func fillWith(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestWriteFileKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("half way")
	err := WriteFile(nil, link, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("a failure to fill: %v", err)
	}
	if got, err := os.ReadFile(file); string(got) != "old" {
		t.Errorf("after a failure: %q, %v", got, err)
	}
	if err := WriteFile(nil, link, fillWith("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); string(got) != "new" {
		t.Errorf("behind the link: %q, %v", got, err)
	}
	if st, err := os.Lstat(file); err != nil || st.Mode() != 0o604 {
		t.Errorf("permissions: %v, %v", st.Mode(), err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", st.Mode(), err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestWriteFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{
		"":                              "the output file has no name",
		dir:                             "writing " + dir + ": is a directory",
		filepath.Join(dir, "none/x"):    "writing " + filepath.Join(dir, "none/x") + ": no such file or directory",
		filepath.Join("/dev/null", "x"): "writing /dev/null/x: not a directory",
	} {
		if err := WriteFile(nil, path, fillWith("x")); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

package golden

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/packed"
)

// Archive compares the files of an archive, as the program has them, with those of the directories of the package. With
// -update it writes the archive to path.
func Archive(t testing.TB, path string, got packed.Files, dirs ...string) {
	t.Helper()
	var want packed.Files
	for _, dir := range dirs {
		err := fs.WalkDir(os.DirFS("."), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			want = append(want, packed.Bare(packed.File{Name: name, Data: data}))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if slices.EqualFunc(got, want, func(a, b packed.File) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }) {
		return
	}
	if !*update {
		t.Errorf("%s does not have the files as they are, less comments: -update writes it", path)
		return
	}
	archive, err := packed.Pack(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, smallest(t, archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// smallest returns an archive as zstd(1) packs it, if that is installed: a tenth smaller than by the package that reads it.
func smallest(t testing.TB, archive []byte) []byte {
	t.Helper()
	smaller := archive
	for _, args := range [][]string{{"-dc"}, {"--ultra", "-22", "-c"}} {
		cmd := exec.Command("zstd", append(args, "-q")...)
		cmd.Stdin = bytes.NewReader(smaller)
		out, err := cmd.Output()
		if err != nil {
			t.Logf("the archive is larger than it could be: %v", err)
			return archive
		}
		smaller = out
	}
	return smaller
}

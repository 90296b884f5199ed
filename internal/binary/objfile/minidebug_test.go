package objfile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ulikunitz/xz"
)

// packXZ packs data as xz does.
func packXZ(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestMiniDebug strips a program as Fedora does: functions that are not exported keep their names.
func TestMiniDebug(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	do := func(argv ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
	const source = "__attribute__((noinline)) static int inner(int n) { __asm__ volatile(\"\"); return n + 1; }\nint main(int n, char **v) { return inner(n) + 2; }\n"
	if err := os.WriteFile(path("a.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	do("gcc", "-O1", "-o", path("whole"), path("a.c"))
	do("objcopy", "--only-keep-debug", path("whole"), path("mini"))
	mini, err := os.ReadFile(path("mini"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("mini.xz"), packXZ(t, mini), 0o600); err != nil {
		t.Fatal(err)
	}
	do("objcopy", "--strip-all", "--add-section", ".gnu_debugdata="+path("mini.xz"), path("whole"), path("stripped"))
	functions := func(name string) (named []string) {
		f, err := Open(path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		left, err := f.RemainingSymbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range left.Symbols {
			if s.Name == "inner" || s.Name == "main" {
				named = append(named, s.Name)
			}
		}
		return named
	}
	if got := functions("stripped"); !slices.Contains(got, "inner") || !slices.Contains(got, "main") {
		t.Errorf("functions with names: %q", got)
	}
}

// TestUnpackXZ damages packed data: it is refused, and takes no more memory than it may.
func TestUnpackXZ(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("functions and their names. "), 500)
	packed := packXZ(t, data)
	if got, err := unpackXZ(packed); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for n := range len(packed) - 40 { // the index and the end of the stream are not read
		if got, err := unpackXZ(packed[:n]); err == nil {
			t.Fatalf("%d of %d bytes: no error and %d bytes", n, len(packed), len(got))
		}
	}
	large := bytes.Clone(packed)
	large[bytes.Index(large, []byte{0x21, 1})+2] = 40 // 4 GiB
	if _, err := unpackXZ(large); err == nil {
		t.Error("a dictionary of 4 GiB is accepted")
	}
}

func FuzzUnpackXZ(f *testing.F) {
	f.Add(packXZ(f, []byte("functions")))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = unpackXZ(data) })
}

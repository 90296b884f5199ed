package logfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// content has no repetition that a compressor could use.
func content(n int) []byte {
	data := make([]byte, n)
	x := uint32(1)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = byte(x >> 24)
	}
	return data
}

func all(t *testing.T, f *File) []byte {
	t.Helper()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 3, 100, InMemory - 1, InMemory, InMemory + 12345} {
		data := content(size)
		for name, packed := range map[string][]byte{"plain": data, "gzip": gz(data), "zstd": zst(t, data)} {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, packed, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{path, Stdin} {
				f, err := Open(from, bytes.NewReader(packed), nil)
				if err != nil {
					t.Fatalf("%d bytes, %s, from %s: %v", size, name, from, err)
				}
				if !bytes.Equal(all(t, f), data) || f.Note != "" {
					t.Errorf("%d bytes, %s, from %s: not what was written; note %q", size, name, from, f.Note)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestCut checks that data before damage in a compressed file is read, with a note.
func TestCut(t *testing.T) {
	t.Parallel()
	data := content(InMemory + 1<<20)
	for name, packed := range map[string][]byte{"gzip": gz(data), "zstd": zst(t, data)} {
		f, err := Open(Stdin, bytes.NewReader(packed[:len(packed)-len(packed)/100]), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Note == "" || f.Size < InMemory/2 || !bytes.Equal(all(t, f), data[:f.Size]) {
			t.Errorf("%s: %d bytes, note %q", name, f.Size, f.Note)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for arg, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a directory: give the files in it",
	} {
		if _, err := Open(arg, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := Open(Stdin, io.MultiReader(strings.NewReader("abc"), failing{broken}), nil); !errors.Is(err, broken) {
		t.Errorf("standard input that fails: %v", err)
	}
	if _, err := Open(Stdin, bytes.NewReader([]byte{0x1f, 0x8b, 8, 0}), nil); err == nil || !strings.Contains(err.Error(), "standard input: decompressing (gzip)") {
		t.Errorf("a gzip header that is cut off: %v", err)
	}
}

type failing struct{ err error }

func (e failing) Read([]byte) (int, error) { return 0, e.err }

func TestExpand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"log.b", "log.a", "other", "odd[1]"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(names ...string) []string {
		for i, n := range names {
			if n != Stdin {
				names[i] = filepath.Join(dir, n)
			}
		}
		return names
	}
	for _, c := range []struct{ args, want []string }{
		{in("log.*"), in("log.a", "log.b")},
		{in("log.b", "log.*", "other"), in("log.b", "log.a", "other")},
		{in("odd[1]"), in("odd[1]")},
		{in("none"), in("none")},
		{in(Stdin, Stdin), in(Stdin)},
	} {
		if got, err := Expand(c.args); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.args, got, err, c.want)
		}
	}
	if _, err := Expand(in("none.*")); err == nil {
		t.Error("a pattern that matches nothing: no error")
	}
}

// endless yields zeros for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLook checks that a file that is not selected is not read to its end, since it may have
// none.
func TestLook(t *testing.T) {
	t.Parallel()
	unwanted := errors.New("it is nothing")
	look := func(head []byte) error {
		if len(head) != HeadSize || head[0] != 0 {
			t.Errorf("a head of %d bytes", len(head))
		}
		return unwanted
	}
	zeros := make([]byte, 1<<20)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, zeros, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*File, error){
		"stream": func() (*File, error) { return Open(Stdin, endless{}, look) },
		"packed": func() (*File, error) { return Open(Stdin, bytes.NewReader(gz(zeros)), look) },
		"file":   func() (*File, error) { return Open(path, nil, look) },
	} {
		if _, err := open(); !errors.Is(err, unwanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

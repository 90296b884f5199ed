package logfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packings are the forms in which data can be given.
func packings(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	return map[string][]byte{"plain": data, "gzip": gz(data), "zstd": zst(t, data)}
}

func TestStream(t *testing.T) {
	t.Parallel()
	text := string(content(1 << 17))
	for name, data := range packings(t, []byte(text)) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, Stdin} {
			open := func() *Stream {
				s, err := OpenStream(from, bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if head := s.Peek(20); string(head) != text[:20] {
					t.Errorf("%s: it begins with %q", name, head)
				}
				return s
			}
			s := open()
			got, err := io.ReadAll(s)
			if err != nil || string(got) != text || s.Note() != "" {
				t.Errorf("%s: %d bytes of %d, %v, %q", name, len(got), len(text), err, s.Note())
			}
			if want := int64(len(text)); (s.Size == want) != (name == "plain" && from == path) {
				t.Errorf("%s of %s: size %d", name, from, s.Size)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			f, err := open().File()
			if err != nil {
				t.Fatal(err)
			}
			end := make([]byte, 5)
			if _, err := f.ReadAt(end, f.Size-5); err != nil || string(end) != text[len(text)-5:] || f.Size != int64(len(text)) {
				t.Errorf("%s: %v, %q at the end of %d bytes", name, err, end, f.Size)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestStreamCut reads what is left of compressed data.
func TestStreamCut(t *testing.T) {
	t.Parallel()
	text := content(1 << 20)
	for name, data := range packings(t, text) {
		if name == "plain" {
			continue
		}
		data = data[:len(data)-3]
		s, err := OpenStream(Stdin, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || !bytes.HasPrefix(text, got) || len(got) == 0 || !strings.Contains(s.Note(), "data is truncated or damaged after") {
			t.Errorf("%s: %d bytes, %v, %q", name, len(got), err, s.Note())
		}
		s, err = OpenStream(Stdin, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		if f.Size != int64(len(got)) || !strings.Contains(f.Note, "truncated or damaged") {
			t.Errorf("%s: %d bytes, %q", name, f.Size, f.Note)
		}
		if _, err := OpenStream(Stdin, bytes.NewReader(data[:5])); err != nil {
			if !strings.Contains(err.Error(), "standard input: decompressing") {
				t.Error(err)
			}
		}
	}
	if _, err := OpenStream(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	if _, err := OpenStream(filepath.Join(t.TempDir(), "nothing"), nil); !os.IsNotExist(err) {
		t.Error(err)
	}
}

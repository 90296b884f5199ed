package logfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompress checks that Open reads what Compress writes.
func TestCompress(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("what is written is read\n", 1000)
	for _, name := range []string{"plain", "a.gz", "a.json.GZ", "a.zst"} {
		path := filepath.Join(t.TempDir(), name)
		var b bytes.Buffer
		w, err := Compress(&b, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if small := b.Len() < len(text)/10; small != (Suffix(path) != "") {
			t.Errorf("%s has %d bytes", name, b.Len())
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Head(len(text) + 1)); got != text {
			t.Errorf("%s holds %d bytes, want %d", name, len(got), len(text))
		}
		f.Close()
	}
}

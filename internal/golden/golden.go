// Package golden compares what tests make with files, and writes the files with -update.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Compare compares a text with the file at path, and reports the first line that differs. With -update it
// writes the file.
func Compare(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			t.Errorf("%s:%d differs (-update writes the file):\n got %.2000s\nwant %.2000s", path, i+1, line(g, i), line(w, i))
			return
		}
	}
}

func line(lines [][]byte, i int) []byte {
	if i >= len(lines) {
		return []byte("(the end)")
	}
	return lines[i]
}

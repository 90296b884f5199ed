package logfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/logfile"
)

// TestMap checks what is mapped of a file, and that a file that is cut off meanwhile is an error.
func TestMap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "samples")
	const align, size = 1 << 16, 3<<16 + 10
	text := make([]byte, size)
	for i := range text {
		text[i] = byte(i >> 8)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := logfile.Open(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct{ offset, ask, want int }{{0, 100, 100}, {align, align, align}, {3 * align, 4 * align, 10}, {4 * align, 1, 0}} {
		piece := f.Map(int64(c.offset), c.ask)
		if len(piece) != c.want || c.want > 0 && piece[c.want-1] != text[c.offset+c.want-1] {
			t.Errorf("%d bytes at %d: %d are mapped, not %d", c.ask, c.offset, len(piece), c.want)
		}
		f.Unmap(piece)
	}
	piece := f.Map(0, size)
	if err := os.Truncate(path, align); err != nil {
		t.Fatal(err)
	}
	last := func() (b byte, err error) {
		defer logfile.Guard("samples", &err)()
		return piece[len(piece)-1], nil
	}
	if _, err := last(); !errors.Is(err, logfile.ErrCut) {
		t.Errorf("a file that is cut off: %v", err)
	}
	f.Unmap(piece)
}

// TestGuard checks that other panics remain.
func TestGuard(t *testing.T) {
	t.Parallel()
	defer func() {
		if r := recover(); r != "other" {
			t.Errorf("recovered %v", r)
		}
	}()
	var err error
	defer logfile.Guard("samples", &err)()
	panic("other")
}

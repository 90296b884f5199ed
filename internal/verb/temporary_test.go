package verb

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestInterruptedWrite checks that a file that is incomplete when the process is ended is
// removed, and that a complete one is not.
func TestInterruptedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files temporaryFiles
	half, whole := filepath.Join(dir, "half"), filepath.Join(dir, "whole")
	for _, path := range []string{half, whole} {
		done := files.Add(path)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if path == whole {
			done()
		}
	}
	files.RemoveAll()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || left[0] != whole {
		t.Errorf("left: %v", left)
	}
	// While a file is written it is among them, and then no more.
	path := filepath.Join(dir, "out")
	count := func() (n int) {
		Temporary.mu.Lock()
		defer Temporary.mu.Unlock()
		for p := range Temporary.paths {
			if filepath.Dir(p) == dir {
				n++
			}
		}
		return n
	}
	failure := errors.New("no more")
	for _, want := range []error{nil, failure} {
		err := WriteFile(&Streams{}, path, func(io.Writer) error {
			if n := count(); n != 1 {
				t.Errorf("%d temporary files", n)
			}
			return want
		})
		if !errors.Is(err, want) || count() != 0 {
			t.Errorf("%v, %d temporary files", err, count())
		}
	}
}

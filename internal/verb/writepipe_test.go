//go:build !windows

package verb

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteFileToPipe uses a pipe in place of /dev/null, which root could replace by a file.
func TestWriteFileToPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := WriteFile(nil, path, fillWith("data")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("the pipe is %v, %v", st.Mode(), err)
	}
	got := make([]byte, 10)
	if n, err := r.Read(got); string(got[:n]) != "data" {
		t.Errorf("read %q, %v", got[:n], err)
	}
}

//go:build !windows

package objfile

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/pdb"
)

// TestPDBPipe does not wait for the writer of a pipe that has the name of a PDB.
func TestPDBPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.pdb")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	err := withPDB(path, func(*pdb.File) error {
		t.Error("a pipe was read")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

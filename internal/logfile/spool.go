package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairnprof/cairn/internal/disk"
)

// A spool writes a temporary file and leaves some room on the disk: an input can be endless, and others need
// the disk as well.
type spool struct {
	file    *os.File
	size    int64
	checked int64 // size at which the disk was looked at last
}

// checkEach is the number of bytes written between two checks of the disk.
const checkEach = 1 << 20

// reserve is the maximum of the free bytes that are left; on small disks it is a twentieth.
const reserve = 512 << 20

// noRoomError reports that the disk is full, or nearly.
type noRoomError struct {
	dir  string
	size int64
}

func (e *noRoomError) Error() string {
	return fmt.Sprintf("no space left in %s after %d bytes: set TMPDIR to a directory with more space", e.dir, e.size)
}

func (s *spool) Write(b []byte) (int, error) {
	if s.size-s.checked >= checkEach {
		s.checked = s.size
		// Where it cannot be told, the disk says when it is full.
		if space, err := disk.SpaceAt(filepath.Dir(s.file.Name())); err == nil && space.Free < min(reserve, space.Total/20) {
			return 0, s.noRoom()
		}
	}
	n, err := s.file.Write(b)
	s.size += int64(n)
	if errors.Is(err, syscall.ENOSPC) {
		err = s.noRoom()
	}
	return n, err
}

func (s *spool) noRoom() error {
	return &noRoomError{filepath.Dir(s.file.Name()), s.size}
}

package depot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// DebugDir keeps programs and debug files in a directory:
//
//	BUILDID.executable
//	BUILDID.debuginfo
type DebugDir struct{ dir string }

// OpenDebug returns the files in a directory, which is created if it does not exist. It removes
// temporary files that a killed process left: no other process may use the directory.
func OpenDebug(dir string) (*DebugDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), "-") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return &DebugDir{dir}, err
}

func (d *DebugDir) path(id prof.BuildID, kind string) string {
	return filepath.Join(d.dir, hex.EncodeToString([]byte(id))+"."+kind)
}

// PutDebug stores a file.
func (d *DebugDir) PutDebug(_ context.Context, id prof.BuildID, kind string, f *os.File) error {
	tmp, err := os.CreateTemp(d.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(tmp, f)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), d.path(id, kind))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(d.dir)
}

// Debug returns a file.
func (d *DebugDir) Debug(_ context.Context, id prof.BuildID, kind string) (io.ReadCloser, int64, error) {
	f, err := os.Open(d.path(id, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: no %s of %s", tally.ErrNone, kind, id)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

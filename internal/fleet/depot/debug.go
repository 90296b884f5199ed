package depot

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// DebugDir keeps programs and debug files in a directory:
//
//	BUILDID.executable
//	BUILDID.debuginfo
//
// The builds whose files came last are kept.
type DebugDir struct {
	dir    string
	builds int // that are kept, 0 for all

	mu sync.Mutex // held while files are removed
}

// OpenDebug returns the files in a directory, which is created if it does not exist. builds is the number of
// builds whose files are kept, 0 for all. OpenDebug removes temporary files that a killed process left: no
// other process may use the directory.
func OpenDebug(dir string, builds int) (*DebugDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), "-") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return &DebugDir{dir: dir, builds: builds}, err
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
	return errors.Join(d.prune(), syncDir(d.dir))
}

// prune removes the files of the oldest builds if there are too many.
func (d *DebugDir) prune() error {
	if d.builds == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	last := make(map[string]time.Time) // by build
	files := make(map[string][]string)
	for _, e := range entries {
		id, _, ok := strings.Cut(e.Name(), ".")
		info, err := e.Info()
		if !ok || errors.Is(err, fs.ErrNotExist) {
			continue // a temporary file
		}
		if err != nil {
			return err
		}
		files[id] = append(files[id], e.Name())
		if info.ModTime().After(last[id]) {
			last[id] = info.ModTime()
		}
	}
	ids := stablesort.Sorted(maps.Keys(last), func(a, b string) int { return cmp.Or(last[b].Compare(last[a]), cmp.Compare(a, b)) })
	for _, id := range ids[min(d.builds, len(ids)):] {
		for _, name := range files[id] {
			if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
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

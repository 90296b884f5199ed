package reportset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/binary/debuginfod"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/sourcename"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// maxText limits the size of a source file.
const maxText = 32 << 20

// texts finds source files on this machine, and missing ones on debuginfod servers.
type texts struct {
	maps   [][2]string    // FROM and TO of --source-path
	dirs   []string       // in which relative paths are looked for
	builds []prof.BuildID // for which servers are asked
	fetch  func(id prof.BuildID, path string) (string, error)
	found  map[string]string
	asked  map[string]answer
	built  time.Time // of the newest binary
	newer  []string  // sources that were changed since
}

// answer is what Find said of a file.
type answer struct {
	size int64
	err  error
}

func newTexts(maps, binaries []string, builds []prof.BuildID) (*texts, error) {
	t := &texts{found: map[string]string{}, asked: map[string]answer{}, dirs: []string{"."}, builds: builds, fetch: objfile.FindSource}
	for _, m := range maps {
		from, to, ok := strings.Cut(m, "=")
		if !ok || from == "" {
			return nil, verb.Usagef("--source-path %s: must be FROM=TO", m)
		}
		t.maps = append(t.maps, [2]string{from, to})
	}
	for _, b := range binaries {
		t.dirs = append(t.dirs, filepath.Dir(b))
		if st, err := os.Stat(objfile.PlainPath(b)); err == nil && st.ModTime().After(t.built) {
			t.built = st.ModTime()
		}
	}
	return t, nil
}

// Find returns the size of a source file.
func (t *texts) Find(path string) (int64, error) {
	a, known := t.asked[path]
	if !known {
		a.size, a.err = t.find(path)
		t.asked[path] = a
	}
	return a.size, a.err
}

func (t *texts) find(path string) (int64, error) {
	at, st, missing := t.local(path)
	newer := missing == nil && !t.built.IsZero() && st.ModTime().After(t.built)
	if missing == nil && !newer {
		t.found[path] = at
		return st.Size(), nil
	}
	// The server has the text that the program was compiled from.
	remote, err := t.remote(path)
	if err == nil {
		if st, err := os.Stat(remote); err != nil {
			return 0, err
		} else if st.Size() > maxText {
			return 0, tooLarge(path)
		} else {
			t.found[path] = remote
			return st.Size(), nil
		}
	}
	if missing == nil {
		t.newer = append(t.newer, path)
		t.found[path] = at
		return st.Size(), nil
	}
	switch {
	case !errors.Is(missing, fs.ErrNotExist):
		return 0, missing
	case !errors.Is(err, debuginfod.ErrNone):
		return 0, fmt.Errorf("the file is not on this machine, and debuginfod: %w", err)
	}
	return 0, errors.New("the file is not on this machine or on a server of DEBUGINFOD_URLS; --source-path FROM=TO names another place")
}

// local finds a file on the disk.
func (t *texts) local(path string) (at string, st fs.FileInfo, first error) {
	for _, at := range t.places(path) {
		st, err := os.Stat(at)
		switch {
		case err != nil:
			if first == nil {
				first = err
			}
			continue
		case !st.Mode().IsRegular():
			return "", nil, fmt.Errorf("%s is not a regular file", at)
		case st.Size() > maxText:
			return "", nil, tooLarge(at)
		}
		return at, st, nil
	}
	return "", nil, first
}

func tooLarge(path string) error { return fmt.Errorf("%s is larger than %d MB", path, maxText>>20) }

// remote returns a copy of a file that debuginfod has for one of the builds.
func (t *texts) remote(path string) (string, error) {
	failed := debuginfod.ErrNone
	for _, id := range t.builds {
		at, err := t.fetch(id, path)
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, debuginfod.ErrNone) {
			failed = err
		}
	}
	return "", failed
}

// stale returns which sources may not be those of the program, or "".
func (t *texts) stale() string {
	if len(t.newer) == 0 {
		return ""
	}
	return fmt.Sprintf("%s changed after the program was built, the first is %s: lines may be shown beside other text than they were built of.",
		report.Plural(len(t.newer), "source file"), t.newer[0])
}

// places are where a file may be.
func (t *texts) places(path string) []string {
	for _, m := range t.maps {
		if rest, ok := strings.CutPrefix(path, m[0]); ok {
			return []string{m[1] + rest}
		}
	}
	if sourcename.IsAbs(path) {
		return []string{path}
	}
	var list []string
	for _, dir := range t.dirs {
		list = append(list, filepath.Join(dir, path))
	}
	return list
}

// Read returns the text of a file that was found.
func (t *texts) Read(path string) ([]byte, error) { return os.ReadFile(t.found[path]) }

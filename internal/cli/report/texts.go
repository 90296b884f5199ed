package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// maxText bounds a source file.
const maxText = 32 << 20

// texts finds source files on the disk.
type texts struct {
	maps  [][2]string // FROM and TO of --source-path
	dirs  []string    // in which relative paths are looked for
	found map[string]string
	built time.Time // of the newest binary
	newer []string  // sources that were changed since
}

func newTexts(maps, binaries []string) (*texts, error) {
	t := &texts{found: map[string]string{}, dirs: []string{"."}}
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
	var first error
	for _, at := range t.places(path) {
		st, err := os.Stat(at)
		switch {
		case err != nil:
			if first == nil {
				first = err
			}
			continue
		case !st.Mode().IsRegular():
			return 0, fmt.Errorf("%s is not a regular file", at)
		case st.Size() > maxText:
			return 0, fmt.Errorf("%s is larger than %d MB", at, maxText>>20)
		}
		t.found[path] = at
		if st.ModTime().After(t.built) && !t.built.IsZero() {
			t.newer = append(t.newer, path)
		}
		return st.Size(), nil
	}
	if errors.Is(first, fs.ErrNotExist) {
		return 0, errors.New("the file is not on this machine; --source-path FROM=TO names another place")
	}
	return 0, first
}

// stale says which sources may not be those of the program, "" if none.
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
	if filepath.IsAbs(path) {
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

// buildID returns the build id of a binary, "" if it has none.
func buildID(path string) prof.BuildID {
	bin, err := objfile.Open(path)
	if err != nil {
		return ""
	}
	defer bin.Close()
	id, err := bin.BuildID()
	if err != nil {
		return ""
	}
	return id
}

// isBuild reports whether the binary at path is of a build.
func isBuild(path string, id prof.BuildID) bool { return id != "" && buildID(path) == id }

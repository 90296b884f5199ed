package verb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

// WriteBytes is WriteFile of data.
func WriteBytes(s *Streams, path string, data []byte) error {
	return WriteFile(s, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteProfile writes a profile and syncs it to disk, so that raw files may be removed afterwards.
func WriteProfile(s *Streams, path string, p *prof.Profile) error {
	return replaceFile(s, path, true, func(w io.Writer) error { return mip.WriteProfile(w, p) })
}

// WriteFile writes path completely or not at all: fill writes to a temporary file beside it, which is then
// renamed. An existing file keeps its permissions, and a link its target's place. The path "-" is standard
// output; devices and pipes are written directly, as nothing may replace them.
func WriteFile(s *Streams, path string, fill func(io.Writer) error) error {
	return replaceFile(s, path, false, fill)
}

// replaceFile is WriteFile. If durable is set, the file and its name survive a loss of power.
func replaceFile(s *Streams, path string, durable bool, fill func(io.Writer) error) (err error) {
	if path == "-" {
		return fill(s.Out)
	}
	if path == "" {
		return Usagef("the output file has no name")
	}
	name := path
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", name, err)
		}
	}()
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return withoutPath(err, path)
	case !old.Mode().IsRegular():
		return withoutPath(writeThrough(path, fill), path)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	tmp, done, err := createBeside(path)
	if err != nil {
		return err
	}
	defer done()
	defer func() {
		err = withoutPath(err, tmp.Name())
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	if old != nil {
		if err := tmp.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if durable {
		if err := tmp.Sync(); err != nil {
			return err
		}
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := Replace(tmp.Name(), path); err != nil || !durable {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// syncDir syncs the names in dir to disk. Errors are ignored, as some file systems cannot do it: the file is
// written in any case.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// writeThrough writes directly to path: a device, a pipe, a terminal.
func writeThrough(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = fill(f)
	return errors.Join(err, f.Close())
}

// createBeside creates an empty file in the directory of path, with the usual permissions of new files;
// os.CreateTemp restricts them. It is a temporary file until done is called.
func createBeside(path string) (f *os.File, done func(), err error) {
	const attempts = 100
	dir, base := filepath.Split(path)
	for n := 0; ; n++ {
		name := dir + "." + base + "." + strconv.FormatUint(rand.Uint64(), 36)
		done := Temporary.Add(name)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return f, done, nil
		}
		done()
		if !errors.Is(err, fs.ErrExist) || n == attempts {
			return nil, nil, withoutPath(err, name)
		}
	}
}

// withoutPath returns the cause of err without the path, if err is about that file, for a message that names
// the file already, or should not.
func withoutPath(err error, path string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == path {
		return pe.Err
	}
	return err
}

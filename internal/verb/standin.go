package verb

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Executable returns the path of a program from one without the suffix that Windows gives them.
func Executable(path string) string {
	if IsExecutable(path) {
		return path
	}
	return path + exeSuffix
}

// IsExecutable reports whether a name has that suffix.
func IsExecutable(name string) bool { return strings.HasSuffix(strings.ToLower(name), exeSuffix) }

// linkOrCopy makes a stand-in for a system where links by name need a right that users lack: another name of the file, or, on
// another volume, a copy, of which others are names.
type linkOrCopy struct {
	link   func(from, to string) error
	copied string // the copy, "" before the first
}

func (l *linkOrCopy) standIn(self, path string) error {
	for _, from := range []string{self, l.copied} {
		if from == "" {
			continue
		}
		if err := l.link(from, path); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := copyProgram(self, path); err != nil {
		return err
	}
	l.copied = path
	return nil
}

// copyProgram copies a program, completely or not at all, to a path at which there is none.
func copyProgram(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "copy", Path: to, Err: fs.ErrExist}
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), "new-")
	if err != nil {
		return err
	}
	defer Temporary.Add(out.Name())()
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o755), out.Close()); err == nil {
		err = Replace(out.Name(), to)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}

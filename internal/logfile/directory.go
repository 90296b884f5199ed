package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NoneError is the error for a directory without a file of the kind that is expected.
type NoneError struct{ Dir, What string }

func (e *NoneError) Error() string {
	return fmt.Sprintf("%s: the directory contains no %s", e.Dir, e.What)
}

// ExpandDirs is Expand, and replaces directories by the files below them that detect accepts by their first
// HeadSize bytes, unpacked. A directory without any is a *NoneError, which says what is expected.
func ExpandDirs(args []string, what string, detect func(head []byte) bool) ([]string, error) {
	paths, err := Expand(args)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, path := range paths {
		if st, err := os.Stat(path); path == Stdin || err != nil || !st.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := filesBelow(path, detect)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, &NoneError{path, what}
		}
		files = append(files, found...)
	}
	return Expand(files)
}

// filesBelow returns the regular files below dir that detect accepts.
func filesBelow(dir string, detect func(head []byte) bool) (files []string, err error) {
	errSeen := errors.New("seen")
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		accepted := false
		f, err := Open(path, nil, func(head []byte) error {
			accepted = detect(head)
			return errSeen // the rest is not needed
		})
		if err == nil {
			f.Close()
		}
		if accepted {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

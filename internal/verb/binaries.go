package verb

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxBelow bounds the files of a directory that are looked at.
const maxBelow = 200_000

// Binaries returns the programs, libraries and debug files below a directory: files that can be executed, and those
// named as libraries and debug files are, which begin as a binary does. Directories that cannot be read or are hidden
// are left out.
func Binaries(dir string) (paths []string) {
	n := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // no error is passed on
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			if path != dir && Hidden(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if n++; n > maxBelow {
			return fs.SkipAll
		}
		st, err := os.Stat(path) // of what a link leads to
		if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 && !namedBinary(d.Name()) {
			return nil
		}
		if head, err := ReadHead(path); err == nil && IsBinary(head) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// namedBinary reports whether a file has the name of a library or a debug file.
func namedBinary(name string) bool {
	return strings.HasSuffix(name, ".debug") || strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.")
}

// IsDir reports whether there is a directory at path.
func IsDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Hidden reports whether a directory of this name is left out when the files below another one are looked at: if the
// name begins with a dot, but for the directories of debug files.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != ".build-id" && name != ".debug" || name == "node_modules"
}

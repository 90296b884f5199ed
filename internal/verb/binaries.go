package verb

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/export"
)

// maxBelow bounds the files of a directory that are looked at.
const maxBelow = 200_000

// Binaries returns the programs, libraries and debug files below a directory: files that MayBeBinary selects and that
// begin as a binary does. It calls failed for a directory that cannot be read, and for dir if it has more files than
// are looked at.
func Binaries(dir string, failed func(path string, err error)) (paths []string) {
	n := 0
	WalkFiles(dir, failed, func(path string, d fs.DirEntry) error {
		if n++; n > maxBelow {
			failed(dir, fmt.Errorf("has more than %d files: name a smaller directory", maxBelow))
			return fs.SkipAll
		}
		if !MayBeBinary(path, d) {
			return nil
		}
		if head, err := ReadHead(path); err == nil && objfile.IsBinary(head) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// WalkFiles calls visit for each file below a directory, or below the one that a link dir leads to, in the order of
// their names, and failed for each directory that cannot be read. Directories of version control are left out. visit
// may return fs.SkipAll.
func WalkFiles(dir string, failed func(path string, err error), visit func(path string, d fs.DirEntry) error) {
	root := dir + string(filepath.Separator)                                       // where dir is a link, the directory it leads to
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // no error is passed on
		switch {
		case err != nil:
			failed(filepath.Clean(path), err)
			return nil
		case !d.IsDir():
			return visit(path, d)
		case path != root && VersionControl(d.Name()):
			return fs.SkipDir
		}
		return nil
	})
}

// MayBeBinary reports whether a file may be a program, a library or a debug file: if it can be executed or has the name
// of one. Archives of build results often do not preserve that a file can be executed; names of programs have no suffix.
func MayBeBinary(path string, d fs.DirEntry) bool {
	name := d.Name()
	named := !strings.Contains(name, ".") || strings.Contains(name, ".so.") || slices.Contains(binarySuffixes, filepath.Ext(name))
	if d.Type().IsRegular() && named {
		return true
	}
	st, err := os.Stat(path) // of what a link leads to
	return err == nil && st.Mode().IsRegular() && (named || st.Mode()&0o111 != 0)
}

// binarySuffixes are those of programs, libraries and debug files.
var binarySuffixes = []string{".debug", ".so", ".dylib", ".node", ".elf", ".out", ".exe", ".axf"}

// SplitBinaries returns the arguments that are programs, libraries or debug files apart from the others, which may not
// be files.
func SplitBinaries(args []string) (others, binaries []string) {
	for _, arg := range args {
		if isBinary(arg) {
			binaries = append(binaries, arg)
		} else {
			others = append(others, arg)
		}
	}
	return others, binaries
}

func isBinary(path string) bool {
	if IsURL(path) || IsDir(path) || IsStream(path) {
		return false
	}
	head, err := ReadHead(path)
	return err == nil && objfile.IsBinary(head)
}

// IsDir reports whether there is a directory at path.
func IsDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// SameFile reports whether two paths are those of one file that exists.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// VersionControl reports whether a directory of this name has the data of a version control system, which is left out
// when the files below another directory are looked at. Other directories whose names begin with a dot are not:
// libtool puts programs into .libs, and debug files are below .build-id.
func VersionControl(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS":
		return true
	}
	return false
}

// BoltSymbols returns the function symbols of a binary.
func BoltSymbols(bin *objfile.File) ([]export.Symbol, error) {
	syms, err := bin.LinkSymbols()
	if err != nil {
		return nil, err
	}
	if len(syms) == 0 {
		return nil, fmt.Errorf("%s: no symbols: give the unstripped binary", bin.Path())
	}
	out := make([]export.Symbol, len(syms))
	for i, s := range syms {
		out[i] = export.Symbol{Name: s.Name, Addr: s.Addr, Size: s.Size, File: s.File, Ordinal: s.Ordinal}
	}
	return out, nil
}

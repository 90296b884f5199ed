package objfile

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// Identity is what tells a module from others.
type Identity struct {
	Path    string
	BuildID string // in lower-case hexadecimal, "" if it has none
}

// Identify returns the identity of the module at a path, and whether there is one that can be read.
func Identify(path string) (Identity, bool) {
	f, ok := openRegular(path)
	if !ok {
		return Identity{}, false
	}
	defer f.Close()
	i := Identity{Path: path}
	if id, err := f.BuildID(); err == nil {
		i.BuildID = id.String()
	}
	return i, true
}

// Same reports whether two files are one module, which may have been stripped in between: their build ids are equal or, if
// neither has one, their bytes.
func (i *Identity) Same(as *Identity) bool {
	if i.BuildID != "" || as.BuildID != "" {
		return i.BuildID == as.BuildID
	}
	x, ok1 := openRegular(i.Path)
	y, ok2 := openRegular(as.Path)
	if ok1 {
		defer x.Close()
	}
	if ok2 {
		defer y.Close()
	}
	return ok1 && ok2 && x.size == y.size && equalBytes(x, y)
}

// openRegular opens a module. A pipe or a device, which would wait or never end, is none.
func openRegular(path string) (*File, bool) {
	st, err := os.Stat(PlainPath(path))
	if err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	f, err := Open(path)
	return f, err == nil
}

func equalBytes(x, y *File) bool {
	const block = 1 << 16
	p, q := make([]byte, block), make([]byte, block)
	for at := int64(0); at < int64(x.size); at += block {
		n := min(block, int64(x.size)-at)
		if _, err := io.ReadFull(io.NewSectionReader(x.f, at, n), p[:n]); err != nil {
			return false
		}
		if _, err := io.ReadFull(io.NewSectionReader(y.f, at, n), q[:n]); err != nil {
			return false
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false
		}
	}
	return true
}

// Usable reports whether the module at a path has functions with names or in unwind tables, and
// the build id, if that is not "" (of which the kernel may keep only the beginning); or why not,
// "" if there is no such file.
func Usable(path, id string) (ok bool, why string) {
	f, ok := openRegular(path)
	if !ok {
		return false, ""
	}
	defer f.Close()
	if own, err := f.BuildID(); id != "" && (err != nil || !strings.HasPrefix(own.String(), id) && !strings.HasPrefix(id, own.String())) {
		return false, "another build is at its path"
	}
	if f.hasFunctions() {
		return true, ""
	}
	if left, err := f.RemainingSymbols(); err == nil && left.Named+left.Unnamed > 0 {
		return true, ""
	}
	return false, "it has neither symbols nor unwind tables"
}

package pipeline

import (
	"path/filepath"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// files returns how the binaries are recognised among the mapped files.
func (b *binaries) files() unwind.Files {
	f := unwind.Files{}
	c := &sameFiles{known: map[string][]bool{}}
	for _, p := range b.programs {
		c.binaries = append(c.binaries, objfile.Identity{Path: p.Path, BuildID: p.BuildID})
		f.Aliases = append(f.Aliases, aliases(p.Path))
	}
	f.Same = c.same
	return f
}

// Modules returns the binaries at some paths as they may be mapped. Of one that cannot be read
// the name is used.
func Modules(paths []string) *mapped.Modules {
	c := &sameFiles{known: map[string][]bool{}}
	var list []mapped.Module
	for _, path := range paths {
		m := mapped.Module{Names: append([]string{filepath.Base(path)}, aliases(path)...)}
		if f, err := objfile.Open(path); err == nil {
			m.Segments = f.Segments()
			if id, err := f.BuildID(); err == nil {
				m.BuildID = id.String()
			}
			f.Close()
		}
		list = append(list, m)
		c.binaries = append(c.binaries, objfile.Identity{Path: path, BuildID: m.BuildID})
	}
	return mapped.New(list, c.same)
}

// aliases returns the name of the target of a symbolic link, under which the kernel knows it.
func aliases(path string) []string {
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(real) != filepath.Base(path) {
		return []string{filepath.Base(real)}
	}
	return nil
}

// sameFiles compares files of this machine with the binaries.
type sameFiles struct {
	binaries []objfile.Identity

	mu    sync.Mutex
	known map[string][]bool
}

// maxSameFiles is the number of files that are compared: samples can name any number.
const maxSameFiles = 1 << 10

// same reports whether the file at a path is a binary.
func (c *sameFiles) same(path string, binary int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	is, ok := c.known[path]
	if !ok {
		is = make([]bool, len(c.binaries))
		if len(c.known) < maxSameFiles {
			if f, ok := objfile.Identify(path); ok {
				for i := range is {
					is[i] = f.Same(&c.binaries[i])
				}
			}
		}
		c.known[path] = is
	}
	return is[binary]
}

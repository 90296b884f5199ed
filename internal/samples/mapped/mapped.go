// Package mapped finds which of some modules, programs and libraries, is at an address of a
// process. All readers of samples use it, so that they agree.
//
// A mapping is recognised by its build id, else by the name of its file, else by the content
// of the file that is at its path on this machine. Its addresses follow from the segments of
// the module: a mapping consists of whole pages, of whatever size the kernel has, so it may
// begin before its segment. Anonymous memory that replaced code of a module, as programs do to
// have their code in huge pages, has the code that was there.
package mapped

import (
	"path"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/sample"
)

// Module is a file that may be mapped.
type Module struct {
	Names    []string          // base names under which it may have run
	BuildID  string            // in lower-case hexadecimal, "" if it has none
	Segments []objfile.Segment // its loaded parts; may be empty if only Match is used
}

// How says how a mapping was recognised.
type How uint8

// The ways.
const (
	Not        How = iota // as none of the modules
	ByBuildID             // the build ids are equal
	ByName                // the names are equal, and a build id is not known
	ByContent             // the file at its path is the module
	OtherBuild            // the names are equal, but the build ids differ: it is none of the modules
)

// Modules are the modules of a run.
type Modules struct {
	list []Module
	// same reports whether the file at a path of this machine is a module.
	same  func(path string, module int) bool
	known map[mappedFile]match
}

// mappedFile is what a mapping says of its file.
type mappedFile struct{ path, id string }

type match struct {
	module int
	how    How
}

// maxKnown limits the cached results: a path can be anything.
const maxKnown = 1 << 14

// New returns modules. same is called for files with other names than the modules, once for
// each path; it may be nil.
func New(list []Module, same func(path string, module int) bool) *Modules {
	return &Modules{list: list, same: same, known: map[mappedFile]match{}}
}

// Match returns the index of the module that is mapped, or -1.
func (m *Modules) Match(of *sample.Mapping) (module int, how How) {
	key := mappedFile{of.Path, of.BuildID}
	found, ok := m.known[key]
	if !ok {
		found = m.match(of)
		if len(m.known) >= maxKnown {
			clear(m.known)
		}
		m.known[key] = found
	}
	return found.module, found.how
}

func (m *Modules) match(of *sample.Mapping) match {
	f := Parse(of.Path)
	id := of.BuildID
	if id == "" {
		id = f.BuildID
	}
	if Anonymous(of) && id == "" {
		return match{-1, Not}
	}
	for i := range m.list {
		if x := &m.list[i]; id != "" && x.BuildID != "" && sameBuild(id, x.BuildID) {
			return match{i, ByBuildID}
		}
	}
	how := Not
	for i := range m.list {
		x := &m.list[i]
		if !x.named(f.Name) {
			continue
		}
		if id == "" || x.BuildID == "" {
			return match{i, ByName}
		}
		how = OtherBuild
	}
	if how == Not && id == "" && m.same != nil && path.IsAbs(f.Path) {
		for i := range m.list {
			if m.same(f.Path, i) {
				return match{i, ByContent}
			}
		}
	}
	return match{-1, how}
}

func (m *Module) named(name string) bool {
	for _, n := range m.Names {
		if n == name && name != "" {
			return true
		}
	}
	return false
}

// sameBuild reports whether build ids are of one build: the kernel truncates them to 20 bytes.
func sameBuild(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// File is what the path of a mapping says of its file.
type File struct {
	Path    string // without the kernel's remarks
	Name    string // the base name under which it was built or installed
	BuildID string // if the path is that of a cache of files by build id
}

// Parse returns what a path says. The kernel appends " (deleted)" to files that were removed
// or replaced since, and begins the names of memory files with "memfd:". Caches of files by
// build id, perf's and debuginfod's, have names like .build-id/ab/cdef.debug,
// app/abcdef/elf, or abcdef/executable.
func Parse(of string) File {
	p := strings.TrimSuffix(of, " (deleted)")
	f := File{Path: p, Name: path.Base(p)}
	if name, ok := strings.CutPrefix(f.Name, "memfd:"); ok {
		f.Name = name
		return f
	}
	dir, last := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	switch last {
	case "elf", "debug", "executable", "debuginfo", "vdso":
		dir, last = path.Split(dir)
		dir = strings.TrimSuffix(dir, "/")
	default:
		if id := strings.Trim(last, "[]"); isBuildID(id) {
			return File{Path: p, BuildID: id}
		}
		last = strings.TrimSuffix(last, ".debug")
	}
	parent := path.Base(dir)
	switch {
	case path.Base(path.Dir(dir)) == ".build-id" && isBuildID(parent+last):
		return File{Path: p, BuildID: parent + last}
	case last != f.Name && isBuildID(last) && f.Name != last+".debug":
		return File{Path: p, Name: parent, BuildID: last}
	}
	return f
}

// isBuildID reports whether a name is a build id: that of GNU ld has 40 digits, and 16 to 64
// are usual.
func isBuildID(s string) bool {
	const least, most = 32, 128
	if len(s) < least || len(s) > most {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// Anonymous reports whether a mapping has no file: memory for huge pages included.
func Anonymous(m *sample.Mapping) bool {
	p := m.Path
	for _, prefix := range []string{"//anon", "[anon", "/anon_hugepage", "anon_inode:", "/dev/zero", "/SYSV", "[heap]"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return p == ""
}

// Link returns the link-time address of the start of a mapping of a module with some segments,
// and whether the mapping has code of it.
func Link(segments []objfile.Segment, of *sample.Mapping) (link uint64, ok bool) {
	m := Module{Segments: segments}
	return m.link(of, func(uint64) bool { return false })
}

// link returns the link-time address of the start of a mapping, and whether it has code of
// the module, or data if it cannot be executed. That address may be before the segment. Of
// several segments in the same pages of the file it is that with which the module is where
// placed says that it is, or else the one that fits best.
func (m *Module) link(of *sample.Mapping, placed func(bias uint64) bool) (link uint64, ok bool) {
	if of.Linked {
		return of.Offset, true
	}
	best := uint64(0)
	for _, seg := range m.Segments {
		n := overlap(of.Offset, of.Size, seg.Offset, seg.Size)
		if seg.Exec != of.Exec || n == 0 {
			continue
		}
		const fits, starts = 1 << 62, 1 << 61
		at := of.Offset - seg.Offset + seg.Addr
		switch begins, whole := maps(of, &seg); {
		case placed(of.Start - at):
			return at, true
		case whole:
			n |= fits
		case begins:
			n |= starts // whatever follows it in the file
		}
		if n > best {
			best, link = n, at
		}
	}
	return link, best > 0
}

// maps reports whether a mapping may be the one that the kernel made for a segment: whether it
// begins at the beginning of its first page, and whether it also ends at the end of its last.
func maps(of *sample.Mapping, seg *objfile.Segment) (begins, whole bool) {
	const smallest, largest = 12, 16 // of the pages of Linux, as powers of two
	for bits := smallest; bits <= largest; bits++ {
		page := uint64(1) << bits
		if of.Offset != seg.Offset&^(page-1) {
			continue
		}
		begins = true
		if (seg.Offset+seg.Size+page-1)&^(page-1)-of.Offset == of.Size {
			return true, true
		}
	}
	return begins, false
}

// overlap returns how many elements two ranges have in common.
func overlap(a, n, b, m uint64) uint64 {
	end := func(at, size uint64) uint64 { return at + min(size, ^uint64(0)-at) }
	lo, hi := max(a, b), min(end(a, n), end(b, m))
	if hi <= lo {
		return 0
	}
	return hi - lo
}

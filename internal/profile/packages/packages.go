// Package packages sums the coverage of a program by package: how much of the code of each
// ran. It is pure.
package packages

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Package is a Go package, or the sources of another language in one directory.
type Package struct {
	Name      string `json:"name"`
	Functions int    `json:"functions"`
	Ran       int    `json:"executed"`         // of these, in any run
	Absent    int    `json:"absent,omitempty"` // of these, compiled and in no program: they have no bytes
	Bytes     uint64 `json:"bytes"`            // of machine code of the functions
	RanBytes  uint64 `json:"executedBytes"`
}

// Unused returns how many bytes of code no run executed.
func (p *Package) Unused() uint64 { return p.Bytes - p.RanBytes }

// Sum returns the packages of modules for functions that keep accepts, those with the most
// unused code first. Functions that no module has count as not run; those of Go that several
// modules have count once. keep and keepAbsent, which selects of those that no module has, may be nil.
func Sum(modules []*prof.Module, keep func(*prof.Func) bool, keepAbsent func(*prof.Absent) bool) []Package {
	sums := map[string]*Package{}
	ran := ranAnywhere(modules)
	for _, m := range modules {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			id := funcID{f.File, f.Name}
			counted, several := ran[id]
			if keep != nil && !keep(f) || several && counted.done {
				continue
			}
			name := Of(f)
			p := sums[name]
			if p == nil {
				p = &Package{Name: name}
				sums[name] = p
			}
			size, runs := Bytes(m, f), m.Counts[i].Runs > 0
			if several {
				size, runs = counted.bytes, counted.ran
				counted.done = true
			}
			p.Functions++
			p.Bytes += size
			if runs {
				p.Ran++
				p.RanBytes += size
			}
		}
	}
	maps := make([]*prof.Map, len(modules))
	for i, m := range modules {
		maps[i] = &m.Map
	}
	for _, a := range absent.Missing(maps) {
		f := &prof.Func{Name: a.Name, File: a.File}
		if !a.Known() || keepAbsent != nil && !keepAbsent(&a) {
			continue
		}
		p := sums[Of(f)]
		if p == nil {
			p = &Package{Name: Of(f)}
			sums[p.Name] = p
		}
		p.Functions++
		p.Absent++
	}
	list := make([]Package, 0, len(sums))
	for _, p := range sums {
		list = append(list, *p)
	}
	stablesort.Func(list, func(a, b Package) int {
		return cmp.Or(cmp.Compare(b.Unused(), a.Unused()), cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	return list
}

// funcID identifies a function of Go in all modules.
type funcID struct{ file, name string }

// occurrences are what several modules have of a function.
type occurrences struct {
	bytes     uint64 // the largest copy
	ran, done bool   // in any; it was counted
}

// ranAnywhere returns the functions of Go: each test program contains its own copies. Files of other languages
// may have one name in several directories.
func ranAnywhere(modules []*prof.Module) map[funcID]*occurrences {
	all := map[funcID]*occurrences{}
	for _, m := range modules {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			if !strings.HasSuffix(f.File, ".go") {
				continue
			}
			id := funcID{f.File, f.Name}
			o := all[id]
			if o == nil {
				o = &occurrences{}
				all[id] = o
			}
			o.bytes, o.ran = max(o.bytes, Bytes(m, f)), o.ran || m.Counts[i].Runs > 0
		}
	}
	return all
}

// Bytes returns the code size of a function. A Go function that was inlined everywhere has
// none: the size of its record is used.
func Bytes(m *prof.Module, f *prof.Func) uint64 {
	if f.Addr() == m.RawAddr+f.Record {
		return 0
	}
	return f.Size()
}

// Of returns the package of a function.
func Of(f *prof.Func) string {
	if !strings.HasSuffix(f.File, ".go") {
		return path.Dir(f.File)
	}
	// Type arguments contain paths.
	name, _, _ := strings.Cut(f.Name, "[")
	// Paths are escaped, so the path ends at the first dot after the last slash. A receiver
	// follows the path, and has no slash.
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return path.Dir(f.File)
	}
	return unescape(name[:slash+dot])
}

// unescape decodes the linker's escapes of unusual characters in paths: %2e is a dot.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Package packages sums the coverage of a program by package: how much of the code of each
// ran. It is pure.
package packages

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/sourcename"
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
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
// unused code first. Functions that no module has count as not run; those that several
// modules have count once, as do those that compilers split. keep and keepAbsent, which selects of those that no module has, may be nil.
func Sum(modules []*prof.Module, keep func(*prof.Func) bool, keepAbsent func(*prof.Absent) bool) []Package {
	sums := map[string]*Package{}
	copies := copiesOf(modules)
	for _, m := range modules {
		for _, src := range sourcefunc.Of(&m.Map) {
			first := &m.Funcs[src.Funcs[0]]
			c, several := copies[idOf(first, &src)]
			if keep != nil && !keep(first) || several && c.counted {
				continue
			}
			if several {
				c.counted = true
			} else {
				c = &code{}
				c.add(m, &src)
			}
			name := Of(first)
			p := sums[name]
			if p == nil {
				p = &Package{Name: name}
				sums[name] = p
			}
			p.Functions++
			p.Bytes += c.bytes
			p.RanBytes += c.ranBytes
			if c.ran {
				p.Ran++
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

// funcID identifies a function of the source in all modules.
type funcID struct{ file, name string }

// idOf returns the id of a function, the zero value if only its module tells which file it is of.
func idOf(first *prof.Func, src *sourcefunc.Func) funcID {
	if !sourcename.IsAbs(first.File) && !strings.HasSuffix(first.File, ".go") {
		return funcID{}
	}
	return funcID{first.File, sourcefunc.OneBody(src.Name)}
}

// code is the code of a function of the source: of its largest copy, if several modules have it.
type code struct {
	bytes, ranBytes uint64
	ran, counted    bool // in any module
}

// add adds code of a function in a module.
func (c *code) add(m *prof.Module, src *sourcefunc.Func) {
	for _, i := range src.Funcs {
		f := &m.Funcs[i]
		c.bytes += Bytes(m, f)
		if m.Counts[i].Runs > 0 {
			c.ranBytes += Bytes(m, f)
			c.ran = true
		}
	}
}

// copiesOf returns the code of the functions that are known in all modules. Two bodies of a constructor are one
// function.
func copiesOf(modules []*prof.Module) map[funcID]*code {
	all := map[funcID]*code{}
	for _, m := range modules {
		own := map[funcID]*code{}
		for _, src := range sourcefunc.Of(&m.Map) {
			id := idOf(&m.Funcs[src.Funcs[0]], &src)
			if id == (funcID{}) {
				continue
			}
			if own[id] == nil {
				own[id] = &code{}
			}
			own[id].add(m, &src)
		}
		for id, c := range own {
			if was := all[id]; was != nil {
				c = &code{bytes: max(c.bytes, was.bytes), ranBytes: max(c.ranBytes, was.ranBytes), ran: c.ran || was.ran}
			}
			all[id] = c
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

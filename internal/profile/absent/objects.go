package absent

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/bitcode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// UnitsOf returns the units of an object: those of its machine code, or of the code for link-time optimisation if
// it has no other. name stands for a source that the object does not name.
func UnitsOf(body *io.SectionReader, name string) ([]prof.Unit, error) {
	data, err := objfile.SectionOf(body, wire.UnitSection)
	if err != nil {
		return nil, err
	}
	if data == nil {
		u, err := LTOUnit(body, name)
		if u == nil || err != nil {
			return nil, err
		}
		return []prof.Unit{*u}, nil
	}
	return mip.ReadUnits(data)
}

// maxBitcode bounds the size of a module, in bytes.
const maxBitcode = 4 << 30

// LTOUnit returns the unit of the code that an object has for link-time optimisation, nil if it has none: gcc's, of
// which cairn recorded the functions or which lists them itself, or LLVM's.
func LTOUnit(body *io.SectionReader, name string) (*prof.Unit, error) {
	var magic [4]byte
	if n, _ := body.ReadAt(magic[:], 0); n < len(magic) {
		return nil, nil
	}
	if bitcode.Is(magic[:]) {
		if body.Size() > maxBitcode {
			return nil, fmt.Errorf("a module of %d bytes", body.Size())
		}
		data, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
		if err != nil {
			return nil, err
		}
		return BitcodeUnit(data, name)
	}
	code, err := objfile.ReadLTOCode(body)
	if code == nil || err != nil {
		return nil, err
	}
	data, err := objfile.SectionOf(body, wire.LTOSection)
	if err != nil {
		return nil, err
	}
	units, err := mip.ReadUnits(data)
	if err != nil {
		return nil, err
	}
	return gccUnit(code, units, name), nil
}

// gccUnit joins what gcc's object says of its functions with the records of cairn.
func gccUnit(code *objfile.LTOCode, units []prof.Unit, name string) *prof.Unit {
	u := &prof.Unit{File: cut(cmp.Or(code.Source, name)), LTO: true}
	recorded := map[string]*prof.Absent{}
	for i := range units {
		u.File = units[i].File
		u.Refs = append(u.Refs, units[i].Refs...)
		for k := range units[i].Funcs {
			recorded[units[i].Funcs[k].Name] = &units[i].Funcs[k]
		}
	}
	for i := range code.Funcs {
		f := &code.Funcs[i]
		a := prof.Absent{Name: cut(f.Name), File: u.File}
		if r := recorded[f.Name]; r != nil {
			a.File, a.Lines = r.File, r.Lines
		} else if !f.Known || len(units) > 0 { // a constant, or one that its user left out
			continue
		}
		if a.Shared = f.Shared; f.Line > 0 && f.File != "" {
			define(&a, f.File, uint32(f.Line))
		}
		u.Funcs = append(u.Funcs, a)
	}
	u.Refs = sortedRefs(u.Refs)
	prof.MarkInlined(u.Funcs, u.Funcs)
	return u
}

// BitcodeUnit returns the unit of a module of LLVM's bitcode. name stands for a source that the module does not name.
func BitcodeUnit(data []byte, name string) (*prof.Unit, error) {
	m, err := bitcode.Read(data)
	if err != nil {
		return nil, err
	}
	code, err := bitcode.ReadCode(data)
	if err != nil {
		return nil, err
	}
	u := &prof.Unit{File: cut(cmp.Or(m.Source, name)), LTO: true}
	spellNames(code, strings.Contains(m.Target, "-apple-"))
	var inlinable []bool // of u.Funcs
	for i := range code.Funcs {
		f := &code.Funcs[i]
		a := prof.Absent{Name: cut(f.Name), File: u.File, Shared: f.Shared}
		for _, l := range f.Lines {
			a.Lines = append(a.Lines, prof.LineRange{File: cut(l.File), From: l.Line, To: l.Line})
		}
		if f.Line > 0 && f.File != "" {
			define(&a, f.File, f.Line)
		}
		// clang has inlined calls in the module, or computed them, and no reference is left of those.
		small := !f.Effects || f.Insts < leastTraced || a.Line == 0
		inlinable = append(inlinable, small)
		u.Funcs = append(u.Funcs, a)
		u.Refs = append(u.Refs, prof.Refs{From: a.Name, To: f.Refs})
	}
	for _, d := range code.Data {
		u.Refs = append(u.Refs, prof.Refs{From: d.Name, To: d.Refs})
	}
	u.Refs = sortedRefs(u.Refs)
	prof.MarkInlined(u.Funcs, u.Funcs)
	for i := range u.Funcs {
		u.Funcs[i].Inlined = u.Funcs[i].Inlined || inlinable[i]
	}
	return u, nil
}

// spellNames replaces names of symbols that are to stay as they are, which begin with a byte of 1, by those of functions: for
// Mach-O, other names get an underscore.
func spellNames(code *bitcode.Code, apple bool) {
	spell := func(name *string) {
		if rest, ok := strings.CutPrefix(*name, "\x01"); ok {
			if *name = rest; apple {
				*name = strings.TrimPrefix(rest, "_")
			}
		}
	}
	for i := range code.Funcs {
		spell(&code.Funcs[i].Name)
		for k := range code.Funcs[i].Refs {
			spell(&code.Funcs[i].Refs[k])
		}
	}
	for i := range code.Data {
		spell(&code.Data[i].Name)
		for k := range code.Data[i].Refs {
			spell(&code.Data[i].Refs[k])
		}
	}
}

// leastTraced is a number of instructions: clang does not inline larger functions only to compute them, so that a
// call of one with effects leaves code of it, with its lines.
const leastTraced = 40

// define sets where a function is defined, which is a line with code of it.
func define(a *prof.Absent, file string, line uint32) {
	a.Source, a.Line = cut(file), line
	a.Lines = joinLines(a.Lines, []prof.LineRange{{File: a.Source, From: line, To: line}})
}

// sortedRefs returns references in the order of records, each name once. Names that the formats do not allow are
// left out.
func sortedRefs(refs []prof.Refs) []prof.Refs {
	stablesort.Func(refs, func(a, b prof.Refs) int { return cmp.Compare(a.From, b.From) })
	var out []prof.Refs
	for _, r := range refs {
		if n := len(out); n > 0 && out[n-1].From == r.From {
			out[n-1].To = append(slices.Clone(out[n-1].To), r.To...)
			continue
		}
		if len(r.From) <= mip.MaxName {
			out = append(out, r)
		}
	}
	for i := range out {
		to := slices.DeleteFunc(slices.Clone(out[i].To), func(name string) bool { return len(name) > mip.MaxName })
		slices.Sort(to)
		out[i].To = slices.Compact(to)
	}
	return out
}

// KeepRefs leaves of the references of units those from and to names that any of them has functions or data for.
func KeepRefs(units []*prof.Unit) {
	known := map[string]bool{}
	for _, u := range units {
		for i := range u.Funcs {
			known[u.Funcs[i].Name] = true
		}
		for i := range u.Refs {
			known[u.Refs[i].From] = true
		}
	}
	for _, u := range units {
		kept := u.Refs[:0:0]
		for _, r := range u.Refs {
			r.To = slices.DeleteFunc(slices.Clone(r.To), func(name string) bool { return !known[name] })
			if len(r.To) > 0 {
				kept = append(kept, r)
			}
		}
		u.Refs = kept
	}
}

// cut returns as much of a text as the formats allow.
func cut(s string) string { return s[:min(len(s), mip.MaxName)] }

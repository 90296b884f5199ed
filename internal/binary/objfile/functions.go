package objfile

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// ErrNoFunctions reports that neither the module nor a separate debug file names functions.
var ErrNoFunctions = errors.New("no function symbols (it is stripped; give the unstripped binary, or put its .debug or .pdb file beside it)")

const (
	maxFunctions = 1 << 24 // the maximum of a map
	maxMapID     = 20      // bytes of a build id in raw files
)

// FunctionMap makes a map of a module that was not instrumented, from its function symbols:
// those of .symtab, of the .symtab of its debug file if it is stripped, or else of .dynsym.
//
// There is one function for each address in the executable sections except the PLT's. If an
// address has several names, the one that is best for a linker's order file is chosen: a
// global before a weak before a local name, then the shortest, then the first in the alphabet.
// The parts that compilers split off (f.cold, f.part.0) are separate functions. A symbol
// without a size extends to the next symbol or the end of its section. The source file is the
// base name in the symbol table, which only local functions have.
//
// Functions are ascending by address, in mode order, with one byte of record each; RawAddr is
// 0. Without a build id the error is ErrNoBuildID, without functions ErrNoFunctions, both
// prefixed with the path.
func (f *File) FunctionMap() (*prof.Map, error) {
	id, err := f.RecordedID()
	if err != nil {
		return nil, err
	}
	return f.functionMap(id)
}

// functionMap is FunctionMap for a given build id.
func (f *File) functionMap(id prof.BuildID) (*prof.Map, error) {
	funcs, err := f.functions()
	if err != nil {
		return nil, err
	}
	switch {
	case len(funcs) == 0 && f.damage != nil:
		return nil, fmt.Errorf("%w; %s: %w", f.damage, f.path, ErrNoFunctions)
	case len(funcs) == 0:
		return nil, fmt.Errorf("%s: %w", f.path, ErrNoFunctions)
	}
	if len(funcs) > maxFunctions {
		return nil, fmt.Errorf("%s: %d functions, at most %d are allowed", f.path, len(funcs), maxFunctions)
	}
	m := &prof.Map{
		BuildID: id[:min(len(id), maxMapID)],
		Module:  strings.TrimSuffix(filepath.Base(f.path), ".debug"),
		RawSize: uint64(len(funcs)),
		Machine: f.MachineName(),
		Funcs:   make([]prof.Func, len(funcs)),
	}
	for i := range funcs {
		m.Funcs[i] = prof.Func{
			Name: funcs[i].name, File: funcs[i].file, Mode: prof.ModeOrder, Record: uint64(i),
			Fragments: []prof.Fragment{{Addr: funcs[i].addr, Size: uint32(min(funcs[i].size, math.MaxUint32))}},
		}
	}
	return m, nil
}

// functions returns one symbol for each address, ascending.
func (f *File) functions() ([]symbol, error) {
	code := f.functionSections()
	var funcs []symbol
	err := f.functionsUntil(code, func(sym *symbol) bool {
		funcs = append(funcs, *sym)
		return true
	})
	if err != nil {
		return nil, err
	}
	return onePerAddress(funcs, code), nil
}

// functionsUntil calls visit with the function symbols in code, until it returns false.
func (f *File) functionsUntil(code []span, visit func(*symbol) bool) error {
	table, s := f.openSymbols()
	if s == nil {
		table, s = f, f.symbolSection(elf.SHT_DYNSYM)
	}
	if s == nil {
		return nil
	}
	defer f.done(table)
	return table.symbolsUntil(s, func(sym *symbol) bool {
		if sym.isFunc() && sym.name != "" && sectionEnd(code, sym.addr) != 0 {
			return visit(sym)
		}
		return true
	})
}

// hasFunctions reports whether FunctionSymbols returns any.
func (f *File) hasFunctions() bool {
	has := false
	err := f.functionsUntil(f.functionSections(), func(*symbol) bool {
		has = true
		return false
	})
	return err == nil && has
}

// functionSections returns the address ranges that contain functions, ascending.
func (f *File) functionSections() []span {
	var code []span
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr != 0 && s.Size != 0 && s.Addr+s.Size > s.Addr &&
			s.Name != ".plt" && !strings.HasPrefix(s.Name, ".plt.") {
			code = append(code, span{s.Addr, s.Addr + s.Size})
		}
	}
	stablesort.Func(code, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return code
}

// sectionEnd returns the end of the range that contains addr, or 0.
func sectionEnd(code []span, addr uint64) uint64 {
	i, _ := slices.BinarySearchFunc(code, addr, func(s span, addr uint64) int {
		if s.lo > addr {
			return 1
		}
		return -1
	})
	if i == 0 || addr >= code[i-1].hi {
		return 0
	}
	return code[i-1].hi
}

// onePerAddress sorts functions by address, keeps the best name and the largest size of each,
// and computes missing sizes.
func onePerAddress(funcs []symbol, code []span) []symbol {
	stablesort.Func(funcs, func(a, b symbol) int {
		if order := cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(bindRank(a.bind), bindRank(b.bind)), cmp.Compare(len(a.name), len(b.name))); order != 0 {
			return order
		}
		return cmp.Or(compareBodies(a.name, b.name), cmp.Compare(a.file, b.file))
	})
	kept := funcs[:0]
	for _, fn := range funcs {
		if last := len(kept) - 1; last >= 0 && kept[last].addr == fn.addr {
			kept[last].size = max(kept[last].size, fn.size)
			if fn.kind == elf.STT_GNU_IFUNC {
				kept[last].kind = fn.kind
			}
			continue
		}
		kept = append(kept, fn)
	}
	for i := range kept {
		fn := &kept[i]
		end := sectionEnd(code, fn.addr)
		if fn.size == 0 && i+1 < len(kept) {
			fn.size = min(end, kept[i+1].addr) - fn.addr
		} else if fn.size == 0 || fn.size > end-fn.addr {
			fn.size = end - fn.addr
		}
	}
	return kept
}

// completeBodies are the marks of constructors and destructors of complete objects in mangled names of the Itanium C++
// ABI. Where they are the same as those of base objects, compilers write the code of the latter, C2 and D2, and make
// the former other names of it: profiles, which are made from this code, have the latter.
var completeBodies = strings.NewReplacer("C1E", "C2E", "D1E", "D2E")

// compareBodies orders names of one function: C2 before C1, others by their bytes.
func compareBodies(a, b string) int {
	return cmp.Or(strings.Compare(completeBodies.Replace(a), completeBodies.Replace(b)), strings.Compare(b, a))
}

func bindRank(b elf.SymBind) int {
	switch b {
	case elf.STB_GLOBAL:
		return 0
	case elf.STB_WEAK:
		return 1
	}
	return 2
}

package objfile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// LinkObject is an input of a link as a linker sees it: the names that it defines and those
// that it needs.
type LinkObject struct {
	Path, Member string // of an archive; "" otherwise
	Shared       bool   // a shared library
	LTO          LTO
	Names        []LinkName // of functions and of symbols without a type; of a library, the exported ones
}

// LTO is the kind of link-time optimisation that an object needs.
type LTO uint8

// The kinds. The names in bitcode are not read.
const (
	NoLTO   LTO = iota
	GCCLTO      // gcc's intermediate code, possibly with machine code
	Bitcode     // of LLVM
)

// LinkName is a name in an object.
type LinkName struct {
	Name    string
	Defined bool
	Local   bool // not visible to other objects
	Data    bool
	LTO     bool   // from gcc's intermediate code, which does not distinguish data from functions
	Untyped bool   // the symbol has no type
	Addr    uint64 // for a defined one; names with the same address are the same function
	// Calls and Pointers are the numbers of references to a defined name from its own object;
	// From has some of the functions that contain them.
	Calls, Pointers int
	From            []string
}

const (
	maxFrom    = 3
	bitcode    = "BC\xc0\xde"
	bitcodeAlt = "\xde\xc0\x17\x0b" // with a wrapper around it
	gccLTO     = ".gnu.lto_"
)

// LinkObjects reads an object, the members of an archive, or a shared library. For other
// files, such as linker scripts, the error is ErrNotELF, prefixed with the path.
func LinkObjects(path string) ([]LinkObject, error) {
	if is, err := isBitcode(path); err != nil || is {
		return []LinkObject{{Path: path, LTO: Bitcode}}, err
	}
	var out []LinkObject
	err := eachImage(path, func(im *Image, member string) error {
		if im == nil {
			out = append(out, LinkObject{Path: path, Member: member, LTO: Bitcode})
			return nil
		}
		o, err := im.linkObject()
		if err != nil {
			return err
		}
		o.Path, o.Member = path, member
		out = append(out, *o)
		return nil
	})
	return out, err
}

func isBitcode(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return hasBitcode(f), nil
}

func hasBitcode(r io.ReaderAt) bool {
	var magic [4]byte
	n, _ := r.ReadAt(magic[:], 0)
	return n == 4 && (string(magic[:]) == bitcode || string(magic[:]) == bitcodeAlt)
}

// eachImage calls visit with the ELF file at path, or with each of an archive's members; with
// nil for a bitcode member. Members of other kinds are skipped.
func eachImage(path string, visit func(im *Image, member string) error) error {
	f, st, err := openStat(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	var magic [8]byte
	n, _ := f.ReadAt(magic[:], 0)
	if kind := string(magic[:n]); kind == arMagic || kind == thinMagic {
		return eachBody(path, f, st.Size(), kind == thinMagic, func(path, member string, r *io.SectionReader) error {
			return visitMember(path, member, r, visit)
		})
	}
	im, err := readImage(path, f, uint64(st.Size()), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return visit(im, "")
}

// linkObject reads the names of an image.
func (im *Image) linkObject() (*LinkObject, error) {
	o := &LinkObject{Shared: im.kind == elf.ET_DYN}
	kind := elf.SHT_SYMTAB
	if !im.Relocatable() {
		kind = elf.SHT_DYNSYM
	}
	if err := im.ltoNames(o); err != nil {
		return nil, err
	}
	table := im.find(kind)
	if table == 0 {
		return o, nil
	}
	syms, err := im.symbolTable(table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", im.path, err)
	}
	at := make([]int, len(syms)) // of a symbol in o.Names, plus 1
	for i := range syms {
		s := &syms[i]
		if s.name == "" || s.kind == elf.STT_SECTION || s.kind == elf.STT_FILE {
			continue
		}
		o.Names = append(o.Names, LinkName{
			Name: s.name, Defined: s.defined, Local: s.bind == elf.STB_LOCAL, Addr: s.addr,
			Data:    s.kind == elf.STT_OBJECT || s.kind == elf.STT_TLS || s.kind == elf.STT_COMMON,
			Untyped: s.kind == elf.STT_NOTYPE,
		})
		at[i] = len(o.Names)
	}
	if !im.Relocatable() {
		return o, nil
	}
	return o, im.countReferences(o, table, syms, at)
}

// ltoNames reads the names of gcc's intermediate code. An object may also have machine code of
// the same functions, and so their names twice.
func (im *Image) ltoNames(o *LinkObject) error {
	is, err := im.ltoSymbols(func(s *ltoSymbol) {
		o.Names = append(o.Names, LinkName{Name: s.name, Defined: s.defined(), Data: s.kind == ltoCommon, LTO: true})
	})
	if is {
		o.LTO = GCCLTO
	}
	return err
}

// countReferences counts the references to names that the object defines.
func (im *Image) countReferences(o *LinkObject, table uint32, syms []imageSymbol, at []int) error {
	funcs := slices.Clone(syms) // sorted by address, to find the function that contains a reference
	funcs = slices.DeleteFunc(funcs, func(s imageSymbol) bool { return s.kind != elf.STT_FUNC || !s.defined })
	stablesort.Func(funcs, func(a, b imageSymbol) int { return cmp.Compare(a.addr, b.addr) })
	for i := range im.sections {
		rel := &im.sections[i]
		if rel.kind != elf.SHT_RELA || rel.link != table || int(rel.info) >= len(im.sections) || im.word != 8 {
			continue
		}
		target := &im.sections[rel.info]
		if target.flags&elf.SHF_ALLOC == 0 || target.name == ".eh_frame" {
			continue
		}
		raw, err := im.contents(rel)
		if err != nil {
			return fmt.Errorf("%s: relocations (%s): %w", im.path, rel.name, err)
		}
		for ; len(raw) >= 24; raw = raw[24:] {
			f := im.fields(raw)
			offset, info := f.word(), f.word()
			symbol := info >> 32
			if symbol >= uint64(len(syms)) || at[symbol] == 0 || !syms[symbol].defined {
				continue
			}
			n := &o.Names[at[symbol]-1]
			if n.Data || n.Local {
				continue
			}
			n.refer(target, im.branches(uint32(info)), funcBefore(funcs, target.addr+offset))
		}
	}
	return nil
}

// branches reports whether a type of relocation is that of a direct call or jump.
func (im *Image) branches(kind uint32) bool {
	switch im.machine {
	case elf.EM_X86_64:
		return elf.R_X86_64(kind) == elf.R_X86_64_PLT32
	case elf.EM_AARCH64:
		return elf.R_AARCH64(kind) == elf.R_AARCH64_CALL26 || elf.R_AARCH64(kind) == elf.R_AARCH64_JUMP26
	}
	return false
}

// refer counts one reference from a function, which is a branch or not.
func (n *LinkName) refer(target *imageSection, branch bool, from string) {
	code := target.flags&elf.SHF_EXECINSTR != 0
	if code && branch {
		n.Calls++
	} else {
		n.Pointers++
	}
	if code && from != "" && len(n.From) < maxFrom && !slices.Contains(n.From, from) {
		n.From = append(n.From, from)
	}
}

// funcBefore returns the name of the last function that starts at or below addr.
func funcBefore(funcs []imageSymbol, addr uint64) string {
	i, found := slices.BinarySearchFunc(funcs, addr, func(s imageSymbol, addr uint64) int { return cmp.Compare(s.addr, addr) })
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return funcs[i].name
}

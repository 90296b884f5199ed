package objfile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Image is an ELF file of any word size and byte order, or a Mach-O file, linked or not, with
// the data that instrumentation maps need: tables with their relocations applied, names of
// functions and their declarations. File, which everything else is read through, supports
// linked little-endian ELF modules.
//
// The sections of a relocatable ELF object have no addresses. Here they are assigned as by a
// linker: code first, from 0 on in file order. Those of a Mach-O object have addresses
// already.
type Image struct {
	headers
	path      string
	close     func() error
	debugRoot string

	symbols map[uint32][]imageSymbol   // by symbol table, those that were needed
	relocs  map[uint32][]*imageSection // by the section they are for, in an object; 0 in a module
	code    []span                     // sections with code, ascending
	macho   *machO                     // nil in an ELF file
}

// Table is the contents of a section with relocations applied.
type Table struct {
	Data      []byte
	Addr      uint64 // link-time address
	Offset    uint64 // in the file
	Word      int    // bytes of an address, 4 or 8
	BigEndian bool
}

// OpenImage opens the ELF or Mach-O file at path.
func OpenImage(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	im, err := newImage(path, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return im, nil
}

func newImage(path string, f *os.File) (*Image, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readAnyImage(path, f, uint64(st.Size()), f.Close)
}

// readAnyImage reads a file that is ELF or Mach-O.
func readAnyImage(path string, r io.ReaderAt, size uint64, closer func() error) (*Image, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); isMachO(magic[:n]) {
		im := emptyImage(path, r, size, closer)
		return im, im.readMachO()
	}
	return readImage(path, r, size, closer)
}

func emptyImage(path string, r io.ReaderAt, size uint64, closer func() error) *Image {
	return &Image{
		headers: headers{r: r, size: size}, path: path, close: closer, debugRoot: DefaultDebugRoot, symbols: map[uint32][]imageSymbol{},
	}
}

// readImage reads an ELF file.
func readImage(path string, r io.ReaderAt, size uint64, closer func() error) (*Image, error) {
	im := emptyImage(path, r, size, closer)
	err := im.read()
	if err == nil && im.Relocatable() {
		im.layOut()
	}
	return im, err
}

// Close closes the file.
func (im *Image) Close() error { return im.close() }

// SetDebugRoot replaces DefaultDebugRoot as the directory in which separate debug files are
// searched.
func (im *Image) SetDebugRoot(dir string) { im.debugRoot = dir }

// Relocatable reports whether the file is an object that has not been linked.
func (im *Image) Relocatable() bool { return im.kind == elf.ET_REL }

// Has reports whether there is a section with this name that has contents.
func (im *Image) Has(name string) bool {
	for i := range im.sections {
		if s := &im.sections[i]; s.name == name && s.kind != elf.SHT_NULL && s.kind != elf.SHT_NOBITS {
			return true
		}
	}
	return false
}

// Tables returns the contents of all sections with this name, with relocations applied: those
// of the object file, or the dynamic ones of a module that can be loaded anywhere. A linked
// module has one at most. For sections without contents the error is ErrNoContents, prefixed
// with the path.
func (im *Image) Tables(name string) ([]Table, error) {
	var tables []Table
	for i := range im.sections {
		s := &im.sections[i]
		if s.name != name || s.kind == elf.SHT_NULL {
			continue
		}
		if s.kind == elf.SHT_NOBITS {
			return nil, fmt.Errorf("%s: %s: %w", im.path, name, ErrNoContents)
		}
		data, err := im.contents(s)
		if err == nil {
			err = im.relocate(uint32(i), data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: section %s: %w", im.path, name, err)
		}
		tables = append(tables, Table{data, s.addr, s.offset, im.word, im.order == binary.BigEndian})
	}
	return tables, nil
}

// HasCode reports whether a link-time address is in a section with code.
func (im *Image) HasCode(addr uint64) bool {
	code := im.codeSpans()
	i, _ := slices.BinarySearchFunc(code, addr, func(s span, a uint64) int {
		if s.hi <= a {
			return -1
		}
		return 1
	})
	return i < len(code) && code[i].lo <= addr
}

// codeSpans returns the addresses of sections with code, ascending.
func (im *Image) codeSpans() []span {
	if im.code == nil {
		im.code = []span{}
		for i := range im.sections {
			if s := &im.sections[i]; s.flags&elf.SHF_EXECINSTR != 0 && s.flags&elf.SHF_ALLOC != 0 && s.size > 0 && s.addr+s.size > s.addr {
				im.code = append(im.code, span{s.addr, s.addr + s.size})
			}
		}
		stablesort.Func(im.code, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	}
	return im.code
}

// layOut assigns addresses to the sections of an object, code first.
func (im *Image) layOut() {
	const most = 1 << 40 // so that sums do not overflow
	addr := uint64(0)
	for _, code := range []bool{true, false} {
		for i := range im.sections {
			s := &im.sections[i]
			if s.flags&elf.SHF_ALLOC == 0 || (s.flags&elf.SHF_EXECINSTR != 0) != code || s.size > most || addr > most {
				continue
			}
			if a := s.align; a > 1 && a <= 1<<20 {
				addr = (addr + a - 1) / a * a
			}
			s.addr = addr
			addr += s.size
		}
	}
}

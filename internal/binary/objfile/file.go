package objfile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// File is an open module. Its methods may be called from several goroutines.
type File struct {
	path      string
	f         *os.File
	elf       *module
	size      uint64
	debugRoot string
	debugFile string // the separate debug file set by the caller, "" for any
	splitFile string // the file with split debug information set by the caller, "" for any
	pdb       string // the file with names and lines of a program for Windows, "" if there is none
	damage    error  // of such a file, which is not used then

	ehFrame *ehframe.Table // set by SetEHFrame, else nil

	// Computed once.
	lines  func() (*LineTable, error)
	scopes func() (*ScopeTable, error)

	missing MissingSplit // set with scopes

	// The symbol table of the dynamic linker, when it was read.
	dynamic struct {
		sync.Mutex
		of      *section
		entries []byte
		names   string
	}
}

// DefaultDebugRoot is the directory in which distributions install separate debug files.
const DefaultDebugRoot = "/usr/lib/debug"

// Open opens the little-endian module at path: 64-bit or Arm ELF, or 64-bit Mach-O. The path
// of a universal file may be followed by :ARCH, which selects a part; this is optional if
// there is only one part.
func Open(path string) (*File, error) {
	f, arch, err := openArch(path)
	if err != nil {
		return nil, err
	}
	file, err := newFile(path, arch, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// Relocatable reports whether the file is an object that has not been linked.
func (f *File) Relocatable() bool { return f.elf.Type == elf.ET_REL }

func newFile(path, arch string, f *os.File) (*File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	file := &File{path: path, f: f, size: uint64(st.Size()), debugRoot: DefaultDebugRoot}
	if file.elf, err = readAnyModule(f, file.size, arch); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file.findPDB()
	file.lines = sync.OnceValues(file.loadLines)
	file.scopes = sync.OnceValues(file.loadScopes)
	return file, nil
}

// checkHeader rejects files that cairn cannot use, and headers that no linked module has.
func checkHeader(r io.ReaderAt, size uint64) error {
	var h [64]byte
	if n, err := r.ReadAt(h[:], 0); n < len(h) {
		if err == io.EOF || err == nil {
			return errors.New("not an ELF file: too short")
		}
		return err
	}
	switch {
	case string(h[:4]) != elf.ELFMAG:
		return notELF(h[:])
	case !readable(h[:]):
		return ErrClass
	}
	le := binary.LittleEndian
	shoff, header, counts := le.Uint64(h[0x28:]), uint64(64), h[0x3a:]
	if h[elf.EI_CLASS] == byte(elf.ELFCLASS32) {
		shoff, header, counts = uint64(le.Uint32(h[0x20:])), 40, h[0x2e:]
	}
	shnum, shstrndx := uint64(le.Uint16(counts[2:])), uint64(le.Uint16(counts[4:]))
	if shoff == 0 {
		return nil
	}
	mostSections, mostNames := uint64(maxSections), uint64(maxSectionNames)
	if le.Uint16(h[0x10:]) == uint16(elf.ET_REL) {
		mostSections, mostNames = maxObjectSections, maxObjectSectionNames
	}
	if shnum == 0 || shnum > mostSections {
		return fmt.Errorf("%d sections where there are at most %d (0: more than 65279)", shnum, mostSections)
	}
	if uint64(le.Uint16(counts)) != header || shoff > size || shnum*header > size-shoff || shstrndx >= shnum {
		return fmt.Errorf("section headers at offset %d lie outside the file (cut off?)", shoff)
	}
	var s [64]byte
	if _, err := r.ReadAt(s[:header], int64(shoff+shstrndx*header)); err != nil {
		return err
	}
	names := le.Uint64(s[0x20:])
	if header == 40 {
		names = uint64(le.Uint32(s[0x14:]))
	}
	if names > mostNames {
		return fmt.Errorf("%d bytes of section names exceed %d", names, mostNames)
	}
	return nil
}

// readable reports whether File supports this header: little-endian, and 64-bit, or 32-bit for
// Arm.
func readable(h []byte) bool {
	if h[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return false
	}
	class := elf.Class(h[elf.EI_CLASS])
	return class == elf.ELFCLASS64 || class == elf.ELFCLASS32 && elf.Machine(binary.LittleEndian.Uint16(h[18:])) == elf.EM_ARM
}

// recoverTo converts a panic of a standard reader to an error. what describes the data that
// was read.
func recoverTo(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %v", what, r)
	}
}

// Path returns the path the file was opened with.
func (f *File) Path() string { return f.path }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Section returns the contents, address and size in memory of the first section with this
// name, and whether there is one. Data is nil for a section without contents in the file. A
// compressed section is decompressed.
func (f *File) Section(name string) (data []byte, addr, size uint64, ok bool, err error) {
	s := f.elf.Section(name)
	if s == nil {
		return nil, 0, 0, false, nil
	}
	if s.Type == elf.SHT_NOBITS {
		return nil, s.Addr, s.Size, true, nil
	}
	data, err = f.read(s)
	if err != nil {
		return nil, 0, 0, false, err
	}
	return data, s.Addr, uint64(len(data)), true, nil
}

// Has reports whether there is a section with this name that has contents.
func (f *File) Has(name string) bool {
	s := f.elf.Section(name)
	return s != nil && s.Type != elf.SHT_NOBITS
}

// StrippedSection is Section for sections that strip removes: if the module does not have it,
// the copy that its link has kept and its separate debug file are searched.
func (f *File) StrippedSection(name string) ([]byte, error) {
	data, _, _, _, err := f.Section(name)
	if err != nil || data != nil {
		return data, err
	}
	if data = f.keptSection(name); len(data) > 0 {
		return data, nil
	}
	d, err := f.openDebug()
	if err != nil {
		return nil, nil // neither file has it
	}
	defer d.Close()
	data, _, _, _, err = d.Section(name)
	return data, err
}

// span is a half-open range of addresses.
type span struct{ lo, hi uint64 }

// code returns the address ranges of instructions.
func (f *File) code() []span {
	var spans []span
	add := func(addr, size uint64) {
		// Address 0 marks sections that the linker dropped.
		if addr != 0 && size != 0 && addr+size > addr {
			spans = append(spans, span{addr, addr + size})
		}
	}
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			add(s.Addr, s.Size)
		}
	}
	if len(f.elf.Sections) == 0 {
		for _, p := range f.elf.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
				add(p.Vaddr, p.Memsz)
			}
		}
	}
	return spans
}

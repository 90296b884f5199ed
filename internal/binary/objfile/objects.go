package objfile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Object is an object file, a member of an archive, or a linked module.
type Object struct {
	Path   string // of the file
	Member string // name in the archive Path, "" if there is no archive
	Linked bool   // a program or shared object
	// Machine is its machine's name in profiles; "" if it has none.
	Machine string
	Funcs   []ObjectFunc
}

// ObjectFunc is a function symbol and its section.
type ObjectFunc struct {
	Symbol         // Addr is an offset into the section in a relocatable object
	Section string // name of the section that holds it
	Index   uint32 // index of that section: several may have the same name
	Local   bool
	Group   bool   // the section is in a group (COMDAT)
	Source  string // source file of a local symbol according to the table, "" if unknown
}

const maxTable = 1 << 30 // bytes of the table of names of an archive

// ReadObjects reads the function symbols of an object file, of the members of an archive (also
// a thin one), or of a linked module. Members that are not 64-bit little-endian ELF objects
// are skipped; any other file is an error with its path.
//
// Objects that were compiled with a section for each function have tens of thousands of
// sections. They are read here and not by debug/elf, which copies every section's name.
func ReadObjects(path string) ([]Object, error) {
	f, arch, err := openArch(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	var magic [8]byte
	n, _ := f.ReadAt(magic[:], 0)
	body := io.NewSectionReader(f, 0, st.Size())
	if isUniversal(magic[:n]) {
		if body, err = onlyPart(f, st.Size(), arch); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if kind := string(magic[:n]); kind == arMagic || kind == thinMagic {
		objects, err := readArchive(path, io.NewSectionReader(f, 0, st.Size()), kind == thinMagic)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return objects, nil
	}
	o, err := readObject(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o.Path = path
	if err := o.nameStripped(); err != nil {
		return nil, err
	}
	return []Object{*o}, nil
}

// nameStripped adds to a stripped module the functions of its separate debug file, which has
// the same sections.
func (o *Object) nameStripped() error {
	if !o.Linked {
		return nil
	}
	f, err := Open(o.Path)
	if err != nil {
		return nil // for another machine
	}
	defer f.Close()
	table, s := f.openSymbols()
	if s == nil || table == f {
		return nil
	}
	defer table.Close()
	d, err := readObject(io.NewSectionReader(table.f, 0, int64(table.size)))
	if err != nil {
		return fmt.Errorf("%s: %w", table.path, err)
	}
	o.Funcs = d.Funcs
	return nil
}

// ErrNoObject reports a file that ReadObjects does not support.
var ErrNoObject = errors.New("not a 64-bit little-endian ELF file, and no archive of such")

// machineAt is the offset of the machine in the ELF header.
const machineAt = 18

func readObject(r *io.SectionReader) (*Object, error) {
	var h [64]byte
	n, err := r.ReadAt(h[:], 0)
	if isMachO(h[:n]) {
		return readMachOObject(r)
	}
	if isPE(h[:n]) {
		return readPEObject(r)
	}
	if err != nil || string(h[:4]) != elf.ELFMAG || !readable(h[:]) {
		return nil, ErrNoObject
	}
	or := objectReader{headers{r: r, size: uint64(r.Size())}}
	if err := or.read(); err != nil {
		return nil, err
	}
	o := &Object{Linked: or.kind != elf.ET_REL, Machine: machineName(elf.Machine(binary.LittleEndian.Uint16(h[machineAt:])))}
	o.Funcs, err = or.funcs()
	return o, err
}

// readMachOObject reads the functions of a Mach-O file. A section of one has many functions,
// and linkers can move each of them separately.
func readMachOObject(r *io.SectionReader) (*Object, error) {
	im := emptyImage("", r, uint64(r.Size()), nil)
	if err := im.readMachO(); err != nil {
		return nil, err
	}
	funcs, err := im.machOFunctions()
	if err != nil {
		return nil, err
	}
	o := &Object{Linked: !im.Relocatable(), Machine: machineName(im.machine)}
	for _, fn := range funcs {
		o.Funcs = append(o.Funcs, ObjectFunc{
			Symbol: Symbol{fn.name, fn.addr, fn.size}, Section: im.elfName(fn.section), Index: uint32(fn.addr) + 1, // each as if in a section of its own

			Local: fn.bind == elf.STB_LOCAL, Source: fn.source,
		})
	}
	return o, nil
}

// objectReader reads the functions of one ELF file.
type objectReader struct{ headers }

// funcs returns the function symbols of .symtab, or of .dynsym if there is none.
func (o *objectReader) funcs() ([]ObjectFunc, error) {
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for i := range o.sections {
			if i > 0 && o.sections[i].kind == kind {
				return o.symbols(uint32(i))
			}
		}
	}
	return nil, nil
}

func (o *objectReader) symbols(table uint32) ([]ObjectFunc, error) {
	s := &o.sections[table]
	data, err := o.bytes("symbol table", s.offset, s.size)
	if err != nil {
		return nil, err
	}
	data = symbols64(data, o.word, o.machine)
	if int(s.link) >= len(o.sections) {
		return nil, fmt.Errorf("symbol table at offset %d: string table %d does not exist", s.offset, s.link)
	}
	strtab, err := o.bytes("string table", o.sections[s.link].offset, o.sections[s.link].size)
	if err != nil {
		return nil, err
	}
	wide, err := o.wideIndexes(table)
	if err != nil {
		return nil, err
	}
	var funcs []ObjectFunc
	names, source := string(strtab), ""
	for i := 0; len(data) >= symbolSize; i, data = i+1, data[symbolSize:] {
		kind, bind := elf.ST_TYPE(data[4]), elf.ST_BIND(data[4])
		name := cstring(names, uint64(binary.LittleEndian.Uint32(data)))
		index := uint32(binary.LittleEndian.Uint16(data[6:]))
		if index == uint32(elf.SHN_XINDEX) && len(wide) >= 4*i+4 {
			index = binary.LittleEndian.Uint32(wide[4*i:])
		}
		switch {
		case kind == elf.STT_FILE:
			source = name // of the local symbols that follow
		case (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) && index != 0 && int(index) < len(o.sections) && name != "":
			sec := &o.sections[index]
			fn := ObjectFunc{
				Symbol: Symbol{name, binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])},
				Index:  index, Section: sec.name, Group: sec.flags&elf.SHF_GROUP != 0, Local: bind == elf.STB_LOCAL,
			}
			if fn.Local {
				fn.Source = source
			}
			funcs = append(funcs, fn)
		}
	}
	return funcs, nil
}

// wideIndexes returns the section indexes of a symbol table that do not fit into its entries,
// or nil.
func (o *objectReader) wideIndexes(table uint32) ([]byte, error) {
	for i := range o.sections {
		if s := &o.sections[i]; s.kind == elf.SHT_SYMTAB_SHNDX && s.link == table {
			return o.bytes("section indexes", s.offset, s.size)
		}
	}
	return nil, nil
}

// The magic bytes of archives.
const (
	arMagic   = "!<arch>\n"
	thinMagic = "!<thin>\n"
)

const arHeader = 60 // bytes

// readArchive reads the members of an archive. Those of a thin archive are separate files.
func readArchive(path string, r *io.SectionReader, thin bool) ([]Object, error) {
	var objects []Object
	var names string // of members with long names
	for at := int64(len(arMagic)); at+arHeader <= r.Size(); {
		h := make([]byte, arHeader)
		if _, err := r.ReadAt(h, at); err != nil {
			return nil, err
		}
		name, size, err := memberHeader(h, names)
		if err != nil || size > r.Size()-at-arHeader && (!thin || name == "/" || name == "//") {
			return nil, fmt.Errorf("damaged archive member at offset %d", at)
		}
		body := io.NewSectionReader(r, at+arHeader, size)
		stored := true
		switch {
		case name == "//":
			if size > maxTable {
				return nil, fmt.Errorf("member names at offset %d: %d bytes exceed %d", at, size, maxTable)
			}
			text, err := io.ReadAll(body)
			if err != nil {
				return nil, err
			}
			names = string(text)
		case name == "/" || name == "/SYM64/" || name == "":
		case thin:
			stored = false
			o, err := readThinMember(beside(path, name))
			if err == nil {
				objects = append(objects, *o)
			} else if !errors.Is(err, ErrNoObject) {
				return nil, err
			}
		default:
			if o, err := readObject(body); err == nil {
				o.Path, o.Member = path, name
				objects = append(objects, *o)
			} else if !errors.Is(err, ErrNoObject) {
				return nil, fmt.Errorf("member %s: %w", name, err)
			}
		}
		at += arHeader
		if stored {
			at += size + size&1
		}
	}
	return objects, nil
}

// readThinMember reads a file that a thin archive refers to. To the linker, which opens it by
// its own path, it is not a member; an archive there is skipped, because it could refer to
// itself.
func readThinMember(path string) (*Object, error) {
	f, st, err := openStat(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := readObject(io.NewSectionReader(f, 0, st.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o.Path = path
	return o, nil
}

// memberHeader reads the name and size of a member.
func memberHeader(h []byte, names string) (string, int64, error) {
	var size int64
	if _, err := fmt.Sscanf(strings.TrimSpace(string(h[48:58])), "%d", &size); err != nil || size < 0 || string(h[58:]) != "`\n" {
		return "", 0, errors.New("damaged member header")
	}
	name := strings.TrimRight(string(h[:16]), " ")
	if len(name) > 1 && name[0] == '/' && name[1] >= '0' && name[1] <= '9' {
		var at uint64
		if _, err := fmt.Sscanf(name[1:], "%d", &at); err != nil || at >= uint64(len(names)) {
			return "", 0, errors.New("damaged member name")
		}
		name, _, _ = strings.Cut(names[at:], "\n")
	}
	if name != "/" && name != "//" && name != "/SYM64/" {
		name = strings.TrimSuffix(name, "/")
	}
	return name, size, nil
}

// beside resolves a file name relative to the directory of an archive.
func beside(archive, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(archive), name)
}

package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: a File reads sections, segments and symbols of ELF, and cairn needs the same data
// of a Mach-O file: names, addresses and bytes.
//
// Choice: a module is built from a Mach-O file. Sections with a counterpart in ELF get its
// name: __TEXT,__text is .text, __DWARF,__debug_line is .debug_line, and the underscores of
// cairn's own are removed. The symbol table is converted to ELF in memory: functions with
// sizes, which Mach-O does not store, names without C's underscore, and before local symbols
// the source file from the debug map (N_SO, N_FUN).

// ErrUniversal reports a file with code for several machines of which none was selected.
var ErrUniversal = errors.New("a universal file")

// elfNames maps the sections that have a counterpart.
var elfNames = map[string]string{
	"__TEXT,__text": ".text", "__TEXT,__eh_frame": ".eh_frame", "__TEXT,__gcc_except_tab": ".gcc_except_table",
	wire.RawMachO: wire.RawSection, wire.DataMachO: wire.RawSection, wire.MapMachO: wire.MapSection, wire.UnitMachO: wire.UnitSection, golines.MachOSection: golines.Section,
}

// Types of the symbols of the debug map: a source file and a function.
const (
	stabFunction = 0x24
	stabSource   = 0x64
	stabObject   = 0x66
)

const maxStarts = 1 << 26 // bytes of the table of function starts

// machOIdentity says what is missing in a file without identity.
const machOIdentity = "LC_UUID"

// readMachOModule reads a Mach-O file that begins at an offset of r.
func readMachOModule(r io.ReaderAt, base, size uint64) (*module, error) {
	im := emptyImage("", io.NewSectionReader(r, int64(base), int64(size)), size, nil)
	if err := im.readMachO(); err != nil {
		return nil, err
	}
	mo := im.macho
	m := &module{Type: im.kind, Machine: im.machine, word: 8, id: mo.uuid, stripped: mo.debugOnly, identity: machOIdentity}
	for i := range im.sections {
		s := &im.sections[i]
		if s.kind == elf.SHT_SYMTAB {
			continue
		}
		out := &section{SectionHeader: elf.SectionHeader{
			Name: im.elfName(i), Type: s.kind, Flags: s.flags, Addr: s.addr, Offset: s.offset + base, Size: s.size, FileSize: s.size, Addralign: 1,
		}}
		if s.kind != elf.SHT_NULL && s.kind != elf.SHT_NOBITS && (s.offset > size || s.size > size-s.offset) {
			return nil, fmt.Errorf("section %s at offset %d lies outside the file (cut off?)", mo.places[i], s.offset)
		}
		if err := im.packed(i, out); err != nil {
			return nil, err
		}
		m.Sections = append(m.Sections, out)
	}
	for _, s := range mo.segments {
		if s.name == "__PAGEZERO" || s.size == 0 {
			continue
		}
		p := elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R, Off: s.offset + base, Vaddr: s.addr, Paddr: s.addr, Filesz: s.inFile, Memsz: s.size, Align: 1 << 14}
		if s.writable {
			p.Flags |= elf.PF_W
		}
		if s.executable {
			p.Flags |= elf.PF_X
		}
		if s.name == "__TEXT" && mo.main != 0 {
			m.Entry = s.addr + mo.main
		}
		m.Progs = append(m.Progs, &segment{p, io.NewSectionReader(r, int64(p.Off), int64(p.Filesz))})
	}
	funcs, err := im.machOFunctions()
	if err != nil {
		return nil, err
	}
	if len(funcs) > 0 {
		m.addSymbols(funcs)
	}
	return m, nil
}

// elfName returns the ELF name of a section of a Mach-O file, if it has a counterpart.
func (im *Image) elfName(section int) string {
	if name, ok := elfNames[im.macho.places[section]]; ok {
		return name
	}
	return im.sections[section].name
}

// packed changes the header of a section __zdebug_X, as the Go linker writes, to that of
// .debug_X, compressed.
func (im *Image) packed(i int, out *section) error {
	name, ok := strings.CutPrefix(im.macho.places[i], "__DWARF,__zdebug_")
	s := &im.sections[i]
	if !ok || s.size < packedHead || s.kind == elf.SHT_NOBITS {
		return nil
	}
	b, err := im.bytes("the header of a compressed section", s.offset, packedHead)
	if err != nil || string(b[:4]) != "ZLIB" {
		return err
	}
	out.pack(name, b)
	return nil
}

// packedHead is the size of the header of a section .zdebug_X: ZLIB, and the size, big-endian.
const packedHead = 12

// pack makes a section .debug_name, compressed behind the header.
func (s *section) pack(name string, header []byte) {
	s.Name, s.Size, s.head = ".debug_"+name, binary.BigEndian.Uint64(header[4:]), packedHead
	s.Flags, s.compression = s.Flags|elf.SHF_COMPRESSED, elf.COMPRESS_ZLIB
}

// addSymbols appends an ELF symbol table and its strings.
func (m *module) addSymbols(funcs []symbolOfCode) {
	// Local symbols are after their file, global ones after all local ones.
	stablesort.Func(funcs, func(a, b symbolOfCode) int {
		return cmp.Or(cmp.Compare(min(a.bind, 1), min(b.bind, 1)), cmp.Compare(a.source, b.source))
	})
	entries, names := make([]byte, symbolSize, (len(funcs)+1)*symbolSize), []byte{0}
	add := func(name string, kind elf.SymType, fn symbolOfCode) {
		e := make([]byte, symbolSize)
		binary.LittleEndian.PutUint32(e, uint32(len(names)))
		names = append(append(names, name...), 0)
		e[4] = elf.ST_INFO(fn.bind, kind)
		binary.LittleEndian.PutUint16(e[6:], uint16(fn.section))
		binary.LittleEndian.PutUint64(e[8:], fn.addr)
		binary.LittleEndian.PutUint64(e[16:], fn.size)
		entries = append(entries, e...)
	}
	source := ""
	for _, fn := range funcs {
		if fn.bind == elf.STB_LOCAL && fn.source != source {
			source = fn.source
			add(source, elf.STT_FILE, symbolOfCode{section: int(elf.SHN_ABS)})
		}
		add(fn.name, elf.STT_FUNC, fn)
	}
	for _, s := range []*section{
		{SectionHeader: elf.SectionHeader{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(len(m.Sections) + 1)}, data: entries},
		{SectionHeader: elf.SectionHeader{Name: ".strtab", Type: elf.SHT_STRTAB}, data: names},
	} {
		s.Size, s.FileSize = uint64(len(s.data)), uint64(len(s.data))
		m.Sections = append(m.Sections, s)
	}
}

// symbolOfCode is a symbol of code.
type symbolOfCode struct {
	name, source string
	bind         elf.SymBind
	section      int
	addr, size   uint64
}

// machOFunctions returns the symbols in sections with code. A function ends at the next
// symbol, the next function start or the end of the section.
func (im *Image) machOFunctions() ([]symbolOfCode, error) {
	m := im.macho
	if m.count == 0 {
		return nil, nil
	}
	if m.count > im.size/machOSymbol {
		return nil, fmt.Errorf("%d symbols do not fit the file", m.count)
	}
	data, names, err := im.machOTable()
	if err != nil {
		return nil, err
	}
	starts, err := im.functionStarts()
	if err != nil {
		return nil, err
	}
	funcs, sources := im.machOCode(data, names)
	for i := range funcs {
		starts = append(starts, funcs[i].addr)
	}
	slices.Sort(starts)
	funcs = slices.DeleteFunc(funcs, func(f symbolOfCode) bool { return f.name == "" })
	for i := range funcs {
		fn := &funcs[i]
		s := &im.sections[fn.section]
		end := s.addr + s.size
		if k := sort.Search(len(starts), func(k int) bool { return starts[k] > fn.addr }); k < len(starts) {
			end = min(end, starts[k])
		}
		fn.size, fn.source = end-fn.addr, sources[fn.addr]
	}
	return funcs, nil
}

// machOCode returns the symbols in sections with code, those of the assembler without a name, and the
// sources of the debug map by address.
func (im *Image) machOCode(data []byte, names string) (funcs []symbolOfCode, sources map[uint64]string) {
	sources = map[uint64]string{}
	source := ""
	for ; len(data) >= machOSymbol; data = data[machOSymbol:] {
		f := im.fields(data)
		name, kind, section, desc, addr := cstring(names, uint64(f.u32())), f.u8(), int(f.u8()), f.u16(), f.word()
		switch {
		case kind == stabSource:
			if !strings.HasSuffix(name, "/") { // otherwise it is the directory of the next name
				source = path.Base(name)
			}
			if name == "" {
				source = ""
			}
			continue
		case kind == stabFunction && section != 0:
			sources[addr] = source
			continue
		case kind&symbolDebug != 0 || kind&symbolType != symbolSection || section >= len(im.sections):
			continue
		}
		s := &im.sections[section]
		if s.flags&elf.SHF_EXECINSTR == 0 || addr < s.addr || addr-s.addr >= s.size {
			continue
		}
		fn := symbolOfCode{name: plainMachOName(name), section: section, addr: addr, bind: elf.STB_GLOBAL}
		switch {
		case kind&symbolExternal == 0:
			fn.bind = elf.STB_LOCAL
		case desc&symbolWeak != 0:
			fn.bind = elf.STB_WEAK
		}
		if isAssemblersOwn(name) {
			fn.name = ""
		}
		funcs = append(funcs, fn)
	}
	return funcs, sources
}

// plainMachOName returns the name in the source language, without C's leading underscore.
func plainMachOName(name string) string { return strings.TrimPrefix(name, "_") }

// isAssemblersOwn reports whether a symbol marks the beginning of a section of an object, or
// is one that linkers drop.
func isAssemblersOwn(name string) bool {
	return strings.HasPrefix(name, "ltmp") || strings.HasPrefix(name, "L") || strings.HasPrefix(name, "l_")
}

// functionStarts reads the function starts: address differences in LEB128.
func (im *Image) functionStarts() ([]uint64, error) {
	m := im.macho
	if m.startsSize == 0 {
		return nil, nil
	}
	if m.startsSize > maxStarts {
		return nil, fmt.Errorf("%d bytes of function starts, at most %d are allowed", m.startsSize, maxStarts)
	}
	data, err := im.bytes("function starts", m.starts, m.startsSize)
	if err != nil {
		return nil, err
	}
	addr := uint64(0)
	for _, s := range m.segments {
		if s.name == "__TEXT" {
			addr = s.addr
		}
	}
	var out []uint64
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		if n <= 0 || step == 0 { // the table is padded with zeros
			break
		}
		addr += step
		out = append(out, addr)
		data = data[n:]
	}
	return out, nil
}

// Slice is the part of a universal file for one machine.
type Slice struct {
	Arch         string // lipo's name: x86_64, arm64, arm64e
	offset, size uint64
}

const (
	fatHeader, fatEntry, fatEntry64 = 8, 20, 32
	fatMagic64                      = 0xcafebabf
	subtypeMask                     = 0x00ffffff
	subtypeARM64E                   = 2
)

// openArch opens the file at path or, if there is none and path ends in :ARCH, the file before
// the colon.
func openArch(path string) (f *os.File, arch string, err error) {
	f, err = os.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, "", err
	}
	if i := strings.LastIndexByte(path, ':'); i > 0 && slices.Contains(archs, path[i+1:]) {
		if f, err2 := os.Open(path[:i]); err2 == nil {
			return f, path[i+1:], nil
		}
	}
	return nil, "", err
}

// IsBinary reports whether Open may support a file that begins with head.
func IsBinary(head []byte) bool {
	return bytes.HasPrefix(head, []byte(elf.ELFMAG)) || isMachO(head) || isUniversal(head) || isPE(head)
}

// archs are the supported machines of parts of universal files.
var archs = []string{"x86_64", "arm64", "arm64e"}

// Parts returns the paths by which Open selects the parts of the universal file at path; none
// for other files.
func Parts(path string) ([]string, error) {
	f, st, err := openStat(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !st.Mode().IsRegular() {
		return nil, nil
	}
	parts, err := readSlices(f, uint64(st.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var names []string
	for _, s := range parts {
		if slices.Contains(archs, s.Arch) {
			names = append(names, path+":"+s.Arch)
		}
	}
	return names, nil
}

// PlainPath removes the suffix :ARCH, which selects a part of a universal file, from a path.
func PlainPath(path string) string {
	if i := strings.LastIndexByte(path, ':'); i > 0 && slices.Contains(archs, path[i+1:]) {
		if _, err := os.Lstat(path); err != nil {
			return path[:i]
		}
	}
	return path
}

// readSlices reads the header of a universal file; for other files it returns none.
func readSlices(r io.ReaderAt, size uint64) ([]Slice, error) {
	var h [fatHeader]byte
	if n, _ := r.ReadAt(h[:], 0); n < len(h) || !isUniversal(h[:]) {
		return nil, nil
	}
	be := binary.BigEndian
	entry := uint64(fatEntry)
	if be.Uint32(h[:]) == fatMagic64 {
		entry = fatEntry64
	}
	out := make([]Slice, be.Uint32(h[4:]))
	b := make([]byte, entry)
	for i := range out {
		at := fatHeader + uint64(i)*entry
		if n, err := r.ReadAt(b, int64(at)); n < len(b) {
			return nil, fmt.Errorf("a universal file that is cut off in its header (%w)", err)
		}
		s := &out[i]
		s.Arch = archName(be.Uint32(b), be.Uint32(b[4:]))
		if entry == fatEntry64 {
			s.offset, s.size = be.Uint64(b[8:]), be.Uint64(b[16:])
		} else {
			s.offset, s.size = uint64(be.Uint32(b[8:])), uint64(be.Uint32(b[12:]))
		}
		if s.offset > size || s.size > size-s.offset {
			return nil, fmt.Errorf("the part for %s at offset %d lies outside the file (cut off?)", s.Arch, s.offset)
		}
	}
	return out, nil
}

func archName(machine, subtype uint32) string {
	switch {
	case machine == machOX86:
		return "x86_64"
	case machine == machOARM && subtype&subtypeMask == subtypeARM64E:
		return "arm64e"
	case machine == machOARM:
		return "arm64"
	}
	return fmt.Sprintf("machine %#x", machine)
}

// onlyPart returns the part of a universal file for a machine, or its only part.
func onlyPart(r io.ReaderAt, size int64, arch string) (*io.SectionReader, error) {
	parts, err := readSlices(r, uint64(size))
	if err != nil {
		return nil, err
	}
	var found []Slice
	names := make([]string, len(parts))
	for i, s := range parts {
		names[i] = s.Arch
		if slices.Contains(archs, s.Arch) && (arch == "" || s.Arch == arch) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return io.NewSectionReader(r, int64(found[0].offset), int64(found[0].size)), nil
	case 0:
		return nil, fmt.Errorf("%w, for %s: the selected one is not among them", ErrUniversal, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%w, for %s: select one by appending : and its name to the path", ErrUniversal, strings.Join(names, " and "))
}

// readAnyModule reads the headers of an ELF file, of a Mach-O file, or of a part of a
// universal file: that for a machine, or the only one.
func readAnyModule(r io.ReaderAt, size uint64, arch string) (*module, error) {
	var head [8]byte
	n, _ := r.ReadAt(head[:], 0)
	switch {
	case isMachO(head[:n]):
		return readMachOModule(r, 0, size)
	case isPE(head[:n]):
		return readPEModule(r, size)
	case !isUniversal(head[:n]):
		return readModule(r, size)
	}
	part, err := onlyPart(r, int64(size), arch)
	if err != nil {
		return nil, err
	}
	_, base, n64 := part.Outer()
	return readMachOModule(r, uint64(base), uint64(n64))
}

// MachOSection returns the contents of a section of a Mach-O object, nil if it has none of that name, which is that of
// the segment and of the section, or if r is no such object.
func MachOSection(r *io.SectionReader, name string) ([]byte, error) {
	var h [4]byte
	if n, _ := r.ReadAt(h[:], 0); !isMachO(h[:n]) {
		return nil, nil
	}
	im := emptyImage("", r, uint64(r.Size()), nil)
	if err := im.readMachO(); err != nil {
		return nil, err
	}
	for i := range im.sections {
		if i < len(im.macho.places) && im.macho.places[i] == name {
			return im.contents(&im.sections[i])
		}
	}
	return nil, nil
}

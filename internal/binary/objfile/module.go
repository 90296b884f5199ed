package objfile

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// module has the headers of a little-endian file, for File. A reader of another file format
// would fill it: any file with sections, segments, and symbols in ELF's layout can be a File.
type module struct {
	Type     elf.Type
	Machine  elf.Machine
	Entry    uint64
	word     int // bytes of an address
	Sections []*section
	Progs    []*segment

	id       []byte        // the identity of a file that is not ELF
	identity string        // what has it in such a file; "" in one of ELF
	stripped bool          // a file of debug information only
	windows  *WindowsImage // nil in other files
	pdb      string        // path of the file with the debug information of a program for Windows, where it was linked
}

// section is a section; its size is that of the decompressed contents.
type section struct {
	elf.SectionHeader
	compression elf.CompressionType // for sections with the flag
	head        uint64              // bytes before the compressed data, 0: an Elf64_Chdr or Elf32_Chdr
	data        []byte              // the contents, if they are not read from the file
}

// segment is a loadable part of the file.
type segment struct {
	elf.ProgHeader
	io.ReaderAt
}

// compressedHeader returns the size of an Elf64_Chdr, or of an Elf32_Chdr.
func compressedHeader(word int) uint64 { return 3 * uint64(word) }

// readModule reads the headers of a little-endian file.
func readModule(r io.ReaderAt, size uint64) (*module, error) {
	if err := checkHeader(r, size); err != nil {
		return nil, err
	}
	h := headers{r: r, size: size}
	if err := h.read(); err != nil {
		return nil, err
	}
	m := &module{Type: h.kind, Machine: h.machine, Entry: h.entry, word: h.word}
	for i := range h.sections {
		s, err := h.module(&h.sections[i])
		if err != nil {
			return nil, err
		}
		m.Sections = append(m.Sections, s)
	}
	segments, err := h.segments()
	if err != nil {
		return nil, err
	}
	for _, p := range segments {
		m.Progs = append(m.Progs, &segment{p, io.NewSectionReader(r, int64(p.Off), int64(p.Filesz))})
	}
	return m, nil
}

// module converts a section header to File's form.
func (h *headers) module(s *imageSection) (*section, error) {
	out := &section{SectionHeader: elf.SectionHeader{
		Name: s.name, Type: s.kind, Flags: s.flags, Addr: s.addr, Offset: s.offset, Size: s.size,
		Link: s.link, Info: s.info, Addralign: s.align, FileSize: s.size,
	}}
	if s.flags&elf.SHF_COMPRESSED == 0 {
		return out, nil
	}
	data, err := h.bytes("the header of a compressed section", s.offset, compressedHeader(h.word))
	if err != nil {
		return nil, err
	}
	f := h.fields(data)
	out.compression = elf.CompressionType(f.u32())
	if h.word == 8 {
		f.u32()
	}
	out.Size, out.Addralign = f.word(), f.word()
	return out, nil
}

// Section returns the first section with a name, or nil if there is none.
func (m *module) Section(name string) *section {
	for _, s := range m.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// read returns the bytes of a section.
func (f *File) read(s *section) (data []byte, err error) {
	if data, err = f.contents(s); err != nil {
		return nil, fmt.Errorf("%s: section %s at offset %d: %w", f.path, s.Name, s.Offset, err)
	}
	return data, nil
}

func (f *File) contents(s *section) ([]byte, error) {
	if s.data != nil {
		return slices.Clone(s.data), nil
	}
	if s.Offset > f.size || s.FileSize > f.size-s.Offset {
		return nil, errors.New("lies outside the file (cut off?)")
	}
	if s.Size > maxSectionSize {
		return nil, fmt.Errorf("%d bytes exceed %d", s.Size, uint64(maxSectionSize))
	}
	if s.Flags&elf.SHF_COMPRESSED == 0 {
		data := make([]byte, s.Size)
		_, err := io.ReadFull(io.NewSectionReader(f.f, int64(s.Offset), int64(s.Size)), data)
		return data, err
	}
	if s.Size/maxInflate > s.FileSize {
		return nil, fmt.Errorf("%d bytes compressed to %d are not plausible", s.Size, s.FileSize)
	}
	return f.inflate(s)
}

// inflate decompresses a section. Memory is allocated as data is decompressed, not by the
// claimed size, which may be damaged.
func (f *File) inflate(s *section) ([]byte, error) {
	header := cmp.Or(s.head, compressedHeader(f.elf.word))
	if s.FileSize < header {
		return nil, io.ErrUnexpectedEOF
	}
	packed := io.NewSectionReader(f.f, int64(s.Offset+header), int64(s.FileSize-header))
	var plain io.Reader
	switch s.compression {
	case elf.COMPRESS_ZLIB:
		z, err := zlib.NewReader(packed)
		if err != nil {
			return nil, err
		}
		plain = z
	case elf.COMPRESS_ZSTD:
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		plain = z
	default:
		return nil, fmt.Errorf("compressed in an unknown way (%d)", s.compression)
	}
	const atFirst = 64 << 20
	b := bytes.NewBuffer(make([]byte, 0, min(s.Size+bytes.MinRead, atFirst)))
	if _, err := io.CopyN(b, plain, int64(s.Size)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b.Bytes(), nil
}

// dynamicSymbols returns the symbols of the dynamic linker by number; the first is empty.
// Without a table it returns none.
func (f *File) dynamicSymbols() ([]elf.Symbol, error) {
	s := f.symbolSection(elf.SHT_DYNSYM)
	if s == nil {
		return nil, nil
	}
	data, names, err := f.readSymbolTable(s)
	if err != nil {
		return nil, err
	}
	symbols := make([]elf.Symbol, len(data)/symbolSize)
	le := binary.LittleEndian
	for i := range symbols {
		b := data[i*symbolSize:]
		symbols[i] = elf.Symbol{
			Name: cstring(names, uint64(le.Uint32(b))), Info: b[4], Other: b[5],
			Section: elf.SectionIndex(le.Uint16(b[6:])), Value: le.Uint64(b[8:]), Size: le.Uint64(b[16:]),
		}
	}
	return symbols, nil
}

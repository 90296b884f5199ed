// Package peimage reads symbols and sections of a program for Windows that is in memory, and adds sections to it.
// It is for files that the Go linker just wrote; use internal/binary/objfile for files of unknown origin.
package peimage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/gobuild/image"
)

// Constants of the format (Microsoft, PE Format).
const (
	magic       = "PE\x00\x00"
	magicAt     = 60 // of its offset, in the header for DOS
	amd64       = 0x8664
	arm64       = 0xaa64
	wide        = 0x20b
	coffSize    = 20
	sectionSize = 40
	symbolSize  = 18

	// Fields of the optional header.
	imageBase   = 24
	sectionStep = 32
	fileStep    = 36
	imageSize   = 56
	headersSize = 60
	checkSum    = 64
	debugEntry  = 112 + 8*6 // of the directory of debug information
	optionals   = 112 + 8*16

	code     = 0x20
	contents = 0x40
	readable = 0x40000000
)

var le = binary.LittleEndian

// ErrFormat is returned for files that are not programs for Windows on x86-64 or AArch64.
var ErrFormat = errors.New("not a program for Windows on x86-64 or AArch64")

// section is a section header; it is a part of the file.
type section struct{ data []byte }

func (s section) name() string  { return cstring(s.data[:8]) }
func (s section) size() uint64  { return uint64(le.Uint32(s.data[8:])) } // in memory
func (s section) addr() uint64  { return uint64(le.Uint32(s.data[12:])) }
func (s section) off() uint64   { return uint64(le.Uint32(s.data[20:])) }
func (s section) flags() uint32 { return le.Uint32(s.data[36:]) }

// stored is how many bytes of the memory are in the file, which has whole blocks.
func (s section) stored() uint64 { return min(uint64(le.Uint32(s.data[16:])), s.size()) }

// File is a program in memory.
type File struct {
	data     []byte
	coff     int // offset of the header of COFF
	base     uint64
	sections []section
	id       []byte // of BuildID
}

// Is reports whether a file is a program for Windows, or for DOS, by its first bytes.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte("MZ")) }

// Parse reads the headers of a file.
func Parse(data []byte) (*File, error) {
	if !Is(data) || len(data) < magicAt+4 {
		return nil, ErrFormat
	}
	at := uint64(le.Uint32(data[magicAt:]))
	if at+uint64(len(magic)+coffSize+optionals) > uint64(len(data)) || string(data[at:][:len(magic)]) != magic {
		return nil, ErrFormat
	}
	f := &File{data: data, coff: int(at) + len(magic)}
	head := f.optional()
	if machine := le.Uint16(data[f.coff:]); machine != amd64 && machine != arm64 || le.Uint16(data[f.coff+16:]) < optionals || le.Uint16(head) != wide {
		return nil, ErrFormat
	}
	f.base = le.Uint64(head[imageBase:])
	for i := range int(le.Uint16(data[f.coff+2:])) {
		from := f.headers() + i*sectionSize
		if from+sectionSize > len(data) {
			return nil, fmt.Errorf("section header %d at %#x: out of the file", i, from)
		}
		s := section{data[from:][:sectionSize]}
		if s.off() > uint64(len(data)) || s.stored() > uint64(len(data))-s.off() {
			return nil, fmt.Errorf("section %s: %d bytes at %#x: out of the file", s.name(), s.stored(), s.off())
		}
		f.sections = append(f.sections, s)
	}
	if len(f.sections) == 0 {
		return nil, errors.New("no sections")
	}
	return f, nil
}

func (f *File) optional() []byte { return f.data[f.coff+coffSize:] }

// headers is the offset of the first section header.
func (f *File) headers() int { return f.coff + coffSize + int(le.Uint16(f.data[f.coff+16:])) }

func cstring(b []byte) string {
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name)
}

// AMD64 reports whether the program is for x86-64.
func (f *File) AMD64() bool { return le.Uint16(f.data[f.coff:]) == amd64 }

// Identities are those of CodeView: a GUID and a number.
const (
	record     = "RSDS"
	guidSize   = 16
	idSize     = guidSize + 4
	debugSize  = 28 // an entry of the directory of debug information
	debugKind  = 12
	debugSum   = 16 // size of what it describes
	debugAddr  = 20
	debugPlace = 24
	codeView   = 2
)

// BuildID returns the identity of the CodeView record. The Go linker writes none, and Extend adds one, with a hash of the
// file as it is at the first call.
func (f *File) BuildID() []byte {
	if f.id == nil {
		f.id = f.findID()
	}
	return f.id
}

func (f *File) findID() []byte {
	addr, size := le.Uint32(f.optional()[debugEntry:]), le.Uint32(f.optional()[debugEntry+4:])
	for data := f.inMemory(uint64(addr)); size >= debugSize && len(data) >= debugSize; size, data = size-debugSize, data[debugSize:] {
		if le.Uint32(data[debugKind:]) != codeView {
			continue
		}
		if at := f.inMemory(uint64(le.Uint32(data[debugAddr:]))); len(at) >= len(record)+idSize && string(at[:len(record)]) == record {
			return at[len(record):][:idSize]
		}
	}
	sum := sha256.Sum256(f.data)
	return append(sum[:guidSize:guidSize], 1, 0, 0, 0)
}

// hasIdentity reports whether the file has a directory of debug information already.
func (f *File) hasIdentity() bool { return le.Uint32(f.optional()[debugEntry:]) != 0 }

// inMemory returns the part of the file at an address from the base, up to the end of its section; nil if there is none.
func (f *File) inMemory(addr uint64) []byte {
	for _, s := range f.sections {
		if addr >= s.addr() && addr-s.addr() < s.stored() {
			return f.data[s.off():][addr-s.addr() : s.stored()]
		}
	}
	return nil
}

// At returns the part of the file that is loaded at addr, up to the end of its section;
// nil if there is none.
func (f *File) At(addr uint64) []byte { return f.inMemory(addr - f.base) }

// Pointer returns the word at addr.
func (f *File) Pointer(addr uint64) (uint64, bool) {
	data := f.At(addr)
	if len(data) < 8 {
		return 0, false
	}
	return le.Uint64(data), true
}

// Symbols returns the symbols that are in sections. They have no sizes: each ends where the next begins.
func (f *File) Symbols() ([]image.Symbol, error) {
	at, n := uint64(le.Uint32(f.data[f.coff+8:])), uint64(le.Uint32(f.data[f.coff+12:]))
	if n == 0 {
		return nil, errors.New("no symbol table")
	}
	if at > uint64(len(f.data)) || n*symbolSize > uint64(len(f.data))-at {
		return nil, fmt.Errorf("the symbol table at %#x: out of the file", at)
	}
	table, names := f.data[at:][:n*symbolSize], f.data[at+n*symbolSize:]
	var list []image.Symbol
	for len(table) >= symbolSize {
		s := table[:symbolSize]
		table = table[min(symbolSize*(1+int(s[17])), len(table)):]
		number := int(int16(le.Uint16(s[12:])))
		if number <= 0 || number > len(f.sections) {
			continue
		}
		in := f.sections[number-1]
		value := uint64(le.Uint32(s[8:]))
		name := cstring(s[:8])
		if long := uint64(le.Uint32(s[4:])); le.Uint32(s) == 0 && long < uint64(len(names)) {
			name = cstring(names[long:])
		}
		list = append(list, image.Symbol{Name: name, Addr: f.base + in.addr() + value, Size: max(in.size(), value) - value, Func: in.flags()&code != 0})
	}
	image.EndAtNext(list)
	return list, nil
}

// Bytes returns the file with what was changed in memory, and with an identity.
func (f *File) Bytes() ([]byte, error) { return f.Extend(nil, false) }

// Package machoimage reads symbols and sections of a 64-bit Mach-O file that is in memory, and
// adds a segment to it. It is for files that the Go linker just wrote; use
// internal/binary/objfile for files of unknown origin.
package machoimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/image"
)

// Constants of the format, from Apple's <mach-o/loader.h> and <mach-o/nlist.h>.
const (
	magic    = 0xfeedfacf
	cpuAMD64 = 0x01000007
	cpuARM64 = 0x0100000c

	cmdSymtab    = 0x2
	cmdDysymtab  = 0xb
	cmdSegment   = 0x19
	cmdUUID      = 0x1b
	cmdSignature = 0x1d
	cmdDyldInfo  = 0x22
	cmdDyldOnly  = 0x80000022
	cmdChained   = 0x80000034

	headerSize  = 32
	segmentSize = 72
	sectionSize = 80
	symbolSize  = 16

	zeroFill     = 1
	kindMask     = 0xff
	instructions = 0x80000400
	debugSymbol  = 0xe0
	typeMask     = 0x0e
	inSection    = 0x0e
)

// linkEditOffsets are the places in load commands that have offsets of parts of __LINKEDIT.
var linkEditOffsets = map[uint32][]int{
	cmdSymtab:    {8, 16},
	cmdDysymtab:  {32, 40, 48, 56, 64, 72},
	cmdDyldInfo:  {8, 16, 24, 32, 40},
	cmdDyldOnly:  {8, 16, 24, 32, 40},
	cmdSignature: {8},
	cmdChained:   {8},
	0x80000033:   {8}, // LC_DYLD_EXPORTS_TRIE
	0x1e:         {8}, // LC_SEGMENT_SPLIT_INFO
	0x26:         {8}, // LC_FUNCTION_STARTS
	0x29:         {8}, // LC_DATA_IN_CODE
	0x2b:         {8}, // LC_DYLIB_CODE_SIGN_DRS
	0x2e:         {8}, // LC_LINKER_OPTIMIZATION_HINT
}

var le = binary.LittleEndian

// ErrFormat is returned for files that are not 64-bit, little-endian Mach-O files.
var ErrFormat = errors.New("not a 64-bit little-endian Mach-O file")

// command is a load command; its bytes are a part of the file.
type command struct {
	kind uint32
	data []byte
}

// segment is a command that maps a part of the file.
type segment struct {
	data []byte
}

func (s segment) name() string  { return cstring(s.data[8:24]) }
func (s segment) addr() uint64  { return le.Uint64(s.data[24:]) }
func (s segment) off() uint64   { return le.Uint64(s.data[40:]) }
func (s segment) inFile() int   { return int(le.Uint64(s.data[48:])) }
func (s segment) sections() int { return int(le.Uint32(s.data[64:])) }
func (s segment) section(i int) section {
	return section{s.data[segmentSize+i*sectionSize:][:sectionSize]}
}

// section is a part of a segment.
type section struct {
	data []byte
}

func (s section) addr() uint64  { return le.Uint64(s.data[32:]) }
func (s section) size() uint64  { return le.Uint64(s.data[40:]) }
func (s section) off() uint64   { return uint64(le.Uint32(s.data[48:])) }
func (s section) flags() uint32 { return le.Uint32(s.data[64:]) }
func (s section) has(a uint64) bool {
	return a >= s.addr() && a-s.addr() < s.size()
}

// File is a Mach-O file in memory.
type File struct {
	data     []byte
	commands []command
}

// Is reports whether a file is a Mach-O file, by its first bytes.
func Is(data []byte) bool { return len(data) >= headerSize && le.Uint32(data) == magic }

// Parse reads the load commands of a file.
func Parse(data []byte) (*File, error) {
	if !Is(data) {
		return nil, ErrFormat
	}
	f := &File{data: data}
	if cpu := le.Uint32(data[4:]); cpu != cpuAMD64 && cpu != cpuARM64 {
		return nil, fmt.Errorf("a Mach-O file for machine %#x", cpu)
	}
	rest := data[headerSize:]
	for i := range le.Uint32(data[16:]) {
		if len(rest) < 8 || le.Uint32(rest[4:]) < 8 || uint64(le.Uint32(rest[4:])) > uint64(len(rest)) {
			return nil, fmt.Errorf("load command %d at %#x: out of the file", i, len(data)-len(rest))
		}
		size := le.Uint32(rest[4:])
		c := command{le.Uint32(rest), rest[:size:size]}
		if c.kind == cmdSegment && (size < segmentSize || uint64(size) < segmentSize+sectionSize*uint64(le.Uint32(c.data[64:]))) {
			return nil, fmt.Errorf("the segment at %#x: sections out of the command", len(data)-len(rest))
		}
		f.commands = append(f.commands, c)
		rest = rest[size:]
	}
	for s := range f.sections() {
		if s.flags()&kindMask != zeroFill && (s.off() > uint64(len(data)) || s.size() > uint64(len(data))-s.off()) {
			return nil, fmt.Errorf("section %s: %d bytes at %#x: out of the file", cstring(s.data[:16]), s.size(), s.off())
		}
	}
	return f, nil
}

func cstring(b []byte) string {
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name)
}

// find returns the first load command of a kind with room for n bytes, nil if there is none.
func (f *File) find(kind uint32, n int) []byte {
	for _, c := range f.commands {
		if c.kind == kind && len(c.data) >= n {
			return c.data
		}
	}
	return nil
}

func (f *File) segment(name string) (segment, bool) {
	for _, c := range f.commands {
		if s := (segment{c.data}); c.kind == cmdSegment && s.name() == name {
			return s, true
		}
	}
	return segment{}, false
}

// sections yields all sections in the order of their numbers, which begin at 1.
func (f *File) sections() func(func(section) bool) {
	return func(yield func(section) bool) {
		for _, c := range f.commands {
			if c.kind != cmdSegment {
				continue
			}
			for i := range (segment{c.data}).sections() {
				if !yield((segment{c.data}).section(i)) {
					return
				}
			}
		}
	}
}

// AMD64 reports whether the program is for x86-64.
func (f *File) AMD64() bool { return le.Uint32(f.data[4:]) == cpuAMD64 }

// BuildID returns the UUID.
func (f *File) BuildID() []byte {
	if c := f.find(cmdUUID, 24); c != nil {
		return c[8:24]
	}
	return nil
}

// At returns the part of the file that is loaded at addr, up to the end of its section;
// nil if there is none.
func (f *File) At(addr uint64) []byte {
	for s := range f.sections() {
		if s.flags()&kindMask != zeroFill && s.has(addr) {
			return f.data[s.off():][addr-s.addr() : s.size()]
		}
	}
	return nil
}

// Pointer returns the address that a word has. With chained fixups the word has it in its
// lower 36 bits, as an address or as the distance from the header.
func (f *File) Pointer(addr uint64) (uint64, bool) {
	data := f.At(addr)
	if len(data) < 8 {
		return 0, false
	}
	v := le.Uint64(data)
	if f.find(cmdChained, 0) == nil {
		return v, true
	}
	v &= 1<<36 - 1
	if text, ok := f.segment("__TEXT"); ok && v < text.addr() {
		v += text.addr()
	}
	return v, true
}

// Symbols returns the symbols that are in sections.
func (f *File) Symbols() ([]image.Symbol, error) {
	table, names, err := f.symtab()
	if err != nil {
		return nil, err
	}
	sections := slices.Collect(f.sections())
	var list []image.Symbol
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		name, n, addr := le.Uint32(table), int(table[5]), le.Uint64(table[8:])
		if table[4]&debugSymbol != 0 || table[4]&typeMask != inSection || n == 0 || n > len(sections) || uint64(name) >= uint64(len(names)) {
			continue
		}
		s := image.Symbol{Name: strings.TrimPrefix(cstring(names[name:]), "_"), Addr: addr, Func: sections[n-1].flags()&instructions != 0}
		if end := sections[n-1].addr() + sections[n-1].size(); end > addr {
			s.Size = end - addr
		}
		list = append(list, s)
	}
	image.EndAtNext(list)
	return list, nil
}

// symtab returns the symbol table and its strings.
func (f *File) symtab() (table, names []byte, err error) {
	c := f.find(cmdSymtab, 24)
	if c == nil {
		return nil, nil, errors.New("no symbol table")
	}
	off, n, namesOff, size := uint64(le.Uint32(c[8:])), uint64(le.Uint32(c[12:])), uint64(le.Uint32(c[16:])), uint64(le.Uint32(c[20:]))
	if end := uint64(len(f.data)); off > end || n*symbolSize > end-off || namesOff > end || size > end-namesOff {
		return nil, nil, fmt.Errorf("the symbol table at %#x: out of the file", off)
	}
	return f.data[off:][:n*symbolSize], f.data[namesOff:][:size], nil
}

// Bytes returns the file, with a signature of what it has now if it had one.
func (f *File) Bytes() ([]byte, error) {
	if err := f.sign(); err != nil {
		return nil, err
	}
	return f.data, nil
}

package simpleperf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Features of the perf.data that simpleperf record writes, beside those of perf: the functions of the files that ran, which
// it looked up on the phone. Old versions wrote the first form, since Android 13 it is the second (record_file.h of
// simpleperf).
const (
	FeatureFile  = 128 // a sequence of a size in four bytes and a structure
	FeatureFile2 = 132 // the same with messages (protocol buffers)
)

// Kind is what a file has.
type Kind uint32

// The kinds.
const (
	Kernel       Kind = iota // its addresses are absolute
	KernelModule             //
	ELF                      //
	Dex                      // code of Java: its addresses are offsets in the file
	SymbolMap                // code that was generated: its addresses are absolute
	UnknownFile              //
)

// SymbolFile is a file with its functions.
type SymbolFile struct {
	Path string
	Kind Kind
	// Addr is the lowest address of executable code, and Offset where it is: in an ELF file, or in the memory of a module of
	// the kernel. Known reports that Offset is known.
	Addr, Offset uint64
	Known        bool
	Symbols      []FileSymbol // ascending by address
}

// FileSymbol is a function.
type FileSymbol struct {
	Addr uint64
	Size uint32
	Name string
}

// At returns the function at an address of the file, nil if there is none.
func (f *SymbolFile) At(addr uint64) *FileSymbol {
	i, found := slices.BinarySearchFunc(f.Symbols, addr, func(s FileSymbol, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	if !found {
		i--
	}
	if i < 0 || addr-f.Symbols[i].Addr >= uint64(f.Symbols[i].Size) {
		return nil
	}
	return &f.Symbols[i]
}

// errSymbols reports functions that cannot be read.
var errSymbols = errors.New("the functions that simpleperf recorded are damaged")

// ReadSymbols reads a FeatureFile or FeatureFile2, with what is there before the first error.
func ReadSymbols(feature int, data []byte) (files []SymbolFile, err error) {
	read := readFile
	if feature == FeatureFile2 {
		read = readFile2
	}
	for len(data) > 0 {
		if len(data) < 4 {
			return files, errSymbols
		}
		size := uint64(binary.LittleEndian.Uint32(data))
		if data = data[4:]; size > uint64(len(data)) {
			return files, errSymbols
		}
		f, ok := read(data[:size])
		if !ok {
			return files, errSymbols
		}
		stablesort.Func(f.Symbols, func(a, b FileSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
		files, data = append(files, f), data[size:]
	}
	return files, nil
}

// structure reads the fields of the first form. ok is false after the first one that is not there.
type structure struct {
	data []byte
	ok   bool
}

func (s *structure) next(n int) []byte {
	if n > len(s.data) {
		s.data, s.ok = nil, false
		return make([]byte, 8)
	}
	out := s.data[:n]
	s.data = s.data[n:]
	return out
}

func (s *structure) u32() uint32 { return binary.LittleEndian.Uint32(s.next(4)) }
func (s *structure) u64() uint64 { return binary.LittleEndian.Uint64(s.next(8)) }

func (s *structure) text() string {
	n := bytes.IndexByte(s.data, 0)
	if n < 0 {
		s.data, s.ok = nil, false
		return ""
	}
	out := string(s.data[:n])
	s.data = s.data[n+1:]
	return out
}

// readFile reads the first form.
func readFile(data []byte) (f SymbolFile, ok bool) {
	s := structure{data, true}
	f.Path, f.Kind, f.Addr = s.text(), Kind(s.u32()), s.u64()
	for n := s.u32(); n > 0 && s.ok; n-- {
		f.Symbols = append(f.Symbols, FileSymbol{s.u64(), s.u32(), s.text()})
	}
	if f.Kind == Dex {
		s.next(8 * int(s.u32())) // where its parts are
	}
	if (f.Kind == ELF || f.Kind == KernelModule) && len(s.data) > 0 {
		f.Offset = s.u64()
		f.Known = f.Offset != ^uint64(0)
	}
	return f, s.ok
}

// readFile2 reads the second form.
func readFile2(data []byte) (f SymbolFile, ok bool) {
	const path, kind, addr, symbol, elf, module = 1, 2, 3, 4, 6, 7
	ok = fields(data, func(num protowire.Number, n uint64, text []byte) bool {
		switch num {
		case path:
			f.Path = string(text)
		case kind:
			f.Kind = Kind(n)
		case addr:
			f.Addr = n
		case symbol:
			var x FileSymbol
			whole := fields(text, func(num protowire.Number, n uint64, text []byte) bool {
				switch num {
				case 1:
					x.Addr = n
				case 2:
					x.Size = uint32(n)
				case 3:
					x.Name = string(text)
				}
				return true
			})
			f.Symbols = append(f.Symbols, x)
			return whole
		case elf, module:
			f.Known = true // zero is left out
			return fields(text, func(_ protowire.Number, n uint64, _ []byte) bool {
				f.Offset, f.Known = n, n != ^uint64(0)
				return true
			})
		}
		return true
	})
	return f, ok
}

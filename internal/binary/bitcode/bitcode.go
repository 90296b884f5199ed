// Package bitcode reads the parts of LLVM bitcode that a linker needs: the kind of link-time
// optimisation a module was made for, and the names in its symbol table.
package bitcode

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A file of bitcode is a stream of bits, least significant first, of nested blocks. LLVM's
// documentation "LLVM Bitcode File Format" describes it. At its top are the blocks of the
// module, of the strings and of the symbol table, which is a blob of plain data
// (llvm/Object/IRSymtab.h).

// Kind is the link-time optimisation that a module was made for.
type Kind uint8

// The kinds.
const (
	Full Kind = iota // merged with others: -flto
	Thin             // compiled on its own, with parts of others: -flto=thin
)

// Module is the content of a module, as far as it is read.
type Module struct {
	Kind    Kind
	Source  string   // name of its source file; "" if it has no symbol table
	Target  string   // its target triple, in the same way
	Symbols []Symbol // of code and data, in the order of the table
}

// Symbol is an entry of a module's symbol table.
type Symbol struct {
	Name     string
	Defined  bool
	Local    bool // not visible to other modules
	Function bool
}

const (
	magic        = "BC\xc0\xde"
	wrapperMagic = "\xde\xc0\x17\x0b"
)

// Is reports whether data begins like bitcode, with or without a wrapper.
func Is(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == magic || string(data[:4]) == wrapperMagic)
}

// The blocks and records that are read.
const (
	moduleBlock      = 8
	thinSummaryBlock = 20
	stringsBlock     = 23
	fullSummaryBlock = 24
	symbolsBlock     = 25

	blobRecord = 1 // of strings and of symbols
)

// Read reads a module. If a file has several, the kind is that of the first with one, and the
// symbols are those of all.
func Read(data []byte) (*Module, error) {
	body, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	r := &reader{data: body, pos: 32, kind: Full}
	for r.err == nil && r.pos+32 <= len(body)*8 {
		r.block(2, topBlock)
	}
	if r.err != nil {
		return nil, r.err
	}
	m := &Module{Kind: r.kind}
	return m, m.readSymbols(r.symbols, r.strings)
}

// unwrap returns the stream without its wrapper, which gives its offset.
func unwrap(data []byte) ([]byte, error) {
	if len(data) >= 20 && string(data[:4]) == wrapperMagic {
		offset, size := uint64(binary.LittleEndian.Uint32(data[8:])), uint64(binary.LittleEndian.Uint32(data[12:]))
		if offset+size > uint64(len(data)) {
			return nil, fmt.Errorf("bitcode: the wrapper names %d bytes at offset %d, but there are %d", size, offset, len(data))
		}
		data = data[offset : offset+size]
	}
	if len(data) < 4 || string(data[:4]) != magic {
		return nil, errors.New("bitcode: not bitcode")
	}
	return data, nil
}

// Sizes in the symbol table, whose numbers have 32 bits.
const (
	symbolSize      = 24 // name and name in the module, each offset and length; group, flags
	atSymbols       = 28 // in its head: version, producer, modules, groups, symbols
	atTarget        = 44 // after symbols and uncommon ones
	atSource        = 52
	headSize        = 60
	flagUndefined   = 1 << 3
	flagGlobal      = 1 << 10
	flagExecutable  = 1 << 13
	maxSymbolLength = 1 << 20
)

// readSymbols reads the symbol table. A module without one has no names.
func (m *Module) readSymbols(table, names []byte) error {
	if len(table) < headSize {
		return nil
	}
	word := func(at uint64) uint64 { return uint64(binary.LittleEndian.Uint32(table[at:])) }
	text := func(at uint64) (string, error) {
		offset, size := word(at), word(at+4)
		if size > maxSymbolLength || offset+size > uint64(len(names)) {
			return "", fmt.Errorf("bitcode: symbol table at offset %d: a name of %d bytes at %d, outside of the strings", at, size, offset)
		}
		return string(names[offset : offset+size]), nil
	}
	offset, count := word(atSymbols), word(atSymbols+4)
	if offset+count*symbolSize > uint64(len(table)) {
		return fmt.Errorf("bitcode: %d symbols at offset %d of a table of %d bytes", count, offset, len(table))
	}
	var err error
	if m.Source, err = text(atSource); err != nil {
		return err
	}
	if m.Target, err = text(atTarget); err != nil {
		return err
	}
	m.Symbols = make([]Symbol, count)
	for i := range m.Symbols {
		at := offset + uint64(i)*symbolSize
		name, err := text(at)
		if err != nil {
			return err
		}
		flags := word(at + 20)
		m.Symbols[i] = Symbol{Name: name, Defined: flags&flagUndefined == 0, Local: flags&flagGlobal == 0, Function: flags&flagExecutable != 0}
	}
	return nil
}

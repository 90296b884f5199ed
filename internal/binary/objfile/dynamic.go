package objfile

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// Dynamic is what an ELF program or a shared library tells the dynamic linker.
type Dynamic struct {
	Needs   []string // libraries that it needs, by the names of their files
	Paths   []string // lists of directories where these are looked for first, with $ORIGIN as it is written
	Imports []string // symbols that others define
	Exports []string // symbols that others may use
	names   string   // all strings of it
}

// Names reports whether it names a symbol, a library or a version.
func (d *Dynamic) Names(name string) bool { return strings.Contains(d.names, "\x00"+name+"\x00") }

// ReadDynamic reads the file at path. A statically linked program has an empty Dynamic.
func ReadDynamic(path string) (*Dynamic, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := new(Dynamic)
	s := f.symbolSection(elf.SHT_DYNAMIC)
	if s == nil {
		return d, nil
	}
	entries, err := f.read(s)
	if err != nil {
		return nil, err
	}
	table := f.symbolSection(elf.SHT_DYNSYM)
	if table == nil {
		return d, nil
	}
	if _, d.names, err = f.readSymbolTable(table); err != nil {
		return nil, err
	}
	d.strings(entries, f.elf.word)
	symbols, err := f.dynamicSymbols()
	for i := range symbols {
		if symbols[i].Section == elf.SHN_UNDEF {
			d.Imports = append(d.Imports, symbols[i].Name)
		} else {
			d.Exports = append(d.Exports, symbols[i].Name)
		}
	}
	return d, err
}

// strings reads the entries of a dynamic section, each of two words.
func (d *Dynamic) strings(entries []byte, word int) {
	at := func(b []byte) uint64 {
		if word == 4 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
		return binary.LittleEndian.Uint64(b)
	}
	for ; len(entries) >= 2*word; entries = entries[2*word:] {
		name := cstring(d.names, at(entries[word:]))
		switch elf.DynTag(at(entries)) {
		case elf.DT_NEEDED:
			d.Needs = append(d.Needs, name)
		case elf.DT_RUNPATH, elf.DT_RPATH:
			d.Paths = append(d.Paths, name)
		}
	}
}

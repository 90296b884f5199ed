// Package xraymap reads and writes the instrumentation maps of XRay: the places where a
// compiler left room for probes (sleds), and the functions of the numbers in logs. The
// maps are in a section of the program, and in the YAML that llvm-xray extract prints.
//
// # The section
//
// The section xray_instr_map is an array of entries without a header, in the
// byte order of the machine:
//
//	32 bytes, 64-bit machines          16 bytes, 32-bit machines
//	 0  8  address of the sled          0  4  address of the sled
//	 8  8  address of its function      4  4  address of its function
//	16  1  kind                         8  1  kind
//	17  1  1 if asked for by name       9  1  1 if asked for by name
//	18  1  version                     10  1  version
//	19 13  0                           11  5  0
//
// In version 2, which compilers have written since 2020, an address is relative
// to the field that it is in. Versions 0 and 1 have absolute ones; in a shared
// object or a program that can be loaded anywhere a dynamic relocation may hold
// them, which must have been applied before.
//
// An entry that no compiler can have written makes the whole table invalid: damage
// to one field shifts the numbers of all functions after it.
//
// # Numbers of functions
//
// Entries do not contain the number of their function. The first function is 1, and
// each entry whose function differs from that of the entry before begins the next
// number. For example
//
//	function 0x1000 enter, 0x1000 exit, 0x1040 enter, 0x1000 enter
//
// are functions 1, 1, 2 and 3. This is how the runtime counts when it turns on
// all sleds. The section xray_fn_idx has the same information in another form, two
// words for each function; CheckIndex compares them.
//
// The format is that of LLVM's "XRay Instrumentation" document; this description
// was checked with programs of clang 22 and with llvm-xray 22.
package xraymap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Names of the sections.
const (
	SectionName = "xray_instr_map"
	IndexName   = "xray_fn_idx"
)

// maxVersion is the latest known version of entries.
const maxVersion = 2

// MaxFunctions is the number of functions of one object that a log can distinguish: the number has 24 bits.
const MaxFunctions = 1<<24 - 1

// Kind is what happens at a sled.
type Kind uint8

// The kinds of sleds. An entry of another kind is damage.
const (
	Enter        Kind = iota // a function begins
	Exit                     // it returns
	TailExit                 // it ends by a jump to another
	LogArgsEnter             // it begins, and its first argument is logged
	CustomEvent              // the program logs data
	TypedEvent               // the same, with a number for its type
	kinds
)

// llvm-xray has no name for typed events and fails on them.
var kindNames = [kinds]string{"function-enter", "function-exit", "tail-exit", "log-args-enter", "custom-event", "typed-event"}

// String returns llvm-xray's name of the kind, and "kind-N" for an unknown one.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind-" + strconv.Itoa(int(k))
}

// Sled is a place in the code for a probe.
type Sled struct {
	Func     uint32 // number of the function in logs, from 1
	Address  uint64 // link-time address of the sled
	Function uint64 // link-time address of the function
	Kind     Kind
	Always   bool  // instrumented because source or a list asks for it, not for its size
	Version  uint8 // of the entry
	// Name is the function's name where a map has it. Sections have none.
	Name string
}

// Map is the instrumentation map of one object.
type Map struct {
	Sleds []Sled // in the order of the map
	// Notes are sentences about unusual properties of the map.
	Notes []string
}

// Function describes one function of a map.
type Function struct {
	ID      uint32
	Address uint64
	Name    string // "" if the map does not have it
	Always  bool
	Sleds   int
}

// Functions returns the functions of the map, ascending by number. If rows
// of one number disagree, the first counts.
func (m *Map) Functions() []Function {
	var out []Function
	sorted := true
	for i := range m.Sleds {
		s := &m.Sleds[i]
		if n := len(out); n > 0 && out[n-1].ID == s.Func {
			out[n-1].Sleds++
			out[n-1].Name = cmp.Or(out[n-1].Name, s.Name)
			continue
		}
		sorted = sorted && (len(out) == 0 || out[len(out)-1].ID < s.Func)
		out = append(out, Function{ID: s.Func, Address: s.Function, Name: s.Name, Always: s.Always, Sleds: 1})
	}
	if sorted {
		return out
	}
	// Only a map written by hand is in another order.
	stablesort.Func(out, func(a, b Function) int { return cmp.Compare(a.ID, b.ID) })
	kept := out[:0]
	for _, f := range out {
		if n := len(kept); n > 0 && kept[n-1].ID == f.ID {
			kept[n-1].Sleds += f.Sleds
			kept[n-1].Name = cmp.Or(kept[n-1].Name, f.Name)
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func (m *Map) notef(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// Section is the contents of a section, with relocations applied.
type Section struct {
	Data      []byte
	Addr      uint64 // link-time address of Data[0]
	Offset    uint64 // of Data[0] in its file, for errors
	Word      int    // bytes of an address of the machine, 4 or 8
	BigEndian bool
	// Code reports whether there is code at a link-time address. With nil it is not
	// checked that sleds and functions are in code.
	Code func(addr uint64) bool
}

// entry returns the size of a sled's entry.
func (s *Section) entry() int { return 4 * s.Word }

// word reads the address at an offset. Those of 32 bits are sign-extended, as
// the differences in entries are.
func (s *Section) word(at int) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if s.BigEndian {
		order = binary.BigEndian
	}
	if s.Word == 4 {
		return uint64(int64(int32(order.Uint32(s.Data[at:]))))
	}
	return order.Uint64(s.Data[at:])
}

// address cuts a sum off to the size of the machine's addresses.
func (s *Section) address(v uint64) uint64 {
	if s.Word == 4 {
		return uint64(uint32(v))
	}
	return v
}

// Read reads the sled tables of one object. A linked program has one; an object
// file has one for each function, and numbers continue from one to the next. A
// table without entries is an error, since no log can come from it, and so is a
// damaged table, with an entry that is truncated, has an unknown version or kind,
// or has addresses at which there is no code. Errors have the name of the section
// and the offset in the file.
func Read(tables ...Section) (*Map, error) {
	m := &Map{}
	total := 0
	for i := range tables {
		s := &tables[i]
		if s.Word != 4 && s.Word != 8 {
			return nil, fmt.Errorf("%s: addresses of %d bytes, not 4 or 8", SectionName, s.Word)
		}
		if n := len(s.Data) % s.entry(); n > 0 {
			return nil, s.damage(len(s.Data)-n, "the last %d bytes are not a complete entry of %d (truncated file?)", n, s.entry())
		}
		total += len(s.Data) / s.entry()
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: no entries (no function was instrumented)", SectionName)
	}
	m.Sleds = make([]Sled, 0, total)
	for i := range tables {
		if err := m.read(&tables[i]); err != nil {
			return nil, err
		}
	}
	if n := m.Sleds[len(m.Sleds)-1].Func; n > MaxFunctions {
		return nil, fmt.Errorf("%s: %d functions, at most %d can be numbered in logs", SectionName, n, MaxFunctions)
	}
	return m, nil
}

// damage is an error at an offset of the section.
func (s *Section) damage(at int, format string, args ...any) error {
	return fmt.Errorf("%s: offset %#x: %s", SectionName, s.Offset+uint64(at), fmt.Sprintf(format, args...))
}

// read appends the entries of a table.
func (m *Map) read(s *Section) error {
	id, last := uint32(0), uint64(0)
	if n := len(m.Sleds); n > 0 {
		id, last = m.Sleds[n-1].Func, m.Sleds[n-1].Function
	}
	for at := 0; at < len(s.Data); at += s.entry() {
		sled, err := s.sled(at)
		if err != nil {
			return err
		}
		if id == 0 || sled.Function != last {
			id, last = id+1, sled.Function
		}
		sled.Func = id
		m.Sleds = append(m.Sleds, sled)
	}
	return nil
}

// sled reads the entry at an offset.
func (s *Section) sled(at int) (Sled, error) {
	rest := s.Data[at+2*s.Word:]
	sled := Sled{Address: s.word(at), Function: s.word(at + s.Word), Kind: Kind(rest[0]), Always: rest[1] != 0, Version: rest[2]}
	switch {
	case sled.Version > maxVersion:
		return sled, s.damage(at+2*s.Word+2, "an entry of version %d, at most %d is supported", sled.Version, maxVersion)
	case sled.Kind >= kinds:
		return sled, s.damage(at+2*s.Word, "a sled of kind %d, at most %d is supported", sled.Kind, kinds-1)
	case rest[1] > 1:
		return sled, s.damage(at+2*s.Word+1, "%d where it is 0 or 1 whether a function is always instrumented", rest[1])
	}
	if sled.Version == 2 {
		sled.Address += s.Addr + uint64(at)
		sled.Function += s.Addr + uint64(at+s.Word)
	}
	sled.Address, sled.Function = s.address(sled.Address), s.address(sled.Function)
	if s.Code == nil {
		return sled, nil
	}
	if !s.Code(sled.Address) {
		return sled, s.damage(at, "a sled at address %#x, where there is no code", sled.Address)
	}
	if !s.Code(sled.Function) {
		return sled, s.damage(at+s.Word, "a function at address %#x, where there is no code", sled.Function)
	}
	return sled, nil
}

// CheckIndex compares the map, read from table, with the index of functions of the same object and adds a note
// if they disagree. The index has two words for each function: where its entries start, relative to the word
// itself, and how many there are; clang 14 wrote the absolute addresses of start and end. Numbers are always
// those of the table. The runtime uses the index if a program turns on single functions.
func (m *Map) CheckIndex(table, index Section) {
	size := 2 * index.Word
	if size == 0 || index.Word != table.Word || len(index.Data) < size {
		return
	}
	funcs := m.Functions()
	if n := len(index.Data) / size; n != len(funcs) {
		m.notef("%s has %d functions where %s has %d; numbers are those of the latter", IndexName, n, SectionName, len(funcs))
		return
	}
	absolute := index.word(0) == table.Addr && index.word(index.Word) > table.Addr
	start := table.Addr
	for i, f := range funcs {
		at := i * size
		from, count := index.word(at), index.word(at+index.Word)
		if absolute {
			count = (count - from) / uint64(table.entry())
		} else {
			from += index.Addr + uint64(at)
		}
		if index.address(from) != start || count != uint64(f.Sleds) {
			m.notef("%s and %s disagree from function %d on; numbers are those of the latter", IndexName, SectionName, f.ID)
			return
		}
		start += uint64(f.Sleds * table.entry())
	}
}

package pdb

import (
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Problem: code that was inlined has the lines of its call in the lines of a module. Its own are in a symbol of the call: opcodes
// that change an offset and a line, and code up to the next change comes from that line.
//
// Choice: each call is read with its parts of the code. Those of calls within it are parts of it as well, with the lines of these
// calls: what a part belongs to is the innermost call.

// Kinds of records.
const (
	sEnd        = 0x0006
	sThunk      = 0x1102
	sBlock      = 0x1103
	sSeparate   = 0x1132
	sInline     = 0x114d
	sInlineEnd  = 0x114e
	sProcIDEnd  = 0x114f
	lfClass     = 0x1504
	lfStruct    = 0x1505
	lfUnion     = 0x1506
	lfInterface = 0x1519
	lfFuncID    = 0x1601
	lfMethodID  = 0x1602
	lfString    = 0x1605
)

// Streams of records of types, and of functions.
const (
	typeStream = 2
	idStream   = 4
)

// inlinees is the kind of a part of the lines of a module: where functions begin that were inlined.
const inlinees = 0xf6

// Limits on what a file may have.
const (
	maxNested = 1 << 10
	maxScope  = 1 << 10 // bytes of the name of a scope
	minPart   = 8       // bytes of a file for each part of inlined code: linkers write hundreds
)

// Inlined is a call that was inlined.
type Inlined struct {
	Name     string
	Section  uint16
	Function uint32 // offset of the function that has the code
	Parent   int    // index of the call that it is in, -1: that function's own code
	Line     uint32 // where the definition of the function begins that is called; 0: not known
	Parts    []Part
}

// Part is code from Offset to End in a section, of a line; line 0 is none.
type Part struct {
	Offset, End, Line uint32
	File              string
}

// definition is where an inlined function begins.
type definition struct {
	file string
	line uint32
}

// Inlined returns the calls that were inlined, each behind that which it is in.
func (f *File) Inlined() ([]Inlined, error) {
	all, parts := []Inlined(nil), f.size/minPart // parts that may follow
	names, err := f.readIDs()
	if err != nil {
		return nil, err
	}
	for _, m := range f.modules {
		c, err := f.stream(m.stream)
		if err != nil {
			return nil, err
		}
		symbols := c.Sub(uint64(m.symbols))
		c.Bytes(uint64(m.c11))
		begins, sums := f.definitions(c.Sub(uint64(m.c13)))
		if c.Err() != nil {
			return nil, fmt.Errorf("lines of a PDB file: %w", c.Err())
		}
		symbols.U32()  // signature
		var open []int // the call that each open record is in, -1: none
		function, deepest := Function{}, 0
		err = eachRecord(symbols, func(kind uint16, r *bytecur.Cursor) {
			inside := -1
			if len(open) > 0 {
				inside = open[len(open)-1]
			}
			switch kind {
			case sLocalProc, sGlobalProc, sLocalProcID, sProcID:
				r.Bytes(24)
				r.U32()
				function = Function{Offset: r.U32(), Section: r.U16()}
				open = append(open, -1)
			case sThunk, sBlock, sSeparate:
				open = append(open, inside)
			case sInline:
				r.Bytes(8) // places of other records
				id := r.U32()
				begin := begins[id]
				in := Inlined{Name: names.name(id), Section: function.Section, Function: function.Offset, Parent: inside, Line: begin.line}
				a := annotations{data: r.Bytes(uint64(r.Len())), base: function.Offset, file: begin.file, line: begin.line, most: parts}
				a.read(func(sum uint32) string { return f.fileName(sums, sum) })
				in.Parts, parts = a.parts, a.most
				open = append(open, len(all))
				all = append(all, in)
			case sEnd, sInlineEnd, sProcIDEnd:
				open = open[:max(len(open)-1, 0)]
			}
			deepest = max(deepest, len(open))
		})
		if err != nil {
			return nil, err
		}
		if parts == 0 {
			return nil, fmt.Errorf("a PDB file of %d bytes has more than %d parts of inlined code", f.size, f.size/minPart)
		}
		if deepest > maxNested {
			return nil, fmt.Errorf("symbols of a PDB file lie more than %d deep", maxNested)
		}
	}
	return all, nil
}

// definitions reads where functions begin that were inlined in a module, and its list of files.
func (f *File) definitions(c *bytecur.Cursor) (begins map[uint32]definition, sums []byte) {
	const more = 1
	begins = map[uint32]definition{}
	parts, sums := subsections(c, inlinees)
	for _, part := range parts {
		kind := part.U32()
		for part.Len() >= 12 {
			id, file, line := part.U32(), part.U32(), part.U32()
			if kind == more {
				part.Bytes(4 * uint64(part.U32()))
			}
			begins[id] = definition{f.fileName(sums, file), line}
		}
	}
	return begins, sums
}

// annotations are the opcodes of an inlined call.
type annotations struct {
	data  []byte
	base  uint32 // offset of the function in its section
	at    uint32 // offset in the function
	file  string
	line  uint32
	open  bool // the last part has no end
	parts []Part
	most  uint64 // parts that may follow
}

// Opcodes, with one operand unless they say otherwise.
const (
	opCode       = 1 // offset in the function
	opBase       = 2
	opMove       = 3
	opLength     = 4 // of the last part
	opFile       = 5
	opLine       = 6
	opMoveLine   = 11
	opLengthMove = 12 // two operands
)

// read reads the parts. What follows damage is left out.
func (a *annotations) read(file func(sum uint32) string) {
	for len(a.data) > 0 && a.most > 0 {
		op, v := a.number(), uint32(0)
		if op == 0 {
			break
		}
		v = a.number()
		switch op {
		case opCode, opBase:
			a.at = v
		case opMove:
			a.move(v)
		case opLength:
			a.end(a.at + v)
			a.at += v
		case opFile:
			a.file = file(v)
		case opLine:
			a.line += signed(v)
		case opMoveLine:
			a.line += signed(v >> 4)
			a.move(v & 15)
		case opLengthMove:
			a.move(a.number())
			a.end(a.at + v)
		}
	}
	if a.open {
		a.parts = a.parts[:len(a.parts)-1]
	}
}

// move begins a part.
func (a *annotations) move(by uint32) {
	a.at += by
	a.end(a.at)
	a.most--
	a.parts = append(a.parts, Part{Offset: a.base + a.at, Line: a.line, File: a.file})
	a.open = true
}

// end ends the last part, unless it has an end.
func (a *annotations) end(at uint32) {
	if a.open {
		a.parts[len(a.parts)-1].End = a.base + at
	}
	a.open = false
}

// number reads a number of 1, 2 or 4 bytes; 0 if there is none.
func (a *annotations) number() uint32 {
	b := a.data
	switch {
	case len(b) >= 1 && b[0]&0x80 == 0:
		a.data = b[1:]
		return uint32(b[0])
	case len(b) >= 2 && b[0]&0xc0 == 0x80:
		a.data = b[2:]
		return uint32(binary.BigEndian.Uint16(b)) & 0x3fff
	case len(b) >= 4 && b[0]&0xe0 == 0xc0:
		a.data = b[4:]
		return binary.BigEndian.Uint32(b) & 0x1fffffff
	}
	a.data = nil
	return 0
}

// signed returns the difference that a number stands for, whose lowest bit is its sign.
func signed(v uint32) uint32 {
	if v&1 != 0 {
		return -(v >> 1)
	}
	return v >> 1
}

// ids are the names of functions and of types.
type ids struct {
	functions, types records
	read             map[uint32]string
}

// records are those of a stream of types, by their number.
type records struct {
	first uint32
	all   [][]byte // kind first
}

func (r *records) at(n uint32) []byte {
	if i := n - r.first; n >= r.first && uint64(i) < uint64(len(r.all)) {
		return r.all[i]
	}
	return nil
}

// readIDs reads the records of functions and types. A file may have none.
func (f *File) readIDs() (names ids, err error) {
	names.read = map[uint32]string{}
	if names.functions, err = f.readRecords(idStream); err != nil {
		return names, err
	}
	names.types, err = f.readRecords(typeStream)
	return names, err
}

func (f *File) readRecords(stream uint16) (out records, err error) {
	c, err := f.stream(stream)
	if err != nil || c.Len() == 0 {
		return out, err
	}
	c.U32() // version
	header := uint64(c.U32())
	out.first = c.U32()
	c.Bytes(max(header, 12) - 12)
	for c.Len() >= 4 {
		out.all = append(out.all, c.Bytes(max(2, uint64(c.U16())))) // the kind at least
	}
	if c.Err() != nil {
		return out, fmt.Errorf("types of a PDB file: %w", c.Err())
	}
	return out, nil
}

// name returns the name of a function with its scope, "" if it is not known. Many calls have one name, and many names one scope.
func (n *ids) name(id uint32) string {
	name, ok := n.read[id]
	if !ok {
		name = n.full(id)
		n.read[id] = name
	}
	return name
}

func (n *ids) full(id uint32) string {
	kind, c := open(n.functions.at(id))
	scope := c.U32()
	c.U32() // type
	name := text(string(c.Bytes(uint64(c.Len()))), 0)
	within := ""
	switch kind {
	case lfFuncID:
		if kind, c := open(n.functions.at(scope)); kind == lfString {
			c.U32()
			within = text(string(c.Bytes(uint64(c.Len()))), 0)
		}
	case lfMethodID:
		within = n.class(scope)
	default:
		return ""
	}
	if within != "" && len(within) <= maxScope {
		return within + "::" + name
	}
	return name
}

// class returns the name of a class, a structure or a union.
func (n *ids) class(id uint32) string {
	kind, c := open(n.types.at(id))
	c.Bytes(8) // number of members, properties, and list of members
	switch kind {
	case lfClass, lfStruct, lfInterface:
		c.Bytes(8) // base classes, and virtual functions
	case lfUnion:
	default:
		return ""
	}
	if size := c.U16(); size >= 0x8000 { // a number of more bytes: their length by its kind
		c.Bytes(map[uint16]uint64{0x8000: 1, 0x8001: 2, 0x8002: 2, 0x8003: 4, 0x8004: 4, 0x8009: 8, 0x800a: 8}[size])
	}
	return text(string(c.Bytes(uint64(c.Len()))), 0)
}

// open returns the kind of a record, and what follows it.
func open(record []byte) (kind uint16, c *bytecur.Cursor) {
	c = bytecur.New(record, 0)
	return c.U16(), c
}

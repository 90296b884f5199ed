// Package inlined reads and writes the section .debug.cairn.inlined of object files and programs: which calls clang
// inlined. Unlike gcc, clang records in debug information only those of which code is left. A call whose result clang
// computed leaves none.
//
// The section is a sequence of 64-bit numbers, little-endian. What a unit (a compilation) adds begins with a mark, also
// if nothing was inlined in it. A number for each call follows: bits 24 to 63 are those of the FNV-1a hash of the name of
// the function that was inlined, bits 0 to 23 the line of the call, 0 if it is not known. Linkers concatenate sections,
// so the marks of a program tell whether all its units have such a list. Zeros are padding.
//
// Behind the calls of a unit are the places of the functions that were inlined, if these are known: the number cairnDef, the
// length of a text in bytes, and the text, padded with zeros. A line of it has name, file and line of a definition, with
// tabs between them.
//
// Example: a unit that inlined the function f in line 30, and one that inlined nothing.
//
//	63 61 69 72 6e 49 6e 6c  1e 00 00 86 4c db 63 af
//	63 61 69 72 6e 49 6e 6c
package inlined

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Section is the name of the section.
const Section = ".debug.cairn.inlined"

// Marks: of what a unit adds, cairnInl, and of definitions, cairnDef.
const (
	mark     = 0x6c6e496e72696163
	markDefs = 0x6665446e72696163
)

const (
	size     = 8
	maxCalls = 1 << 24
	lineBits = 24
)

// Call is a call that was inlined.
type Call struct {
	Func string
	Line int // of the call; 0 if it is not known
}

// Def is the definition of a function that was inlined.
type Def struct {
	Func, File string
	Line       int
}

// List is what a section says.
type List struct {
	Units int // that have a list
	Defs  []Def
	lines map[uint64][]int
}

// Lines returns the lines of calls of the function with a name that were inlined, in any order; none if it was inlined
// nowhere.
func (l *List) Lines(name string) []int { return l.lines[key(name)] }

func key(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() >> lineBits
}

// Encode returns what a unit adds to the section. Neither calls nor definitions need be sorted, nor differ.
func Encode(calls []Call, defs []Def) []byte {
	list := make([]uint64, 0, len(calls))
	for _, c := range calls {
		line := uint64(c.Line)
		if c.Line < 0 || line >= 1<<lineBits {
			line = 0
		}
		list = append(list, key(c.Func)<<lineBits|line)
	}
	slices.Sort(list)
	data := binary.LittleEndian.AppendUint64(nil, mark)
	for _, n := range slices.Compact(list) {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	var lines []string
	for _, d := range defs {
		if !strings.ContainsAny(d.Func+d.File, "\t\n\x00") {
			lines = append(lines, d.Func+"\t"+d.File+"\t"+strconv.Itoa(d.Line)+"\n")
		}
	}
	if len(lines) == 0 {
		return data
	}
	slices.Sort(lines)
	text := strings.Join(slices.Compact(lines), "")
	data = binary.LittleEndian.AppendUint64(data, markDefs)
	data = binary.LittleEndian.AppendUint64(data, uint64(len(text)))
	data = append(data, text...)
	return append(data, make([]byte, -len(text)&(size-1))...)
}

// Read reads the contents of a section. The error says at which offset it is damaged.
func Read(data []byte) (*List, error) {
	if len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes at offset %#x are no number", len(data)%size, len(data)/size*size)
	}
	if len(data)/size > maxCalls {
		return nil, fmt.Errorf("more than %d numbers", maxCalls)
	}
	l := &List{lines: map[uint64][]int{}}
	for at := 0; at < len(data); at += size {
		switch n := binary.LittleEndian.Uint64(data[at:]); {
		case n == mark:
			l.Units++
		case n == markDefs:
			used, err := l.readDefs(data[at+size:])
			if err != nil {
				return nil, fmt.Errorf("the definitions at offset %#x: %w", at, err)
			}
			at += used
		case n == 0:
		case l.Units == 0:
			return nil, fmt.Errorf("the number at offset %#x belongs to no unit", at)
		default:
			k := n >> lineBits
			l.lines[k] = append(l.lines[k], int(n&(1<<lineBits-1)))
		}
	}
	return l, nil
}

// readDefs reads definitions, and returns how many bytes they have.
func (l *List) readDefs(data []byte) (used int, err error) {
	if len(data) < size {
		return 0, errors.New("no length")
	}
	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-size) {
		return 0, fmt.Errorf("a length of %d bytes, and %d are left", n, len(data)-size)
	}
	for line := range strings.Lines(string(data[size : size+n])) {
		name, place, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		file, number, _ := strings.Cut(place, "\t")
		at, err := strconv.Atoi(number)
		if err != nil {
			return 0, fmt.Errorf("%q is no definition", line)
		}
		l.Defs = append(l.Defs, Def{name, file, at})
	}
	return int(n+2*size-1) &^ (size - 1), nil
}

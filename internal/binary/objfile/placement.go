package objfile

import (
	"debug/elf"
	"io"
	"slices"
	"strings"
)

// Placement says whether a linker can move the functions of an object.
type Placement uint8

// The placements of functions in an object.
const (
	NoFunctions  Placement = iota // it has none, or one, or is no object file
	InOneSection                  // linkers move them only together
	InSections                    // each can be in a section of its own; also of code that the link compiles
)

// FunctionPlacement says how the functions of an object of a link are placed: compilers put them into .text, and
// with -ffunction-sections each into a section of its own. It looks at ELF objects only; bitcode is InSections.
func FunctionPlacement(r io.ReaderAt) (Placement, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n == len(magic) && string(magic[:]) == "BC\xc0\xde" {
		return InSections, nil
	}
	f, err := openObject(r)
	if f == nil || err != nil {
		return NoFunctions, err
	}
	text, own := -1, false
	for i, s := range f.Sections {
		switch {
		case strings.HasPrefix(s.Name, gccLTO):
			return InSections, nil
		case s.Name == ".text" && s.Size > 0 && text < 0:
			text = i
		case s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0 && strings.HasPrefix(s.Name, ".text."):
			own = true
		}
	}
	if text < 0 {
		if own {
			return InSections, nil
		}
		return NoFunctions, nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return NoFunctions, err
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) != text
	})
	if len(symbols) < 2 {
		return NoFunctions, nil
	}
	return InOneSection, nil
}

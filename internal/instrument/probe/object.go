package probe

import "github.com/cairnprof/cairn/internal/instrument/asm"

// object is a format of object files: the sections that a unit gets, and how their directives are written. The text
// of probes is in ELF's syntax, whatever the format.
type object interface {
	// spell translates text in ELF's syntax to that of the format.
	spell(r *Rewriter, text []byte) []byte
	// optsOut reports whether the source of fn, or its name, says that it gets no probe.
	optsOut(fn *asm.Function) bool
	// areaOf returns the area of the record of fn.
	areaOf(r *Rewriter, fn *asm.Function) *area
	// appendAreas appends the areas, what they share, and what makes a link need the runtime.
	appendAreas(r *Rewriter, out []byte) []byte
	// appendMap begins the section with the map record of function n.
	appendMap(r *Rewriter, out []byte, fn *asm.Function, n int, rec position) []byte
	// base is what is subtracted from an address in the map, "" if it is stored as it is.
	base() string
	// mapFlags are the bits of the mode in map records that are set for the format.
	mapFlags() int
	// appendUnit appends the section with the record of a unit, which it may change.
	appendUnit(r *Rewriter, out, record []byte) []byte
}

// objects are the formats.
var objects = [...]object{asm.ELF: elf{}, asm.MachO: machO{}, asm.COFF: coff{}}

// object returns the format of the unit.
func (r *Rewriter) object() object { return objects[r.Unit.Object] }

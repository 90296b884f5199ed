// Package image describes what the link step needs of a linked program, in any format of files.
package image

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Symbol is a symbol of a program. If its format has no sizes, it ends where the next begins.
type Symbol struct {
	Name       string
	Addr, Size uint64
	Func       bool
}

// EndAtNext orders symbols whose sizes reach to the ends of their sections by address, and has each end where the next
// begins.
func EndAtNext(list []Symbol) {
	stablesort.Func(list, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	next := ^uint64(0)
	for i := len(list) - 1; i >= 0; i-- {
		s := &list[i]
		if i+1 < len(list) && list[i+1].Addr > s.Addr {
			next = list[i+1].Addr
		}
		s.Size = min(s.Size, next-s.Addr)
	}
}

// Addition is a section to add. One with Data is not loaded. One without describes Size
// bytes of memory at Addr.
type Addition struct {
	Name       string
	Data       []byte
	Addr, Size uint64
}

// Image is a linked program in memory, for x86-64 or for arm64.
type Image interface {
	AMD64() bool
	// BuildID returns what identifies the program, nil if nothing does.
	BuildID() []byte
	// At returns the part of the file that is loaded at addr, up to the end of its section;
	// nil if there is none. The caller may change it.
	At(addr uint64) []byte
	// Pointer returns the address that the word at addr has, without a slide.
	Pointer(addr uint64) (uint64, bool)
	Symbols() ([]Symbol, error)
	// Extend returns the file with more sections, and, if strip is set and the format allows
	// it, without its symbol table and debug information.
	Extend(add []Addition, strip bool) ([]byte, error)
	// Only returns a file that has the added sections and the build id, but no code to run.
	Only(add []Addition) ([]byte, error)
	// Bytes returns the file with what was changed in memory.
	Bytes() ([]byte, error)
}

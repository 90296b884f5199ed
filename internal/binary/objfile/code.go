package objfile

import (
	"cmp"
	"debug/elf"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Code holds the instructions of a module. It is immutable.
type Code struct {
	machine  machine.Kind
	sections []codeSection // ascending by addr
}

type codeSection struct {
	addr uint64
	data []byte
}

// Code returns the contents of the module's executable sections.
func (f *File) Code() (*Code, error) {
	c := &Code{machine: f.Machine()}
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type == elf.SHT_NOBITS || s.Addr == 0 {
			continue
		}
		data, err := f.read(s)
		if err != nil {
			return nil, err
		}
		c.sections = append(c.sections, codeSection{s.Addr, data})
	}
	stablesort.Func(c.sections, func(a, b codeSection) int { return cmp.Compare(a.addr, b.addr) })
	return c, nil
}

// Machine returns the machine that the code is for.
func (c *Code) Machine() machine.Kind { return c.machine }

// Bytes returns the bytes of [lo, hi), or nil if they are not all in one
// executable section. They must not be changed.
func (c *Code) Bytes(lo, hi uint64) []byte {
	k, found := slices.BinarySearchFunc(c.sections, lo, func(s codeSection, lo uint64) int { return cmp.Compare(s.addr, lo) })
	if !found {
		k--
	}
	if k < 0 || hi < lo {
		return nil
	}
	s := c.sections[k]
	if n := uint64(len(s.data)); lo-s.addr > n || hi-s.addr > n {
		return nil
	}
	return s.data[lo-s.addr : hi-s.addr]
}

package objfile

import (
	"encoding/binary"
	"slices"
)

// Pointers returns the addresses of code that stand in what is loaded of a module
// besides its code, ascending: in data, in relocations that the dynamic linker applies,
// in the table of symbols that other modules see; and where it starts. Bytes that only
// look like an address are among them. Instructions may have further ones.
func (f *File) Pointers() ([]uint64, error) {
	contents, err := f.Contents()
	if err != nil {
		return nil, err
	}
	all, code := []uint64{f.elf.Entry}, f.code()
	for _, s := range contents {
		if s.Code {
			continue
		}
		// At any byte: structures may be packed.
		for data := s.Data; len(data) >= 8; data = data[1:] {
			addr := binary.LittleEndian.Uint64(data)
			if slices.ContainsFunc(code, func(s span) bool { return addr-s.lo < s.hi-s.lo }) {
				all = append(all, addr)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

package objfile

import (
	"debug/elf"
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
		// What is loaded anywhere has its addresses in relocations, which are aligned, as
		// are those in place. Elsewhere they may be in packed structures, at any byte.
		data, step := s.Data, 1
		if f.elf.Type == elf.ET_DYN {
			data, step = data[min(-s.Addr%8, uint64(len(data))):], 8
		}
		for ; len(data) >= 8; data = data[min(step, len(data)):] {
			addr := binary.LittleEndian.Uint64(data)
			if slices.ContainsFunc(code, func(s span) bool { return addr-s.lo < s.hi-s.lo }) {
				all = append(all, addr)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

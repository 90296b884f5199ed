package objfile

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Pointers returns the addresses of code in the loaded parts of a module other than its code,
// ascending: in data, in relocations that the dynamic linker applies, in the table of exported
// symbols; and the entry point. Data that only looks like an address is included. Instructions
// may contain further addresses.
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
		// In a module that can be loaded anywhere, addresses have relocations, and are
		// aligned. Otherwise they may be at any byte, in packed structures.
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

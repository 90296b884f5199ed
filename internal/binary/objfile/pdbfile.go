package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/pdb"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// findPDB looks for the file of debug information of a program that has no symbols itself: beside the program, under the name
// that the linker wrote into it or that of the program, then at the linker's path, unless that is on another machine. It adds the
// functions that are in it. A file that is damaged is not used, whichever program's it is; damage says what is wrong.
func (f *File) findPDB() {
	if f.elf.pdb == "" || f.elf.Section(".symtab") != nil || f.elf.Section(".debug_info") != nil {
		return
	}
	written := strings.ReplaceAll(f.elf.pdb, `\`, "/")
	dir, name := filepath.Dir(f.path), filepath.Base(f.path)
	for _, path := range []string{
		filepath.Join(dir, filepath.Base(written)), filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name))+".pdb"), written,
	} {
		if strings.HasPrefix(path, "//") {
			continue
		}
		found := false
		err := withPDB(path, func(p *pdb.File) error {
			id := p.ID()
			if found = bytes.Equal(binary.LittleEndian.AppendUint32(id.GUID[:], id.Age), f.elf.id); !found {
				return nil
			}
			return f.addPDB(p)
		})
		switch {
		case err != nil && f.damage == nil:
			f.damage = fmt.Errorf("%s is damaged, and not used: %w", path, err)
		case err == nil && found:
			f.pdb, f.damage = path, nil
			return
		}
	}
}

// DamagedPDB returns what is wrong with the file that would have the functions of a program for Windows, nil if it is not damaged.
func (f *File) DamagedPDB() error { return f.damage }

// MissingPDB returns the name of the file that has the functions of a program for Windows, if it was not found.
func (f *File) MissingPDB() string {
	if f.pdb != "" || f.damage != nil || f.elf.pdb == "" || f.elf.Section(".symtab") != nil {
		return ""
	}
	return filepath.Base(strings.ReplaceAll(f.elf.pdb, `\`, "/"))
}

// withPDB calls do with the file at path, if it is one.
func withPDB(path string, do func(*pdb.File) error) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a program may name any file: to open a pipe would wait for its writer
		return nil
	}
	r, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	p, err := pdb.Open(r, uint64(info.Size()))
	if errors.Is(err, pdb.ErrNoPDB) {
		return nil
	}
	if err != nil {
		return err
	}
	return do(p)
}

// pdbAddress returns the address of a place in a section of the program.
func (f *File) pdbAddress(section uint16, offset uint32) (addr, rest uint64, ok bool) {
	if section == 0 || int(section) >= len(f.elf.Sections) {
		return 0, 0, false
	}
	s := f.elf.Sections[section]
	if s.Flags&elf.SHF_EXECINSTR == 0 || uint64(offset) >= s.Size {
		return 0, 0, false
	}
	return s.Addr + uint64(offset), s.Size - uint64(offset), true
}

// addPDB adds the functions of a file as symbols. One whose size is not known ends at the next.
func (f *File) addPDB(p *pdb.File) error {
	functions, err := p.Functions()
	if err != nil {
		return err
	}
	var all []symbolOfCode
	for _, fn := range functions {
		addr, rest, ok := f.pdbAddress(fn.Section, fn.Offset)
		if !ok {
			continue
		}
		s := symbolOfCode{name: fn.Name, bind: elf.STB_GLOBAL, section: int(fn.Section), addr: addr, size: min(uint64(fn.Size), rest)}
		if fn.Local {
			s.bind = elf.STB_LOCAL
		}
		all = append(all, s)
	}
	starts := make([]uint64, len(all))
	for i := range all {
		starts[i] = all[i].addr
	}
	slices.Sort(starts)
	for i := range all {
		if s := &all[i]; s.size == 0 {
			end := f.elf.Sections[s.section].Addr + f.elf.Sections[s.section].Size
			if k := sort.Search(len(starts), func(k int) bool { return starts[k] > s.addr }); k < len(starts) {
				end = min(end, starts[k])
			}
			s.size = end - s.addr
		}
	}
	if len(all) > 0 {
		f.elf.addSymbols(all)
	}
	return nil
}

// pdbTable reads the lines of the code.
func (f *File) pdbTable(b *builder) (*LineTable, error) {
	if b.columns || b.statements {
		return nil, fmt.Errorf("%s: %w", f.pdb, ErrNoDebug)
	}
	var ends []uint64 // of the ranges
	var parts pdbParts
	add := func(r pdb.Range) {
		addr, rest, ok := f.pdbAddress(r.Section, r.Offset)
		if !ok || uint64(r.Size) > rest {
			return
		}
		stablesort.Func(r.Rows, func(x, y pdb.Row) int { return cmp.Compare(x.Offset, y.Offset) })
		for i, x := range r.Rows {
			end := r.Size
			if i+1 < len(r.Rows) {
				end = r.Rows[i+1].Offset
			}
			parts.add(addr+uint64(x.Offset), addr+uint64(end), 0, b.file(strings.ReplaceAll(x.File, `\`, "/")), x.Line)
		}
		ends = append(ends, addr+uint64(r.Size))
	}
	err := withPDB(f.pdb, func(p *pdb.File) error {
		if err := p.Lines(add); err != nil {
			return err
		}
		return f.addInlinedLines(p, b, &parts)
	})
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; %w", f.pdb, err, ErrNoDebug)
	}
	slices.Sort(ends)
	parts.rows(b, ends)
	return b.finish(), nil
}

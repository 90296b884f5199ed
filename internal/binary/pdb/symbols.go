package pdb

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Kinds of symbol records (CodeView).
const (
	sPublic      = 0x110e
	sLocalProc   = 0x110f
	sGlobalProc  = 0x1110
	sLocalProcID = 0x1146
	sProcID      = 0x1147
)

// Kinds of parts of the lines of a module.
const (
	lines     = 0xf2
	checksums = 0xf4
)

// hidden are line numbers of code that has no line.
const (
	neverStep  = 0xfeefee
	alwaysStep = 0xf00f00
)

// module is an object of the link.
type module struct {
	stream            uint16
	symbols, c11, c13 uint32 // bytes of its parts: lines of two formats behind the symbols, of which the older one is not read
}

// Function is a function of the program. Its place is an offset in a section, which are counted from 1.
type Function struct {
	Name    string
	Section uint16
	Local   bool
	Offset  uint32
	Size    uint32 // 0: not known
}

// Range is code that comes from the lines of Rows, which ascend.
type Range struct {
	Section uint16
	Offset  uint32
	Size    uint32
	Rows    []Row
}

// Row is a line, of the code from an offset in its range on; line 0 is none.
type Row struct {
	Offset, Line uint32
	File         string
}

// readModules reads the list of modules.
func (f *File) readModules() error {
	const header, dbi = 64, 3
	c, err := f.stream(dbi)
	if err != nil {
		return err
	}
	h := c.Sub(header)
	h.Bytes(8) // signature and version
	f.id.Age = h.U32()
	h.Bytes(8)
	f.publics = h.U16()
	h.Bytes(2)
	list := c.Sub(uint64(h.U32()))
	if c.Err() != nil || h.Err() != nil {
		return fmt.Errorf("the list of modules of a PDB file is cut off")
	}
	for list.Len() > 0 {
		start := list.Off()
		list.Bytes(34) // the first contribution to a section
		m := module{stream: list.U16(), symbols: list.U32(), c11: list.U32(), c13: list.U32()}
		list.Bytes(16) // number and names of source files
		for range 2 {  // its name, and that of its archive
			for list.Len() > 0 && list.U8() != 0 {
			}
		}
		list.Bytes(uint64(start-list.Off()) & 3)
		if list.Err() != nil {
			return fmt.Errorf("the list of modules of a PDB file: %w", list.Err())
		}
		if m.stream != noStream {
			f.modules = append(f.modules, m)
		}
	}
	return nil
}

// Functions returns the functions of all modules, and the public symbols where there is none, as in objects of assembly: these
// have their linker's names and no size. Those in sections of data are not functions.
func (f *File) Functions() ([]Function, error) {
	type place struct {
		section uint16
		offset  uint32
	}
	var all []Function
	known := map[place]bool{}
	for _, m := range f.modules {
		c, err := f.stream(m.stream)
		if err != nil {
			return nil, err
		}
		c = c.Sub(uint64(m.symbols))
		c.U32() // signature
		err = eachRecord(c, func(kind uint16, r *bytecur.Cursor) {
			if kind != sLocalProc && kind != sGlobalProc && kind != sLocalProcID && kind != sProcID {
				return
			}
			r.Bytes(12)
			fn := Function{Local: kind == sLocalProc || kind == sLocalProcID, Size: r.U32()}
			r.Bytes(12)
			fn.Offset, fn.Section = r.U32(), r.U16()
			r.U8()
			if fn.Name = text(string(r.Bytes(uint64(r.Len()))), 0); fn.Name != "" {
				known[place{fn.Section, fn.Offset}] = true
				all = append(all, fn)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	c, err := f.stream(f.publics)
	if f.publics == noStream || err != nil {
		return all, nil
	}
	err = eachRecord(c, func(kind uint16, r *bytecur.Cursor) {
		if kind != sPublic {
			return
		}
		r.U32() // flags: linkers do not mark all functions
		fn := Function{Offset: r.U32(), Section: r.U16()}
		if fn.Name = text(string(r.Bytes(uint64(r.Len()))), 0); fn.Name != "" && !known[place{fn.Section, fn.Offset}] {
			all = append(all, fn)
		}
	})
	return all, err
}

// eachRecord calls do with each symbol record.
func eachRecord(c *bytecur.Cursor, do func(kind uint16, r *bytecur.Cursor)) error {
	for c.Len() >= 4 {
		size := uint64(c.U16())
		r := c.Sub(size)
		do(r.U16(), r)
		if size < 2 {
			c.Failf("a symbol of %d bytes", size)
		}
	}
	if c.Err() != nil {
		return fmt.Errorf("symbols of a PDB file: %w", c.Err())
	}
	return nil
}

// Lines calls do with the lines of each part of the code.
func (f *File) Lines(do func(Range)) error {
	for _, m := range f.modules {
		c, err := f.stream(m.stream)
		if err != nil {
			return err
		}
		c.Bytes(uint64(m.symbols) + uint64(m.c11))
		c = c.Sub(uint64(m.c13))
		parts, sums := subsections(c, lines)
		for _, part := range parts {
			do(f.lines(part, sums))
			if part.Err() != nil {
				return fmt.Errorf("lines of a PDB file: %w", part.Err())
			}
		}
		if c.Err() != nil {
			return fmt.Errorf("lines of a PDB file: %w", c.Err())
		}
	}
	return nil
}

// lines reads the lines of a part of the code.
func (f *File) lines(c *bytecur.Cursor, sums []byte) Range {
	const columns = 1
	r := Range{Offset: c.U32(), Section: c.U16()}
	flags := c.U16()
	r.Size = c.U32()
	for c.Len() >= 12 {
		file := f.fileName(sums, c.U32())
		count, size := uint64(c.U32()), uint64(c.U32())
		block := c.Sub(max(size, 12) - 12)
		if per := uint64(8 + 4*(flags&columns)); count > uint64(block.Len())/per {
			c.Failf("%d lines in %d bytes", count, block.Len())
			return r
		}
		for range count {
			row := Row{Offset: block.U32(), Line: block.U32() & 0xffffff, File: file}
			if row.Line == neverStep || row.Line == alwaysStep {
				row.Line = 0
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

// fileName returns the name of the file whose checksum is at an offset.
func (f *File) fileName(sums []byte, at uint32) string {
	c := bytecur.New(sums, 0)
	c.Bytes(uint64(at))
	name := c.U32()
	if c.Err() != nil {
		return ""
	}
	return text(f.names, name)
}

// subsections reads what a module has behind its symbols: the subsections of a kind, and the list of its files.
func subsections(c *bytecur.Cursor, kind uint32) (parts []*bytecur.Cursor, sums []byte) {
	for c.Len() >= 8 {
		k, part := c.U32(), c.Sub(uint64(c.U32()))
		switch k {
		case checksums:
			sums = part.Bytes(uint64(part.Len()))
		case kind:
			parts = append(parts, part)
		}
		c.Bytes(min(uint64(-c.Off())&3, uint64(c.Len())))
	}
	return parts, sums
}

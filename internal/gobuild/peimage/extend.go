package peimage

import (
	"bytes"
	"fmt"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/image"
)

// places are the names of added sections, which have at most 8 bytes: longer ones are among the names of symbols.
var places = map[string]string{wire.RawSection: wire.PlaceCOFF, wire.MapSection: wire.GoMapCOFF, wire.UnitSection: wire.UnitCOFF, golines.Section: golines.COFFSection}

// identity is the section with the identity, of a program that has none.
const identity = ".crnid"

// Extend returns the file with sections of the additions behind all others, and with an identity. Memory that an addition
// describes is a part of another section here, and those must not overlap: a section has its address and size. The symbol
// table stays.
func (f *File) Extend(add []image.Addition, _ bool) ([]byte, error) {
	out := &File{data: bytes.Clone(f.data), coff: f.coff, base: f.base, sections: f.sections}
	if err := out.identify(f.BuildID()); err != nil {
		return nil, err
	}
	for _, a := range add {
		data := a.Data
		if data == nil {
			data = le.AppendUint64(le.AppendUint64(nil, a.Addr), a.Size)
		}
		if _, _, err := out.append(places[a.Name], data); err != nil {
			return nil, err
		}
	}
	return out.data, nil
}

// identify adds a section with a CodeView record, if the file has none.
func (f *File) identify(id []byte) error {
	if f.hasIdentity() {
		return nil
	}
	data := append(make([]byte, debugSize), record...)
	data = append(append(data, id...), 0) // no name of a PDB
	addr, off, err := f.append(identity, data)
	if err != nil {
		return err
	}
	entry := f.data[off:]
	le.PutUint32(entry[debugKind:], codeView)
	le.PutUint32(entry[debugSum:], uint32(len(data)-debugSize))
	le.PutUint32(entry[debugAddr:], addr+debugSize)
	le.PutUint32(entry[debugPlace:], off+debugSize)
	le.PutUint32(f.optional()[debugEntry:], addr)
	le.PutUint32(f.optional()[debugEntry+4:], debugSize)
	return nil
}

// append adds a section that can be read, and returns its address from the base, and its offset.
func (f *File) append(name string, data []byte) (addr, off uint32, err error) {
	head := f.optional()
	at := f.headers() + len(f.sections)*sectionSize
	if room := int(le.Uint32(head[headersSize:])); at+sectionSize > room {
		return 0, 0, fmt.Errorf("section headers up to %#x, there is room up to %#x", at+sectionSize, room)
	}
	last := f.sections[len(f.sections)-1]
	addr = alignUp(uint32(last.addr()+last.size()), le.Uint32(head[sectionStep:]))
	step := le.Uint32(head[fileStep:])
	off = alignUp(uint32(len(f.data)), step)
	f.data = append(f.data, make([]byte, int(off)-len(f.data))...)
	f.data = append(f.data, data...)
	f.data = append(f.data, make([]byte, int(alignUp(uint32(len(f.data)), step))-len(f.data))...)
	h := make([]byte, sectionSize)
	copy(h[:8], name)
	le.PutUint32(h[8:], uint32(max(len(data), 1)))
	le.PutUint32(h[12:], addr)
	le.PutUint32(h[16:], uint32(len(f.data))-off)
	le.PutUint32(h[20:], off)
	le.PutUint32(h[36:], contents|readable)
	copy(f.data[at:], h)
	le.PutUint16(f.data[f.coff+2:], uint16(len(f.sections)+1))
	head = f.optional()
	le.PutUint32(head[imageSize:], alignUp(addr+uint32(max(len(data), 1)), le.Uint32(head[sectionStep:])))
	le.PutUint32(head[checkSum:], 0)
	out, err := Parse(f.data)
	if err != nil {
		return 0, 0, err
	}
	*f = *out
	return addr, off, nil
}

func alignUp(n, to uint32) uint32 { return (n + to - 1) / to * to }

// Only returns a file that has the added sections and the identity, but no code to run.
func (f *File) Only(add []image.Addition) ([]byte, error) {
	head := bytes.Clone(f.data[:le.Uint32(f.optional()[headersSize:])])
	bare := &File{data: head, coff: f.coff, base: f.base}
	clear(head[f.headers():])
	optional := bare.optional()
	le.PutUint32(head[f.coff+8:], 0)  // symbols
	le.PutUint32(head[f.coff+12:], 0) // their number
	clear(optional[optionals-8*16 : optionals])
	// A section of nothing in front of the others, as Parse demands one.
	le.PutUint16(head[f.coff+2:], 1)
	first := head[f.headers():]
	copy(first, ".text")
	le.PutUint32(first[8:], 1)
	le.PutUint32(first[12:], le.Uint32(optional[sectionStep:]))
	bare, err := Parse(head)
	if err != nil {
		return nil, err
	}
	if err := bare.identify(f.BuildID()); err != nil {
		return nil, err
	}
	return bare.Extend(add, false)
}

package mip

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// AppendMapSection appends the map section of a module whose raw section is at rawAddr, as
// ReadMapSection reads it.
func AppendMapSection(b []byte, rawAddr uint64, funcs []prof.Func) []byte {
	le := binary.LittleEndian
	for i := range funcs {
		f := &funcs[i]
		start := len(b)
		b = le.AppendUint32(b, 0) // the length, below
		mode := uint8(f.Mode)
		if f.Atomic {
			mode |= wire.MapAtomic
		}
		if f.Plain {
			mode |= wire.MapPlain
		}
		b = append(b, wire.MapVersion, mode)
		b = le.AppendUint16(b, uint16(len(f.Fragments)))
		b = le.AppendUint64(b, rawAddr+f.Record)
		b = le.AppendUint32(b, f.Signature)
		for k := range f.Fragments {
			fr := &f.Fragments[k]
			b = le.AppendUint64(b, fr.Addr)
			b = le.AppendUint32(b, fr.Size)
			b = appendNumbers(b, fr.Blocks)
		}
		b = le.AppendUint32(b, uint32(len(f.Implied)))
		for _, im := range f.Implied {
			b = appendNumbers(le.AppendUint32(b, im.Block), im.By)
		}
		b = appendSectionFlow(b, f.Flow)
		b = le.AppendUint32(b, uint32(len(f.Calls)))
		for _, call := range f.Calls {
			b = append(append(le.AppendUint32(b, call.Block), call.Callee...), 0)
		}
		b = append(append(b, f.Name...), 0)
		b = append(append(b, f.File...), 0)
		le.PutUint32(b[start:], uint32(len(b)-start))
	}
	return b
}

// appendNumbers appends the length of a list and its numbers.
func appendNumbers(b []byte, list []uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

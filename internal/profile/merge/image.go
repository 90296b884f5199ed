package merge

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// FirstExecutions returns the run of m in which only the order of first executions is known: each function was
// called once and ran its entry block. funcs are indexes into m.Funcs, each at most once.
func FirstExecutions(m *prof.Map, funcs []uint32) *Run {
	// Some modes do not record the order, but a trace can be stored for all.
	r := &Run{Data: make([]byte, m.RawSize), Funcs: funcs}
	le := binary.LittleEndian
	for i, fn := range funcs {
		f := &m.Funcs[fn]
		record := r.Data[f.Record:]
		switch {
		case f.Mode.HasCalls():
			le.PutUint32(record, ^uint32(0)) // calls are counted downwards
			le.PutUint32(record[wire.OrderOffset:], uint32(i+1))
			if f.Mode == prof.ModeFull {
				le.PutUint32(record[wire.CallerOffset:], 1<<31)
			}
		default:
			record[0] = 1
		}
		if f.Mode.HasSlots() {
			r.Slots = append(r.Slots, uint32(f.Record))
		}
	}
	r.Next = uint64(len(r.Slots))
	return r
}

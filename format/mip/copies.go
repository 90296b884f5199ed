package mip

import (
	"encoding/binary"
	"math"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// stride returns the distance between the starts of two copies of the section.
func (h *RawHeader) stride() uint64 {
	return (h.Offset%wire.PageSize + h.Size + wire.PageSize - 1) &^ (wire.PageSize - 1)
}

// addCopies returns the section with the counts of all processors. A count that is larger than a
// record can hold is marked as inexact. The counts of the section itself are those of processors
// without a copy, which may have lost some: alone reports that there are none. The file is at least
// End bytes long.
func (h *RawHeader) addCopies(file []byte) (sum []byte, alone bool) {
	le := binary.LittleEndian
	sum, alone = append(make([]byte, 0, h.Size), file[h.Offset:][:h.Size]...), true
	for at := uint64(0); at+wire.CountSize <= h.Size; at += wire.CountSize {
		calls, wrapped := uint64(-le.Uint32(sum[at:])), false
		alone = alone && calls == 0
		for k := uint64(1); k <= h.Copies; k++ {
			own := file[h.Offset+k*h.stride()+at:]
			calls += uint64(-le.Uint32(own))
			wrapped = wrapped || le.Uint32(own[wire.OrderOffset:]) > 1
		}
		le.PutUint32(sum[at:], -uint32(calls))
		if wrapped || calls > math.MaxUint32 {
			order := sum[at+wire.OrderOffset:]
			le.PutUint32(order, le.Uint32(order)|wire.OrderInexact)
		}
	}
	return sum, alone
}

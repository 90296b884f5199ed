package objfile

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Columns of the index of a package (DWARF 5, 7.3.5.3; version 2 is GNU's, of DWARF 4).
const (
	columnInfo       = 1
	columnAbbrev     = 3
	columnLine       = 4
	columnStrOffsets = 6
	columnRnglists   = 8 // in version 2, .debug_macro
)

const (
	maxSplitUnits   = 1 << 24
	maxSplitColumns = 16
)

// readSplitIndex reads .debug_cu_index, an open hash table: a header, the ids of units and
// their row numbers by slot, then the columns, the offset of each row's part in each section,
// and their sizes.
func readSplitIndex(data []byte) (map[uint64]splitRow, error) {
	c := bytecur.New(data, 0)
	version := c.U32()
	if version != 2 { // in DWARF 5 it has two bytes, then two bytes of padding
		version &= 0xffff
	}
	if c.Err() == nil && version != 2 && version != 5 {
		return nil, fmt.Errorf("version %d is not supported: it is neither 2 nor 5", version)
	}
	columns := uint64(c.U32())
	units := c.CheckCount(c.Off(), uint64(c.U32()), "units", maxSplitUnits, 8)
	slots := c.CheckCount(c.Off(), uint64(c.U32()), "slots", 4*maxSplitUnits, 12)
	if columns > maxSplitColumns {
		return nil, fmt.Errorf("%d columns exceed %d", columns, maxSplitColumns)
	}
	ids, numbers := c.Sub(8*uint64(slots)), c.Sub(4*uint64(slots))
	kinds := make([]uint32, columns)
	for i := range kinds {
		kinds[i] = c.U32()
	}
	table := 4 * columns * uint64(units)
	offsets, sizes := c.Bytes(table), c.Bytes(table)
	if c.Err() != nil {
		return nil, c.Err()
	}
	rows := map[uint64]splitRow{}
	for range slots {
		id, n := ids.U64(), uint64(numbers.U32())
		if n == 0 { // an empty slot
			continue
		}
		if n > uint64(units) {
			return nil, fmt.Errorf("slot with row %d of %d", n, units)
		}
		var row splitRow
		for i, kind := range kinds {
			at := 4 * ((n-1)*columns + uint64(i))
			p := part{little(offsets[at : at+4]), little(sizes[at : at+4])}
			switch {
			case kind == columnInfo:
				row.info = p
			case kind == columnAbbrev:
				row.abbrev = p
			case kind == columnLine:
				row.line = p
			case kind == columnStrOffsets:
				row.strOffsets = p
			case kind == columnRnglists && version == 5:
				row.rnglists = p
			}
		}
		rows[id] = row
	}
	return rows, nil
}

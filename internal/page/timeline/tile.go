package timeline

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// tileVersion is the version of tiles.
const tileVersion = 1

// tileBits determines the length of a tile: 2^tileBits cells.
const tileBits = 10

// packed is set in the level of a pack.
const packed = 0x80

// Tile is the data of a lane that a page loads.
type Tile struct {
	Level   uint8
	Pack    bool // has all levels from Level on
	Start   uint64
	Records []Record
}

// Top returns the level on which all of the time line is one tile.
func (x *Index) Top() uint8 {
	return uint8(max(0, bits.Len64(x.end)-tileBits))
}

// Tile returns a tile of a lane.
func (x *Index) Tile(lane int, level uint8, number uint64) (*Tile, error) {
	if lane < 0 || lane >= len(x.lanes) || level > x.Top() || number > x.end>>(level+tileBits) {
		return nil, fmt.Errorf("the time line has no tile %d of level %d in lane %d", number, level, lane)
	}
	t := &Tile{Level: level, Start: number << (level + tileBits)}
	var err error
	t.Records, err = x.records(view{lane, level, level, t.Start, t.Start + 1<<(level+tileBits)})
	return t, err
}

// Pack returns all levels of a lane from one on.
func (x *Index) Pack(lane int, level uint8) (*Tile, error) {
	t := &Tile{Level: level, Pack: true}
	var err error
	t.Records, err = x.records(view{lane, level, maxLevel, 0, math.MaxUint64})
	return t, err
}

// Append adds the tile in the form of the package to b.
func (t *Tile) Append(b []byte) []byte {
	level := t.Level
	if t.Pack {
		level |= packed
	}
	b = append(b, tileVersion, level)
	b = binary.AppendUvarint(b, t.Start)
	b = binary.AppendUvarint(b, uint64(len(t.Records)))
	depth, end := 0, t.Start
	for i := range t.Records {
		r := &t.Records[i]
		if r.Depth != depth {
			end = t.Start
		}
		b = binary.AppendUvarint(b, uint64(r.Depth-depth)<<2|uint64(r.Kind))
		b = binary.AppendVarint(b, int64(r.Start-end))
		b = binary.AppendUvarint(b, r.End-r.Start)
		b = binary.AppendUvarint(b, uint64(r.Func))
		if r.Kind == Block {
			b = binary.AppendUvarint(b, r.Calls)
			b = binary.AppendUvarint(b, r.Idle)
		}
		if t.Pack {
			b = append(b, max(r.From, t.Level), r.To)
		}
		depth, end = r.Depth, r.End
	}
	return b
}

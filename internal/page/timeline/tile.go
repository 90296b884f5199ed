package timeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/cairnprof/cairn/internal/bytecur"
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

// ReadTile reads a tile.
func ReadTile(data []byte) (*Tile, error) {
	c := bytecur.New(data, 0)
	if v := c.U8(); v != tileVersion && c.Err() == nil {
		return nil, fmt.Errorf("a tile of version %d, not %d", v, tileVersion)
	}
	level := c.U8()
	t := &Tile{Level: level &^ packed, Pack: level&packed != 0, Start: c.Uvarint()}
	n := c.Count("records", maxItems, 4)
	if t.Level > maxLevel {
		c.Failf("level %d", t.Level)
	}
	depth, end := uint64(0), t.Start
	for range n {
		head := c.Uvarint()
		if head>>2 != 0 {
			depth, end = depth+head>>2, t.Start
		}
		r := Record{Depth: int(depth), Kind: Kind(head & 3), Start: end + uint64(c.Varint()), Calls: 1, From: t.Level, To: t.Level}
		r.End = r.Start + c.Uvarint()
		fn := c.Uvarint()
		r.Func = uint32(fn)
		if r.Kind == Block {
			r.Calls, r.Idle = c.Uvarint(), c.Uvarint()
		}
		if t.Pack {
			r.From, r.To = c.U8(), c.U8()
		}
		if c.Err() == nil && (depth > maxTrackDepth || r.Kind > Block || fn > math.MaxUint32 || r.End < r.Start || r.From > r.To || r.To > maxLevel || r.From < t.Level) {
			c.Failf("a record ends here that cannot be: %+v", r)
		}
		if c.Err() != nil {
			return nil, c.Err()
		}
		t.Records = append(t.Records, r)
		end = r.End
	}
	if c.Err() == nil && c.Len() > 0 {
		return nil, errors.New("a tile has more bytes than records")
	}
	return t, c.Err()
}

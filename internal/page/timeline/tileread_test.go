package timeline

import (
	"errors"
	"fmt"
	"math"

	"github.com/cairnprof/cairn/internal/bytecur"
)

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

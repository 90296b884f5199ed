package mip

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// appendImplied writes the blocks without a probe. The blocks that imply a block are mostly near it.
func appendImplied(b []byte, implied []prof.Implied) []byte {
	b = binary.AppendUvarint(b, uint64(len(implied)))
	last := uint32(0)
	for _, im := range implied {
		b = binary.AppendUvarint(b, uint64(im.Block-last))
		last = im.Block
		b = binary.AppendUvarint(b, uint64(len(im.By)))
		near := uint64(im.Block)
		for _, by := range im.By {
			b = appendDelta(b, uint64(by), near)
			near = uint64(by)
		}
	}
	return b
}

func readImplied(c *bytecur.Cursor) []prof.Implied {
	n := c.Count("blocks without a probe", MaxBlocks, 2)
	if n == 0 {
		return nil
	}
	implied := make([]prof.Implied, n)
	last := uint64(0)
	for i := range implied {
		last = readBlockIndex(c, last+uint64(readU32(c, "block")))
		implied[i].Block = uint32(last)
		near := last
		for range c.Count("blocks that imply another", MaxEvidence, 1) {
			near = readBlockIndex(c, readDelta(c, near))
			implied[i].By = append(implied[i].By, uint32(near))
		}
	}
	return implied
}

// readBlockIndex checks the range of a block's number that was just read.
func readBlockIndex(c *bytecur.Cursor, v uint64) uint64 {
	if v != uint64(uint32(v)) {
		c.Failf("block %d", v)
		return 0
	}
	return v
}

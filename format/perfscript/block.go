package perfscript

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/sample"
)

const (
	// blockSize is the size of text that is parsed at once.
	blockSize = 1 << 20
	// maxSample is the maximum size of a sample, which must fit in memory. The deepest stack and the most
	// branches that hardware records take a hundredth of that size.
	maxSample = 4 << 20
)

// block is a part of the text that begins and ends between samples.
type block struct {
	text   []byte
	offset int64 // of the text in the input
	parsed chan struct{}
	err    error // instead of text: what ended the input

	mapped  mappings // of the first block
	offsets bool     // branches are printed as offsets: in this block, or in the first
	flat    bool     // each line is a sample: FlatOnly

	// Results of parse. Lines of damage are counted from the block's beginning.
	lines   int64
	batches []*sample.Batch
	stats   sample.Stats
	ids     []string // build ids before addresses, by their slots in this block
	hasPIDs bool
	hybrid  bool // a sample has both a stack and branches
}

// looks returns the kind of the samples, and whether they name their process.
func (b *block) looks() (sample.Kind, bool) {
	switch {
	case b.hybrid:
		return sample.Hybrid, b.hasPIDs
	case b.stats.Branches > 0:
		return sample.Branches, b.hasPIDs
	case b.stats.Frames > 0:
		return sample.Stacks, b.hasPIDs
	}
	return sample.Nothing, b.hasPIDs
}

// cutter cuts an input into blocks.
type cutter struct {
	in     io.Reader
	rest   []byte // what was read after the end of the last block
	offset int64
	ended  bool
	begun  bool      // a block was cut
	flat   bool      // of all blocks
	spare  sync.Pool // of *[]byte: texts
}

// next returns the next block, or io.EOF at the end.
func (c *cutter) next() (*block, error) {
	b := &block{offset: c.offset, parsed: make(chan struct{})}
	text := append(c.buffer(), c.rest...)
	end := 0
	for !c.ended && end == 0 && len(text) < blockSize+maxSample {
		var err error
		if text, err = c.more(text); err != nil {
			return nil, err
		}
		if !c.begun {
			c.begun, c.flat = true, FlatOnly(text)
		}
		if end = boundary(text); c.flat {
			end = bytes.LastIndexByte(text, '\n') + 1
		}
	}
	b.flat = c.flat
	switch {
	case end > 0:
	case c.ended:
		if end = len(text); end == 0 {
			return nil, io.EOF
		}
	default:
		var err error
		if text, end, err = c.part(b, text); err != nil {
			return nil, err
		}
	}
	c.rest = append(c.rest[:0], text[end:]...)
	b.text, b.offset = text[:end], c.offset
	c.offset += int64(end)
	b.stats.Bytes += int64(end)
	return b, nil
}

// more reads up to a block to the end of text.
func (c *cutter) more(text []byte) ([]byte, error) {
	text = slices.Grow(text, blockSize)
	n, err := io.ReadFull(c.in, text[len(text):len(text)+blockSize])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		c.ended, err = true, nil
	}
	return text[:len(text)+n], err
}

// part finds an end in a text that is too long for one sample: the end of its last line. A line that is itself
// too long is skipped.
func (c *cutter) part(b *block, text []byte) (rest []byte, end int, err error) {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		b.damage("a sample is longer than 4 MB and was split", 1, 0)
		return text, i + 1, nil
	}
	b.damage("a line is longer than 4 MB and was skipped", 1, 0)
	for {
		i := bytes.IndexByte(text, '\n')
		if i >= 0 {
			text = text[i:] // only the end of the long line is left
		} else {
			i = len(text)
			text = text[:0]
		}
		c.offset += int64(i)
		b.stats.Bytes += int64(i)
		if len(text) > 0 || c.ended {
			return text, min(len(text), 1), nil
		}
		if text, err = c.more(text); err != nil {
			return nil, 0, err
		}
	}
}

func (c *cutter) buffer() []byte {
	if b, ok := c.spare.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 2*blockSize)
}

// free recycles the text of a block.
func (c *cutter) free(b *block) {
	if cap(b.text) > 0 {
		text := b.text[:0]
		c.spare.Put(&text)
	}
	b.text = nil
}

// boundary returns the last place in text where a sample has certainly ended and another has not begun: after a
// blank line, or after one with branches or with an event, or before one with an address in its column, as samples without
// stacks have. It is 0 if there is none.
func boundary(text []byte) int {
	end := bytes.LastIndexByte(text, '\n')
	for end >= 0 {
		start := bytes.LastIndexByte(text[:end], '\n')
		line := bytes.TrimRight(text[start+1:end], " \t\r")
		if len(line) == 0 || hasBranches(line) || bytes.Contains(line, recordMark) {
			return end + 1
		}
		if start > 0 && line[0] != '\t' && flatAddress(line, words(line)) > 0 {
			return start + 1
		}
		end = start
	}
	return 0
}

// damage records a place that cannot be used.
func (b *block) damage(what string, line, offset int64) {
	b.stats.Damaged(what, "", line, b.offset+offset)
}

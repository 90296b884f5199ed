package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/format/bundle"
)

// maxBlocks is how many frames and blocks a Zstandard stream may have. An encoder makes a block of 128 kB or for each
// flush, and a frame for a stream; but a frame may be empty and a block have three bytes, so that 24 MB of them
// take a decoder 20 seconds.
const maxBlocks = 1 << 16

// checkBlocks returns an error if a Zstandard stream has more than maxBlocks frames and blocks. It reads their headers only
// (RFC 8878, section 3.1). Damage is not its matter: it ends there, as a decoder does, which has the error.
func checkBlocks(r io.Reader) error {
	w := blockWalk{in: bufio.NewReaderSize(r, 64<<10)}
	for w.frame() {
	}
	if w.blocks > maxBlocks {
		return fmt.Errorf("%w: a Zstandard stream of more than %d frames and blocks", bundle.ErrLimit, maxBlocks)
	}
	return nil
}

type blockWalk struct {
	in     *bufio.Reader
	blocks int // and frames
}

// frame skips a frame. It reports whether there may be another one.
func (w *blockWalk) frame() bool {
	head, err := w.in.Peek(zstd.HeaderMaxSize)
	if err != nil && !errors.Is(err, io.EOF) || len(head) == 0 {
		return false
	}
	var h zstd.Header
	if h.Decode(head) != nil || !w.skip(h.HeaderSize) || !w.count() {
		return false
	}
	if h.Skippable {
		return w.skip(int(h.SkippableSize))
	}
	for {
		last, ok := w.block()
		if !ok {
			return false
		}
		if last {
			return !h.HasCheckSum || w.skip(4)
		}
	}
}

// block skips a block, and reports whether it is the last of its frame.
func (w *blockWalk) block() (last, ok bool) {
	var head [3]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return false, false
	}
	const repeated = 1 // a block of one byte, repeated
	size := int(head[0])>>3 | int(head[1])<<5 | int(head[2])<<13
	if head[0]>>1&3 == repeated {
		size = 1
	}
	return head[0]&1 == 1, w.skip(size) && w.count()
}

func (w *blockWalk) skip(n int) bool {
	_, err := w.in.Discard(n)
	return err == nil
}

// count reports whether there may be more.
func (w *blockWalk) count() bool {
	w.blocks++
	return w.blocks <= maxBlocks
}

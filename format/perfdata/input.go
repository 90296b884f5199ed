package perfdata

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cairnprof/cairn/internal/prefetch"
)

// errCut reports an incomplete record.
var errCut = errors.New("a record is truncated")

// input reads records from a part of a file.
type input struct {
	file     io.ReaderAt
	pos, end int64
	big      bool
	buffer   []byte // of the file, from pos
	block    *block // the buffer is in it; nil before the first is read, and with
	memory   []byte // memory of its own, smaller than a block
}

// block is a piece of a file. Records and batches share it: copies of stacks have several GB an hour, of which a few
// words are read, best while the piece is in the processor's cache. Memory that nobody holds any more is read into again.
// A piece that is mapped is not copied by the kernel, which takes a third of the time of reading.
type block struct {
	data   []byte // that was read, if it is not mapped
	mapped []byte
	of     Mapper // that mapped it
	holds  atomic.Int32
}

const (
	blockSize  = 1 << 19 // more than a record can have
	mappedSize = 1 << 21 // of a piece that is mapped, and more than blockSize after its offset was aligned
	mapAlign   = 1 << 16 // of offsets: the largest page
)

// Mapper is implemented by files of which pieces can be mapped into memory.
type Mapper interface {
	// Map returns up to size bytes at an offset, a multiple of 65536, nil if they cannot be mapped. They must not be changed,
	// nor used after Unmap.
	Map(offset int64, size int) []byte
	Unmap(piece []byte)
}

var blocks = sync.Pool{New: func() any { return &block{data: make([]byte, blockSize)} }}

// newBlock returns a block that is held once.
func newBlock() *block {
	b := blocks.Get().(*block)
	b.holds.Store(1)
	return b
}

// Hold keeps the block until one more Release.
func (b *block) Hold() { b.holds.Add(1) }

// Release ends a Hold. Any goroutine may call it.
func (b *block) Release() {
	switch {
	case b.holds.Add(-1) > 0:
	case b.mapped != nil:
		b.of.Unmap(b.mapped)
		b.mapped = nil
	default:
		blocks.Put(b)
	}
}

// again returns an input of the same part of the file that shares no memory with in.
func (in *input) again() input {
	return input{file: in.file, pos: in.pos, end: in.end, big: in.big}
}

// next returns the next record, whose data is valid until the next call, or as long as its block is held; io.EOF at
// the end, and errCut if the rest is not a record.
func (in *input) next() (record, error) {
	head, err := in.peek(recordHeader)
	if err != nil {
		return record{}, err
	}
	if len(head) == 0 {
		return record{}, io.EOF
	}
	if len(head) < recordHeader {
		return record{}, errCut
	}
	_, _, size := header(head, in.big)
	data, err := in.peek(int(size))
	if err != nil {
		return record{}, err
	}
	if len(data) < int(size) || size < recordHeader {
		return record{}, errCut
	}
	r := record{data: data, offset: in.pos, block: in.block}
	in.skip(int64(size))
	in.ahead(int(size))
	return r, nil
}

// ahead asks the processor for a later record, if those between have the size of the last one, as copies of stacks do: its
// header and registers, the beginning of its stack, and the end, which has the size of what was copied.
func (in *input) ahead(size int) {
	const records, begin = 4, 6 * prefetch.Line
	if at := (records - 1) * size; size > begin && at+size <= len(in.buffer) {
		prefetch.Bytes(in.buffer[at : at+begin])
		prefetch.Bytes(in.buffer[at+size-1 : at+size])
	}
}

// peek returns the next n bytes, at most blockSize, fewer at the end.
func (in *input) peek(n int) ([]byte, error) {
	if len(in.buffer) < n && int64(len(in.buffer)) < in.end-in.pos {
		if err := in.read(n); err != nil {
			return nil, err
		}
	}
	return in.buffer[:min(n, len(in.buffer))], nil
}

// read reads more of the file, of which n bytes are needed.
func (in *input) read(n int) error {
	if in.mapPiece(n) {
		return nil
	}
	var b *block
	into := in.memory
	if into == nil {
		b = newBlock()
		into = b.data
	}
	have := copy(into, in.buffer)
	m, err := in.file.ReadAt(into[have:min(int64(len(into)), in.end-in.pos)], in.pos+int64(have))
	if err != nil && err != io.EOF {
		return err
	}
	in.close()
	in.block, in.buffer = b, into[:have+m]
	if len(in.buffer) < n { // the file is shorter than its header says
		in.end = in.pos + int64(len(in.buffer))
	}
	return nil
}

// mapPiece maps a piece of the file that has the next n bytes, and reports whether it could.
func (in *input) mapPiece(n int) bool {
	file, ok := in.file.(Mapper)
	if !ok || in.memory != nil {
		return false
	}
	from := in.pos &^ (mapAlign - 1)
	piece := file.Map(from, int(min(mappedSize, in.end-from)))
	skipped := int(in.pos - from)
	if len(piece) < skipped+n && len(piece) > 0 { // the file is shorter than its header says
		file.Unmap(piece)
	}
	if len(piece) < skipped+n {
		return false
	}
	in.close()
	in.block = &block{mapped: piece, of: file}
	in.block.Hold()
	in.buffer = piece[skipped:]
	return true
}

// close releases the memory.
func (in *input) close() {
	if in.block != nil {
		in.block.Release()
	}
	in.block, in.buffer = nil, nil
}

// skip passes over n bytes.
func (in *input) skip(n int64) {
	n = min(n, in.end-in.pos)
	in.pos += n
	in.buffer = in.buffer[min(n, int64(len(in.buffer))):]
}

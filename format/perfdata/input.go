package perfdata

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
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
type block struct {
	data  [blockSize]byte
	holds atomic.Int32
}

const blockSize = 1 << 19 // more than a record can have

var blocks = sync.Pool{New: func() any { return new(block) }}

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
	if b.holds.Add(-1) == 0 {
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
	return r, nil
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
	var b *block
	into := in.memory
	if into == nil {
		b = newBlock()
		into = b.data[:]
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

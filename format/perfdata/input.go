package perfdata

import (
	"errors"
	"io"
)

// errCut reports an incomplete record.
var errCut = errors.New("a record is truncated")

// input reads records from a part of a file.
type input struct {
	file     io.ReaderAt
	pos, end int64
	big      bool
	buffer   []byte // of the file, from pos
	memory   []byte // of the buffer
	whole    []byte // the file, if it is in memory; nil if it is read
}

const inputSize = 1 << 20

// next returns the next record, whose data is valid until the next call unless the whole file is in memory; io.EOF
// at the end, and errCut if the rest is not a record.
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
	r := record{data: data, offset: in.pos, stays: in.whole != nil}
	in.skip(int64(size))
	return r, nil
}

// peek returns the next n bytes, fewer at the end.
func (in *input) peek(n int) ([]byte, error) {
	if in.whole != nil {
		in.end = min(in.end, int64(len(in.whole)))
		at := min(in.pos, in.end)
		return in.whole[at:min(at+int64(n), in.end)], nil
	}
	if len(in.buffer) < n && int64(len(in.buffer)) < in.end-in.pos {
		if in.memory == nil {
			in.memory = make([]byte, min(inputSize, in.end-in.pos))
		}
		m, err := in.file.ReadAt(in.memory[:min(int64(len(in.memory)), in.end-in.pos)], in.pos)
		if err != nil && err != io.EOF {
			return nil, err
		}
		in.buffer = in.memory[:m]
		if m < n { // the file is shorter than its header says
			in.end = in.pos + int64(m)
		}
	}
	return in.buffer[:min(n, len(in.buffer))], nil
}

// skip passes over n bytes.
func (in *input) skip(n int64) {
	n = min(n, in.end-in.pos)
	in.pos += n
	in.buffer = in.buffer[min(n, int64(len(in.buffer))):]
}

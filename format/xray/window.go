package xray

import (
	"errors"
	"fmt"
	"io"
)

// window is a piece of a file in memory.
type window struct {
	r    io.ReaderAt
	name string
	size int64 // of the file
	off  int64 // of data
	data []byte
	buf  []byte
}

// at returns the bytes from pos on: at least want, if the file has that many, and as many more as are buffered.
// If a read is needed, it reads ahead bytes.
func (w *window) at(pos, want, ahead int64) ([]byte, error) {
	want = min(want, w.size-pos)
	if pos >= w.off && pos-w.off+want <= int64(len(w.data)) {
		return w.data[pos-w.off:], nil
	}
	n := int(max(want, min(ahead, w.size-pos)))
	if cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	w.off, w.data = pos, w.buf[:n]
	got, err := w.r.ReadAt(w.data, pos)
	if got == n {
		return w.data, nil
	}
	w.data = w.data[:got]
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("the file was truncated while it was read")
	}
	return nil, fmt.Errorf("%s: offset %#x: %w", w.name, pos+int64(got), err)
}

// zeros returns how many bytes from pos on are zero, up to end.
func (w *window) zeros(pos, end int64) (int64, error) {
	n := int64(0)
	for pos+n < end {
		b, err := w.at(pos+n, 1, chunk)
		if err != nil {
			return n, err
		}
		b = b[:min(int64(len(b)), end-pos-n)]
		k := leadingZeros(b)
		n += int64(k)
		if k < len(b) {
			break
		}
	}
	return n, nil
}

func leadingZeros(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return len(b)
}

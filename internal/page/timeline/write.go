package timeline

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

const magic = "cairnlv\x01"

// chunkBytes is how large a chunk is, about.
const chunkBytes = 16 << 10

// series has the records that end at one level and are not yet written.
type series struct {
	buf   []byte
	about chunk
	last  uint64 // start of the record before
}

// chunk is an entry of the directory.
type chunk struct {
	lane       int
	level      uint8
	events     bool
	records    uint64
	start, end uint64 // the least and the greatest
	offset     uint64
	size       uint64
}

// put adds a record of a track.
func (s *series) put(t *track, r *Record) {
	if len(s.buf) == 0 {
		s.about = chunk{lane: t.lane, level: r.To, events: t.events, start: math.MaxUint64}
		s.last = 0
	}
	s.about.records++
	s.about.start = min(s.about.start, r.Start)
	s.about.end = max(s.about.end, r.End)
	s.buf = binary.AppendUvarint(s.buf, uint64(r.Depth)<<2|uint64(r.Kind))
	s.buf = binary.AppendVarint(s.buf, int64(r.Start-s.last))
	s.buf = binary.AppendUvarint(s.buf, r.End-r.Start)
	s.buf = binary.AppendUvarint(s.buf, uint64(r.Func))
	if r.Kind == Block {
		s.buf = binary.AppendUvarint(s.buf, r.Calls)
		s.buf = binary.AppendUvarint(s.buf, r.Idle)
		s.buf = append(s.buf, r.From)
	}
	s.last = r.Start
	if len(s.buf) >= chunkBytes {
		s.flush(t)
	}
}

// flush writes the chunk.
func (s *series) flush(t *track) {
	if len(s.buf) > 0 {
		t.out.chunk(s.about, s.buf)
		s.buf = s.buf[:0]
	}
}

// writer writes an index.
type writer struct {
	w      *bufio.Writer
	at     uint64
	chunks []chunk
	err    error
}

func newWriter(w io.Writer) *writer {
	x := &writer{w: bufio.NewWriterSize(w, 1<<20)}
	x.write([]byte(magic))
	return x
}

func (x *writer) write(data []byte) {
	n, err := x.w.Write(data)
	x.at += uint64(n)
	if x.err == nil {
		x.err = err
	}
}

func (x *writer) chunk(c chunk, data []byte) {
	c.offset, c.size = x.at, uint64(len(data))
	x.write(data)
	x.chunks = append(x.chunks, c)
}

// finish writes the directory.
func (x *writer) finish(h *header) error {
	at := x.at
	x.write(h.append(nil))
	var buf []byte
	buf = binary.AppendUvarint(buf, uint64(len(x.chunks)))
	for i := range x.chunks {
		c := &x.chunks[i]
		level := uint64(c.level) << 1
		if c.events {
			level |= 1
		}
		for _, v := range [...]uint64{uint64(c.lane), level, c.records, c.start, c.end, c.offset, c.size} {
			buf = binary.AppendUvarint(buf, v)
		}
		if len(buf) > chunkBytes {
			x.write(buf)
			buf = buf[:0]
		}
	}
	x.write(buf)
	size := x.at - at
	tail := binary.LittleEndian.AppendUint64(nil, at)
	tail = binary.LittleEndian.AppendUint64(tail, size)
	x.write(append(tail, magic...))
	if err := x.w.Flush(); x.err == nil {
		x.err = err
	}
	return x.err
}

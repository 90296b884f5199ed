package timeline

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Index is an open index. Its methods may be called by several goroutines.
type Index struct {
	r io.ReaderAt
	header
	series map[seriesKey]*directory
}

type seriesKey struct {
	lane   int
	level  uint8
	events bool
}

// directory is the chunks of a series in the order of the file, which is nearly that of time.
type directory struct {
	chunks []chunk
	ends   []uint64 // the greatest end up to each
	starts []uint64 // the least start from each on
}

// tailSize is the size of the data after the directory.
const tailSize = 16 + len(magic)

// maxDirectory is the size of a directory, and maxChunk that of a chunk, at most.
const maxDirectory, maxChunk = 1 << 30, 1 << 20

// errIndex reports a file that is not an index.
var errIndex = errors.New("not an index of a time line of this version of cairn")

// Open reads the directory of an index. Everything else is read on demand.
func Open(r io.ReaderAt, size int64) (*Index, error) {
	if size < int64(len(magic)+tailSize) {
		return nil, errIndex
	}
	head, tail := make([]byte, len(magic)), make([]byte, tailSize)
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(tail, size-int64(tailSize)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(head) != magic || !bytes.HasSuffix(tail, []byte(magic)) {
		return nil, errIndex
	}
	at, n := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint64(tail[8:])
	end := uint64(size) - uint64(tailSize)
	if n > maxDirectory || at > end || n != end-at {
		return nil, fmt.Errorf("at offset %#x: a directory of %d bytes at %#x does not fit", end, n, at)
	}
	data := make([]byte, n)
	if _, err := r.ReadAt(data, int64(at)); err != nil {
		return nil, err
	}
	return readDirectory(r, data, at)
}

func readDirectory(r io.ReaderAt, data []byte, at uint64) (*Index, error) {
	c := bytecur.New(data, int64(at))
	x := &Index{r: r, header: *readHeader(c), series: make(map[seriesKey]*directory)}
	if x.end > maxTime {
		c.Failf("a time line of %d ticks", x.end)
	}
	next := uint64(len(magic)) // chunks are contiguous, so that no byte is read twice
	for range c.Count("chunks", maxItems, 7) {
		k := chunk{lane: int(uint32(c.Uvarint()))}
		level := c.Uvarint()
		k.level, k.events = uint8(level>>1&maxLevel), level&1 != 0
		k.records, k.start, k.end, k.offset, k.size = c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
		if c.Err() == nil && (k.lane >= len(x.lanes) || level>>1 > maxLevel || k.size > maxChunk || k.offset != next || k.size > at-k.offset ||
			k.records > k.size/4 || k.start > k.end) {
			c.Failf("a chunk of lane %d and level %d has %d records in %d bytes at %#x", k.lane, level>>1, k.records, k.size, k.offset)
		}
		if c.Err() != nil {
			break
		}
		next += k.size
		key := seriesKey{k.lane, k.level, k.events}
		if x.series[key] == nil {
			x.series[key] = &directory{}
		}
		x.series[key].chunks = append(x.series[key].chunks, k)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	for _, d := range x.series {
		d.index()
	}
	return x, nil
}

// index builds the lookup tables of chunks.
func (d *directory) index() {
	d.ends, d.starts = make([]uint64, len(d.chunks)), make([]uint64, len(d.chunks))
	most, least := uint64(0), uint64(math.MaxUint64)
	for i := range d.chunks {
		most = max(most, d.chunks[i].end)
		d.ends[i] = most
	}
	for i := len(d.chunks) - 1; i >= 0; i-- {
		least = min(least, d.chunks[i].start)
		d.starts[i] = least
	}
}

// within yields the chunks that may have records between two times.
func (d *directory) within(from, to uint64, do func(*chunk) error) error {
	first := sort.Search(len(d.chunks), func(i int) bool { return d.ends[i] >= from })
	for i := first; i < len(d.chunks) && d.starts[i] < to; i++ {
		if c := &d.chunks[i]; c.end >= from && c.start < to {
			if err := do(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// touches reports whether a record is seen between two times.
func (r *Record) touches(from, to uint64) bool {
	return r.Start < to && (r.End > from || r.End == r.Start && r.Start >= from)
}

// view is a part of a lane: between two times, on all levels from low to high.
type view struct {
	lane      int
	low, high uint8
	from, to  uint64
}

// records returns the records of a view, in the order of depth and start.
func (x *Index) records(v view) (list []Record, err error) {
	for _, events := range [...]bool{false, true} {
		for level := v.low; level <= maxLevel; level++ {
			d := x.series[seriesKey{v.lane, level, events}]
			if d == nil {
				continue
			}
			err := d.within(v.from, v.to, func(c *chunk) error {
				return x.chunk(c, func(r *Record) {
					if r.From <= v.high && r.touches(v.from, v.to) {
						list = append(list, *r)
					}
				})
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(b.From, a.From))
	})
	return list, nil
}

// chunk calls do with the records of a chunk.
func (x *Index) chunk(k *chunk, do func(*Record)) error {
	data := make([]byte, k.size)
	if _, err := x.r.ReadAt(data, int64(k.offset)); err != nil {
		return err
	}
	c := bytecur.New(data, int64(k.offset))
	var r Record
	for start := uint64(0); c.Len() > 0; start = r.Start {
		head := c.Uvarint()
		r = Record{Depth: int(head >> 2), Kind: Kind(head & 3), Start: start + uint64(c.Varint()), Calls: 1, To: k.level}
		r.End = r.Start + c.Uvarint()
		fn := c.Uvarint()
		r.Func = uint32(fn)
		if r.Kind == Block {
			r.Calls, r.Idle, r.From = c.Uvarint(), c.Uvarint(), c.U8()
		}
		if c.Err() == nil && (head>>2 > maxTrackDepth || r.Kind > Block || fn >= uint64(len(x.names)) || r.End < r.Start ||
			r.Start < k.start || r.End > k.end || r.From > r.To || r.Idle > r.End-r.Start) {
			c.Failf("a record ends here that cannot be: %+v", r)
		}
		if c.Err() == nil {
			do(&r)
		}
	}
	return c.Err()
}

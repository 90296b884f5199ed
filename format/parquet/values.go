package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"
)

// Values are the values of a column in the group of rows that is not written.
type Values struct {
	Column
	zstd *zstd.Encoder

	// Of the page that is not encoded. Booleans are 0 and 1, floating-point numbers their bits; values of a
	// column with a dictionary are indexes into it.
	ints  []int64
	texts []byte // of a plain column of texts, encoded
	count int    // values and missing ones
	here  []int64
	first []int64 // 0 for a value that begins a row, 1 for one that goes on a list

	dict   dict
	pages  []byte // encoded and packed
	room   []byte // for a page
	packed []byte // for a packed one
	chunk
	lowText, highText []byte // of a plain column of texts
	bounded           bool   // there is a smallest and a largest value
	lowInt, highInt   int64
}

// chunk is what the end of the file tells about the values of a column in a group.
type chunk struct {
	values, missing  int64
	dataPages        int
	unpacked, stored int64 // bytes
	dictionary, data int64 // offsets of the first page of each kind
	low, high        []byte
}

func newValues(c Column, encoder *zstd.Encoder) *Values { return &Values{Column: c, zstd: encoder} }

// Int adds a value to a column of integers, dates or times.
func (v *Values) Int(n int64) {
	if v.Encoding == Dict {
		n = v.dict.number(n)
	}
	v.put(n)
}

// Bool adds a value to a column of booleans.
func (v *Values) Bool(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	v.put(n)
}

// Double adds a value to a column of floating-point numbers.
func (v *Values) Double(f float64) { v.put(int64(math.Float64bits(f))) }

// Text adds a value to a column of texts.
func (v *Values) Text(s string) {
	if v.Encoding == Dict {
		v.put(v.dict.text(s))
		return
	}
	v.texts = binary.LittleEndian.AppendUint32(v.texts, uint32(len(s)))
	v.texts = append(v.texts, s...)
	v.widen([]byte(s))
	v.present()
}

// Missing adds to an optional column that a row has no value.
func (v *Values) Missing() {
	v.here = append(v.here, 0)
	v.count++
	v.missing++
}

// Uints adds a list.
func (v *Values) Uints(list []uint64) {
	if len(list) == 0 {
		v.here, v.first = append(v.here, 0), append(v.first, 0)
		v.count++
		return
	}
	for i, n := range list {
		v.ints, v.here, v.first = append(v.ints, int64(n)), append(v.here, 1), append(v.first, int64(min(i, 1)))
	}
	v.count += len(list)
}

func (v *Values) put(n int64) {
	v.ints = append(v.ints, n)
	v.present()
}

func (v *Values) present() {
	if v.Optional {
		v.here = append(v.here, 1)
	}
	v.count++
}

// widen makes the bounds of a plain column of texts hold s.
func (v *Values) widen(s []byte) {
	if !v.bounded || bytes.Compare(s, v.lowText) < 0 {
		v.lowText = append(v.lowText[:0], s...)
	}
	if !v.bounded || bytes.Compare(s, v.highText) > 0 {
		v.highText = append(v.highText[:0], s...)
	}
	v.bounded = true
}

// endRows encodes a page if there are enough values. Pages begin with rows.
func (v *Values) endRows() {
	if v.count >= pageValues || len(v.texts) >= 8*pageValues {
		v.endPage()
	}
}

// The types of pages.
const (
	pageData       = 0
	pageDictionary = 2
)

// endPage encodes the values as a page.
func (v *Values) endPage() {
	if v.count == 0 {
		return
	}
	b := v.room[:0]
	if v.List {
		b = appendLevels(b, v.first)
	}
	if v.List || v.Optional {
		b = appendLevels(b, v.here)
	}
	switch {
	case v.Encoding == Dict:
		width := bitsFor(uint64(max(v.dict.len(), 1) - 1))
		b = appendHybrid(append(b, byte(width)), v.ints, width)
	case v.Type == Text:
		b = append(b, v.texts...)
	case v.Encoding == Delta:
		b = appendDeltas(b, v.ints, v.physical() == physicalInt32)
	default:
		b = v.appendPlain(b)
	}
	v.room = b
	if v.Encoding != Dict && v.Type != Text {
		v.widenInts()
	}
	v.page(pageData, b, v.count)
	v.values += int64(v.count)
	v.dataPages++
	v.ints, v.texts, v.here, v.first, v.count = v.ints[:0], v.texts[:0], v.here[:0], v.first[:0], 0
}

// widenInts makes the bounds hold the values of the page.
func (v *Values) widenInts() {
	if v.ordered() {
		for _, n := range v.ints {
			if !v.bounded {
				v.lowInt, v.highInt, v.bounded = n, n, true
			}
			v.lowInt, v.highInt = min(v.lowInt, n), max(v.highInt, n)
		}
	}
}

// ordered reports whether bounds of the numbers are kept: not of floating-point numbers, whose order is not that
// of their bits, and not of lists.
func (v *Values) ordered() bool {
	return !v.List && v.Type != Text && v.Type != Double && v.Type != Uint64
}

// appendPlain appends the values of the page in the encoding PLAIN.
func (v *Values) appendPlain(b []byte) []byte {
	switch v.physical() {
	case physicalBoolean:
		return appendPacked(b, v.ints, 1)
	case physicalInt32:
		for _, n := range v.ints {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	default:
		for _, n := range v.ints {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return b
}

// dictionary returns the dictionary in the encoding PLAIN, and makes the bounds those of its entries.
func (v *Values) dictionary() []byte {
	b := v.room[:0]
	for _, s := range v.dict.texts {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
		v.widen([]byte(s))
	}
	for _, n := range v.dict.numbers {
		if v.physical() == physicalInt32 {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		} else {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	v.ints = append(v.ints[:0], v.dict.numbers...)
	v.widenInts()
	v.ints = v.ints[:0]
	v.room = b
	return b
}

// page appends a page of count values to pages.
func (v *Values) page(kind int64, plain []byte, count int) {
	v.packed = v.zstd.EncodeAll(plain, v.packed[:0])
	packed := v.packed
	t := thrift{to: v.pages}
	from := len(v.pages)
	t.begin()
	t.number(1, kind)
	t.number(2, int64(len(plain)))
	t.number(3, int64(len(packed)))
	t.number(4, int64(int32(crc32.ChecksumIEEE(packed))))
	if kind == pageDictionary {
		t.structure(7)
		t.number(1, int64(count))
		t.number(2, encodingPlain)
	} else {
		t.structure(5)
		t.number(1, int64(count))
		t.number(2, v.encoding())
		t.number(3, encodingRLE) // of definition levels: which values are here
		t.number(4, encodingRLE) // of repetition levels: which values begin a row
	}
	t.end()
	t.end()
	v.unpacked += int64(len(t.to) - from + len(plain))
	v.pages = append(t.to, packed...)
}

// longestBound is that of a text in the end of the file, which readers hold in memory.
const longestBound = 256

// bounds returns the smallest and the largest value in the encoding PLAIN, nil if they are not kept.
func (v *Values) bounds() (low, high []byte) {
	if !v.bounded {
		return nil, nil
	}
	if v.Type == Text {
		if len(v.lowText) > longestBound || len(v.highText) > longestBound {
			return nil, nil
		}
		return bytes.Clone(v.lowText), bytes.Clone(v.highText)
	}
	switch v.physical() {
	case physicalBoolean:
		return []byte{byte(v.lowInt)}, []byte{byte(v.highInt)}
	case physicalInt32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.lowInt)), binary.LittleEndian.AppendUint32(nil, uint32(v.highInt))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v.lowInt)), binary.LittleEndian.AppendUint64(nil, uint64(v.highInt))
}

// reset prepares for the next group. It keeps the memory.
func (v *Values) reset() {
	v.pages, v.chunk, v.bounded = v.pages[:0], chunk{}, false
	v.dict.reset()
}

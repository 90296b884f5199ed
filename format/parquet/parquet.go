// Package parquet writes Parquet files: tables of columns, for engines such as DuckDB, ClickHouse and Spark.
//
// It follows https://github.com/apache/parquet-format, as of 2.11, and has what the tables of this program
// need: numbers, texts, booleans, dates and times, values that may be missing, lists of numbers; the encodings
// PLAIN, RLE_DICTIONARY and DELTA_BINARY_PACKED; data pages of version 1, packed with Zstandard. It is a writer
// only. Libraries that do all of the format link every codec and more than 5 MB; tests read the files with one
// of them.
//
// A file is written as a stream: memory holds one group of rows, encoded and packed.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Type is what the values of a column are.
type Type uint8

// The types, with the physical type that the file has.
const (
	Int32  Type = iota // INT32
	Int64              // INT64
	Uint64             // INT64, without a sign
	Double             // DOUBLE
	Bool               // BOOLEAN
	Text               // BYTE_ARRAY, in UTF-8
	Date               // INT32, days since 1970-01-01
	Time               // INT64, nanoseconds since 1970-01-01 UTC
)

// Encoding is how the values of a column are stored.
type Encoding uint8

const (
	Plain Encoding = iota // as they are
	Dict                  // as indexes into a dictionary of the row group, for columns with few different values
	Delta                 // as differences, for integers that change little from row to row
)

// Column describes a column.
type Column struct {
	Name     string
	Type     Type
	Encoding Encoding
	Optional bool // values may be missing
	List     bool // a row has a list of values
}

// Options are those of a file.
type Options struct {
	Name      string      // of the table
	CreatedBy string      // name and version of the program
	Metadata  [][2]string // keys and values
	GroupRows int64       // rows in a group, after which it is written: engines read groups in parallel and skip whole ones
}

// pageValues is about how many values a page has.
const pageValues = 1 << 15

const magic = "PAR1"

// Writer writes a file. Add the values of a row to each of its columns, then call EndRows.
type Writer struct {
	w       io.Writer
	options Options
	columns []*Values
	zstd    *zstd.Encoder

	offset  int64 // where the next byte is written
	rows    int64 // of the whole file
	inGroup int64 // of the group that is not written
	groups  []group
	err     error // the first one, which all methods return
}

// NewWriter returns a writer of a file with columns.
func NewWriter(w io.Writer, columns []Column, o Options) *Writer {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // of the options, which are constants
	}
	p := &Writer{w: w, options: o, zstd: encoder}
	for _, c := range columns {
		if c.Encoding == Delta && c.Type != Int32 && c.Type != Int64 || c.Optional && c.List {
			panic(fmt.Sprintf("column %s: such a column is not supported", c.Name))
		}
		p.columns = append(p.columns, newValues(c, encoder))
	}
	return p
}

// Columns returns the values of the rows that are not written yet, a set for each column.
func (w *Writer) Columns() []*Values { return w.columns }

// Rows returns the number of rows that were ended.
func (w *Writer) Rows() int64 { return w.rows }

// EndRows ends n rows: each column has got the values of as many. The error is that of the underlying writer.
func (w *Writer) EndRows(n int) error {
	w.rows += int64(n)
	w.inGroup += int64(n)
	for _, c := range w.columns {
		c.endRows()
	}
	if w.inGroup >= w.options.GroupRows {
		w.flush()
	}
	return w.err
}

// Close writes the rest and the end of the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.inGroup > 0 {
		w.flush()
	}
	if w.offset == 0 {
		w.write([]byte(magic))
	}
	footer := w.footer()
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	w.write(append(footer, magic...))
	if w.err != nil {
		return w.err
	}
	w.err = errors.New("the Parquet file is closed")
	return nil
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	var n int
	n, w.err = w.w.Write(p)
	w.offset += int64(n)
}

// flush writes the group of rows.
func (w *Writer) flush() {
	if w.offset == 0 {
		w.write([]byte(magic))
	}
	g := group{rows: w.inGroup, at: w.offset}
	w.inGroup = 0
	for _, c := range w.columns {
		c.endPage()
		g.chunks = append(g.chunks, w.writeChunk(c))
		c.reset()
	}
	w.groups = append(w.groups, g)
}

// writeChunk writes the pages of a column: its dictionary first.
func (w *Writer) writeChunk(v *Values) chunk {
	c := v.chunk
	if v.Encoding == Dict {
		c.dictionary = w.offset
		from := len(v.pages)
		plain := v.dictionary()
		v.page(pageDictionary, plain, v.dict.len())
		c.unpacked = v.unpacked
		w.write(v.pages[from:])
		v.pages = v.pages[:from]
	}
	c.data = w.offset
	w.write(v.pages)
	start := c.data
	if v.Encoding == Dict {
		start = c.dictionary
	}
	c.stored = w.offset - start
	c.low, c.high = v.bounds()
	return c
}

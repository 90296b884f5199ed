// Package callstest reads files of format/calls for tests: it sums the calls of each function, for comparison
// with the database. It knows the columns and reads their pages in one loop, as fast as an engine could.
//
// Use it only for files that this program wrote: the Parquet library trusts the metadata of a file, and a
// forged file can keep it busy forever.
package callstest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/cairnprof/cairn/format/calls"
)

// Sum is the sum of the calls with the same value in some column.
type Sum struct {
	Key      int64
	Function string // of the first of them
	Calls    uint64
	// Duration is the sum of all durations, which counts recursive calls repeatedly; Total is that of outermost
	// calls, and Self that of all self times.
	Duration, Total, Self uint64
	Max                   uint64
}

func (s *Sum) add(duration, self uint64, outermost bool) {
	s.Calls++
	s.Duration += duration
	s.Self += self
	s.Max = max(s.Max, duration)
	if outermost {
		s.Total += duration
	}
}

// File is an open file of calls.
type File struct {
	file  *parquet.File
	About calls.About
}

// Open opens a file that a calls.Writer wrote. It reads the footer only.
func Open(r io.ReaderAt, size int64) (*File, error) {
	file, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	schema, ok := file.Lookup(calls.KeySchema)
	if !ok {
		return nil, errors.New("not a file of calls")
	}
	if n, err := strconv.Atoi(schema); err != nil || n != calls.Schema {
		return nil, fmt.Errorf("calls of schema %q, want %d", schema, calls.Schema)
	}
	f.About.Unit, _ = file.Lookup(calls.KeyUnit)
	for {
		log, ok := file.Lookup(calls.KeyLog + strconv.Itoa(len(f.About.Logs)+1))
		if !ok {
			return f, nil
		}
		f.About.Logs = append(f.About.Logs, log)
	}
}

// Rows returns the number of calls.
func (f *File) Rows() int64 { return f.file.NumRows() }

// Sums adds up the calls with the same value in a column of numbers, "func" or "stack", ascending by it. It
// reads five columns and holds a page of each.
func (f *File) Sums(by string) ([]Sum, error) {
	sumOf := make(map[int64]*Sum)
	for _, group := range f.file.RowGroups() {
		if err := f.sumGroup(group, by, sumOf); err != nil {
			return nil, err
		}
	}
	sums := make([]Sum, 0, len(sumOf))
	for _, s := range sumOf {
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b Sum) int { return cmp.Compare(a.Key, b.Key) })
	return sums, nil
}

// sumGroup adds the calls of a row group to sumOf. Pages of columns do not end at the same rows: each step
// handles the rows that all of them have.
func (f *File) sumGroup(group parquet.RowGroup, by string, sumOf map[int64]*Sum) error {
	columns := make(map[string]*column)
	defer func() {
		for _, c := range columns {
			c.pages.Close()
		}
	}()
	for _, name := range []string{by, "function", "duration", "self", "outermost"} {
		leaf, ok := f.file.Schema().Lookup(name)
		if !ok {
			return fmt.Errorf("no column %s", name)
		}
		columns[name] = &column{pages: group.ColumnChunks()[leaf.ColumnIndex].Pages()}
	}
	key, function := columns[by], columns["function"]
	duration, self, outermost := columns["duration"], columns["self"], columns["outermost"]
	for left := group.NumRows(); left > 0; {
		n := left
		for _, c := range columns {
			if err := c.fill(); err != nil {
				return err
			}
			n = min(n, int64(len(c.values)))
		}
		var s *Sum
		for i := range n {
			if id := key.values[i]; s == nil || s.Key != id {
				if s = sumOf[id]; s == nil {
					name, err := function.text(function.values[i])
					if err != nil {
						return err
					}
					s = &Sum{Key: id, Function: name}
					sumOf[id] = s
				}
			}
			s.add(uint64(duration.values[i]), uint64(self.values[i]), outermost.values[i] != 0)
		}
		for _, c := range columns {
			c.values = c.values[n:]
		}
		left -= n
	}
	return nil
}

// A column holds the values of a column chunk that were read but not used yet. Values of texts are indexes of
// the chunk's dictionary.
type column struct {
	pages  parquet.Pages
	page   parquet.Page
	room   []int64
	values []int64
}

// fill reads the next page when all values are used.
func (c *column) fill() error {
	for len(c.values) == 0 {
		parquet.Release(c.page)
		c.page = nil
		page, err := c.pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return errors.New("a column is shorter than another")
		}
		if err != nil {
			return err
		}
		c.page = page
		if err := c.append(page); err != nil {
			return err
		}
	}
	return nil
}

func (c *column) append(page parquet.Page) error {
	c.room = c.room[:0]
	data := page.Data()
	switch dict := page.Dictionary(); {
	case dict != nil:
		kind := dict.Type().Kind()
		for _, i := range data.Int32() {
			if i < 0 || int(i) >= dict.Len() {
				return errors.New("a value is not in the dictionary")
			}
			v := int64(i)
			switch kind {
			case parquet.Int64:
				v = dict.Index(i).Int64()
			case parquet.Int32:
				v = int64(dict.Index(i).Int32())
			}
			c.room = append(c.room, v)
		}
	case page.Type().Kind() == parquet.Int64:
		c.room = append(c.room, data.Int64()...)
	case page.Type().Kind() == parquet.Int32:
		for _, v := range data.Int32() {
			c.room = append(c.room, int64(v))
		}
	case page.Type().Kind() == parquet.Boolean:
		bits, n := data.Boolean(), page.NumValues()
		if int64(len(bits))*8 < n {
			return errors.New("a column of booleans is cut off")
		}
		for i := range n {
			c.room = append(c.room, int64(bits[i/8]>>(i%8)&1))
		}
	default:
		return fmt.Errorf("a column has values of kind %v", page.Type().Kind())
	}
	c.values = c.room
	return nil
}

// text returns an entry of the dictionary that the last page was written with.
func (c *column) text(i int64) (string, error) {
	dict := c.page.Dictionary()
	if dict == nil || dict.Type().Kind() != parquet.ByteArray || i >= int64(dict.Len()) {
		return "", errors.New("the column function has no dictionary of texts")
	}
	return string(dict.Index(int32(i)).ByteArray()), nil
}

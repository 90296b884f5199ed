package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	reader "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/format/parquet"
	"github.com/cairnprof/cairn/format/parquet/parquettest"
)

// row has a column of each kind.
type row struct {
	Small    int32    `parquet:"small"`
	SmallD   int32    `parquet:"small_dict,dict"`
	SmallB   int32    `parquet:"small_delta,delta"`
	Large    int64    `parquet:"large"`
	LargeD   int64    `parquet:"large_dict,dict"`
	LargeB   int64    `parquet:"large_delta,delta"`
	Unsigned uint64   `parquet:"unsigned"`
	Text     string   `parquet:"text"`
	TextD    string   `parquet:"text_dict,dict"`
	Truth    bool     `parquet:"truth"`
	Number   float64  `parquet:"number"`
	Day      int32    `parquet:"day,date"`
	Then     *int64   `parquet:"then,optional,timestamp(nanosecond)"`
	Perhaps  *float64 `parquet:"perhaps,optional"`
	Whole    *int64   `parquet:"whole,optional"`
	List     []uint64 `parquet:"list,list"`
}

const schema = `message Row {
	required int32 small (INT(32,true));
	required int32 small_dict (INT(32,true));
	required int32 small_delta (INT(32,true));
	required int64 large (INT(64,true));
	required int64 large_dict (INT(64,true));
	required int64 large_delta (INT(64,true));
	required int64 unsigned (INT(64,false));
	required binary text (STRING);
	required binary text_dict (STRING);
	required boolean truth;
	required double number;
	required int32 day (DATE);
	optional int64 then (TIMESTAMP(isAdjustedToUTC=true,unit=NANOS));
	optional double perhaps;
	optional int64 whole (INT(64,true));
	required group list (LIST) {
		repeated group list {
			required int64 element (INT(64,false));
		}
	}
}`

func options(group int64) parquet.Options {
	return parquet.Options{Name: "Row", CreatedBy: "cairn version 1", Metadata: [][2]string{{"a", "1"}, {"b", "ü"}}, GroupRows: group}
}

func encode(t interface{ Fatal(...any) }, rows []row, group int64) []byte {
	var b bytes.Buffer
	w := parquet.NewTable[row](&b, options(group))
	err := w.Write(rows...)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkRows reads rows with an independent reader.
func checkRows(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, data []byte, want []row,
) {
	got, err := reader.Read[row](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i].List) == 0 && len(want[i].List) == 0 {
			got[i].List = want[i].List
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestRows writes rows of any values and reads them with an independent reader.
func TestRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Custom(func(t *rapid.T) row {
			return row{
				Small: rapid.Int32().Draw(t, "small"), SmallD: rapid.Int32().Draw(t, "small_dict"), SmallB: rapid.Int32().Draw(t, "small_delta"),
				Large: rapid.Int64().Draw(t, "large"), LargeD: rapid.Int64().Draw(t, "large_dict"), LargeB: rapid.Int64().Draw(t, "large_delta"),
				Unsigned: rapid.Uint64().Draw(t, "unsigned"), Text: rapid.String().Draw(t, "text"), TextD: rapid.String().Draw(t, "text_dict"),
				Truth: rapid.Bool().Draw(t, "truth"), Number: rapid.Float64().Draw(t, "number"), Day: rapid.Int32().Draw(t, "day"),
				Then: rapid.Ptr(rapid.Int64(), true).Draw(t, "then"), Perhaps: rapid.Ptr(rapid.Float64(), true).Draw(t, "perhaps"),
				Whole: rapid.Ptr(rapid.Int64(), true).Draw(t, "whole"), List: rapid.SliceOfN(rapid.Uint64(), 0, 4).Draw(t, "list"),
			}
		})
		rows := rapid.SliceOfN(values, 0, 100).Draw(t, "rows")
		checkRows(t, encode(t, rows, rapid.Int64Range(1, 150).Draw(t, "group")), rows)
	})
}

// many returns rows of several pages whose values repeat, run and jump.
func many(n int) []row {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, n)
	for i := range rows {
		r := &rows[i]
		*r = row{
			Small: int32(i), SmallD: int32(rng.IntN(1 << (i / 4000))), SmallB: int32(i * 77), Large: rng.Int64(), LargeD: int64(i / 100), LargeB: int64(i) * 1000,
			Unsigned: rng.Uint64(), Text: strings.Repeat("x", i%50), TextD: strings.Repeat("y", i%300), Truth: i/9%2 == 0, Number: rng.Float64(), Day: int32(i / 10),
		}
		if i%3 == 0 {
			r.SmallB, r.LargeB = math.MinInt32+int32(rng.IntN(2)), math.MaxInt64
		}
		if i%1000 < 500 {
			r.Then = new(int64(i) * 1000)
		}
		if rng.IntN(2) == 0 {
			r.Perhaps = new(float64(i))
		}
		for range i % 4 * (i / 12000) {
			r.List = append(r.List, rng.Uint64())
		}
	}
	return rows
}

// TestLarge checks files of several pages and groups, and what their ends tell.
func TestLarge(t *testing.T) {
	t.Parallel()
	rows := many(50_000)
	data := encode(t, rows, 40_000)
	checkRows(t, data, rows)
	f, err := reader.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Schema().String(); got != schema {
		t.Errorf("schema %s", got)
	}
	if v, ok := f.Lookup("b"); !ok || v != "ü" {
		t.Errorf("metadata %q", v)
	}
	m := f.Metadata()
	if len(m.RowGroups) != 2 || m.NumRows != 50_000 || m.CreatedBy != "cairn version 1" {
		t.Errorf("%d groups, %d rows, by %q", len(m.RowGroups), m.NumRows, m.CreatedBy)
	}
	first := int32(0)
	for g, group := range m.RowGroups {
		s := group.Columns[0].MetaData.Statistics
		low, high := int32(binary.LittleEndian.Uint32(s.MinValue)), int32(binary.LittleEndian.Uint32(s.MaxValue))
		if low != first || high != first+int32(group.NumRows)-1 {
			t.Errorf("group %d: small from %d to %d", g, low, high)
		}
		first = high + 1
		for _, at := range []int{7, 8} { // text and text_dict
			s := group.Columns[at].MetaData.Statistics
			want := []int{0, 49, 0}[at-7:]
			if at == 8 { // 299 bytes are more than are kept
				want = []int{0, 0}
			}
			if len(s.MinValue) != want[0] || len(s.MaxValue) != want[1] {
				t.Errorf("group %d: texts of %d to %d bytes", g, len(s.MinValue), len(s.MaxValue))
			}
		}
		missing := int64(0)
		for _, r := range rows[:group.NumRows] {
			if r.Then == nil {
				missing++
			}
		}
		rows = rows[group.NumRows:]
		if got := group.Columns[12].MetaData.Statistics.NullCount; got != missing {
			t.Errorf("group %d: %d missing, want %d", g, got, missing)
		}
	}
}

// limited takes some bytes.
type limited struct{ left int }

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return l.left, errFull
	}
	l.left -= len(p)
	return len(p), nil
}

// TestFull checks that a disk that is full at some byte is an error of Write or Close.
func TestFull(t *testing.T) {
	t.Parallel()
	rows := many(40)
	size := len(encode(t, rows, 16))
	for left := 0; left < size; left += 13 {
		w := parquet.NewTable[row](&limited{left}, options(16))
		err := w.Write(rows...)
		if again := w.Close(); err == nil {
			err = again
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("after %d of %d bytes: %v", left, size, err)
		}
	}
}

// TestClosed checks that nothing is written after the end.
func TestClosed(t *testing.T) {
	t.Parallel()
	w := parquet.NewTable[row](io.Discard, options(16))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(many(20)...); err == nil {
		t.Error("rows after the end")
	}
	if err := w.Close(); err == nil {
		t.Error("a second end")
	}
}

// DuckDB reads a file as well.
func TestDuckDB(t *testing.T) {
	t.Parallel()
	duck := parquettest.Install(t)
	rows := many(50_000)
	if err := os.WriteFile(filepath.Join(string(duck), "rows.parquet"), encode(t, rows, 40_000), 0o600); err != nil {
		t.Fatal(err)
	}
	var unsigned, here, whole, listed, length, truth float64
	for i := range rows {
		r := &rows[i]
		unsigned += float64(r.Unsigned >> 32)
		if r.Then != nil {
			here += float64(*r.Then)
		}
		if r.Perhaps != nil {
			whole += *r.Perhaps
		}
		listed += float64(len(r.List))
		length += float64(len(r.Text) + len(r.TextD))
		if r.Truth {
			truth++
		}
	}
	for query, want := range map[string]any{
		"SELECT sum(unsigned >> 32)::DOUBLE FROM 'rows.parquet'":                               unsigned,
		"SELECT sum(epoch_ns(\"then\"))::DOUBLE FROM 'rows.parquet'":                           here,
		"SELECT sum(perhaps)::DOUBLE FROM 'rows.parquet'":                                      whole,
		"SELECT sum(len(list))::DOUBLE FROM 'rows.parquet'":                                    listed,
		"SELECT count(*)::DOUBLE FROM 'rows.parquet' WHERE small = 49999 AND large_dict = 499": 1.0,
		"SELECT count(*)::DOUBLE FROM 'rows.parquet' WHERE large_delta = 9223372036854775807":  16667.0,
		"SELECT count(*)::DOUBLE FROM 'rows.parquet' WHERE small_delta < -2147483646":          16667.0,
		"SELECT sum(length(text) + length(text_dict))::DOUBLE FROM 'rows.parquet'":             length,
		"SELECT day::VARCHAR FROM 'rows.parquet' ORDER BY small DESC LIMIT 1":                  "1983-09-09",
		"SELECT count(*)::DOUBLE FROM 'rows.parquet' WHERE truth":                              truth,
	} {
		if got := duck.Query(t, query); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

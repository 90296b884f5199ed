package golines

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// example is that of the package comment.
const example = "02 01 04 61 2e 67 6f 08 78 2e 79 2f 61 2e 67 6f" +
	"01 80 a0 80 02 10 00 02 06 02 08 00 01 0e 00" +
	"01 80 a0 80 02 01 00 02 06 0c 04 08 02 01 08 03 00 09 01 00"

// old is its place in version 1.
const old = "01 01 04 61 2e 67 6f 01 80 a0 80 02 10 00 02 06 02 08 00"

func exampleBytes(tb testing.TB) []byte { return decode(tb, example) }

func decode(tb testing.TB, text string) []byte {
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestExample(t *testing.T) {
	t.Parallel()
	want := &Table{
		Places:  []Place{{Addr: 0x401000, Size: 16, File: "a.go", Lines: []Range{{3, 5}, {9, 9}}, Rest: []Range{{7, 7}}}},
		Funcs:   []Func{{Addr: 0x401000, File: "a.go", Units: []Unit{{3, 12, 5, 8, 2, 0}, {7, 3, 7, 9, 1, NoBlock}}}},
		Profile: map[string]string{"a.go": "x.y/a.go"},
	}
	got, err := Read(exampleBytes(t))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read: %+v, %v", got, err)
	}
	if b := want.Append(nil); string(b) != string(exampleBytes(t)) {
		t.Errorf("Append: % x", b)
	}
	if file, line, ok := got.Entry(0x401000); file != "a.go" || line != 3 || !ok {
		t.Errorf("Entry: %s:%d %v", file, line, ok)
	}
	if _, _, ok := got.Entry(0x401001); ok {
		t.Error("Entry inside of a place")
	}
	var lines []int
	for _, line := range got.Lines(0x401000, 0x401010) {
		lines = append(lines, line)
	}
	if want := []int{3, 4, 5, 9, 7}; !reflect.DeepEqual(lines, want) {
		t.Errorf("Lines: %v", lines)
	}
	lines = nil
	for _, line := range got.Doubtful(0x401000, 0x401010) {
		lines = append(lines, line)
	}
	if want := []int{7}; !reflect.DeepEqual(lines, want) {
		t.Errorf("Doubtful: %v", lines)
	}
}

func TestOldVersion(t *testing.T) {
	t.Parallel()
	want := &Table{Places: []Place{{Addr: 0x401000, Size: 16, File: "a.go", Lines: []Range{{3, 5}, {9, 9}}}}, Old: true}
	if got, err := Read(decode(t, old)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read: %+v, %v", got, err)
	}
	if _, err := Read([]byte{3, 0, 0}); err == nil || !strings.Contains(err.Error(), "version 3, this cairn reads versions 1 to 2") {
		t.Errorf("a later version: %v", err)
	}
}

// TestDamaged changes each byte: what is read anyway is a table that can be written.
func TestDamaged(t *testing.T) {
	t.Parallel()
	data := exampleBytes(t)
	for i := range data {
		for _, b := range []byte{0, 0x7f, 0x80, 0xff} {
			bad := append(append(append([]byte{}, data[:i]...), b), data[i+1:]...)
			if table, err := Read(bad); err == nil {
				if _, err := Read(table.Append(nil)); err != nil {
					t.Errorf("byte %d is %#x: written and read: %v", i, b, err)
				}
			}
		}
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	data := exampleBytes(t)
	for n := range data {
		if _, err := Read(data[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(data))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(exampleBytes(f))
	f.Add(decode(f, old))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Read(data)
		if err != nil {
			return
		}
		again, err := Read(table.Append(nil))
		if err != nil || len(again.Places) != len(table.Places) || len(again.Funcs) != len(table.Funcs) {
			t.Fatalf("%d places, written and read %+v, %v", len(table.Places), again, err)
		}
	})
}

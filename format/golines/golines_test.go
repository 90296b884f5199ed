package golines

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// example is that of the package comment.
const example = "01 01 04 61 2e 67 6f 01 80 a0 80 02 10 00 02 06 02 08 00"

func exampleBytes(tb testing.TB) []byte {
	data, err := hex.DecodeString(strings.ReplaceAll(example, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestExample(t *testing.T) {
	t.Parallel()
	want := &Table{Places: []Place{{Addr: 0x401000, Size: 16, File: "a.go", Lines: []Range{{3, 5}, {9, 9}}}}}
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
	if want := []int{3, 4, 5, 9}; !reflect.DeepEqual(lines, want) {
		t.Errorf("Lines: %v", lines)
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
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Read(data)
		if err != nil {
			return
		}
		again, err := Read(table.Append(nil))
		if err != nil || len(again.Places) != len(table.Places) {
			t.Fatalf("%d places, written and read %+v, %v", len(table.Places), again, err)
		}
	})
}

package bytecur

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReads(t *testing.T) {
	t.Parallel()
	data := []byte{1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}
	data = binary.AppendUvarint(data, math.MaxUint64)
	data = binary.AppendVarint(data, math.MinInt64)
	data = append(data, 2, 'h', 'i', 'y', 'o', 0, 9, 8)
	c := New(data, 0x100)
	if c.U8() != 1 || c.U16() != 2 || c.U32() != 3 || c.U64() != 4 {
		t.Error("fixed numbers")
	}
	if c.Off() != 0x10f {
		t.Errorf("Off = %#x", c.Off())
	}
	if c.Uvarint() != math.MaxUint64 || c.Varint() != math.MinInt64 {
		t.Error("variable numbers")
	}
	if s := string(c.String("name", 2)); s != "hi" {
		t.Errorf("String = %q", s)
	}
	if s := string(c.CString("name", 2)); s != "yo" {
		t.Errorf("CString = %q", s)
	}
	sub := c.Sub(2)
	if sub.U8() != 9 || sub.Len() != 1 || c.Len() != 0 || c.Err() != nil {
		t.Error("Sub")
	}
	if sub.U16(); sub.Err() == nil || c.Err() != nil {
		t.Error("a failure of Sub is its own")
	}
}

func TestSleb(t *testing.T) {
	t.Parallel()
	for want, data := range map[int64]string{
		2: "\x02", -2: "\x7e", 127: "\xff\x00", -127: "\x81\x7f", -50: "\x4e",
		math.MinInt64: "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f",
		math.MaxInt64: "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00",
	} {
		c := New([]byte(data), 0)
		if got := c.Sleb(); got != want || c.Err() != nil || c.Len() != 0 {
			t.Errorf("%d is read as %d, %v", want, got, c.Err())
		}
	}
	for _, data := range []string{"", "\x80", strings.Repeat("\x80", 11)} {
		c := New([]byte(data), 0)
		if c.Sleb(); c.Err() == nil {
			t.Errorf("%q is read", data)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		data string
		read func(*Cursor)
		want string
	}{
		{"u8", "", func(c *Cursor) { c.U8() }, "offset 0x10: truncated: 1 bytes are needed, 0 are left"},
		{"u16", "a", func(c *Cursor) { c.U16() }, "offset 0x10: truncated"},
		{"u32", "abcde", func(c *Cursor) { c.U16(); c.U32() }, "offset 0x12: truncated: 4 bytes are needed, 3 are left"},
		{"u64", "abc", func(c *Cursor) { c.U64() }, "offset 0x10: truncated"},
		{"huge", "abc", func(c *Cursor) { c.Bytes(math.MaxUint64) }, "are needed, 3 are left"},
		{"sub", "abc", func(c *Cursor) { c.Sub(4).U8() }, "offset 0x10: truncated"},
		{"uvarint cut", "a\x80", func(c *Cursor) { c.U8(); c.Uvarint() }, "offset 0x11: truncated variable-length number"},
		{"uvarint long", strings.Repeat("\xff", 11), func(c *Cursor) { c.Uvarint() }, "more than 64 bits"},
		{"count limit", "\x09xxxxxxxxxxxxxxxxx", func(c *Cursor) { c.Count("eggs", 8, 1) }, "offset 0x10: 9 eggs, at most 8"},
		{"count size", "\x09xxxxxxxxxxxxxxxxx", func(c *Cursor) { c.Count("eggs", 99, 2) }, "9 eggs do not fit into the 17 bytes"},
		{"string limit", "\x03abc", func(c *Cursor) { c.String("name", 2) }, "offset 0x10: name of 3 bytes, at most 2"},
		{"string cut", "\x03ab", func(c *Cursor) { c.String("name", 9) }, "offset 0x11: truncated"},
		{"cstring limit", "abc\x00", func(c *Cursor) { c.CString("name", 2) }, "name has no end within 2 bytes"},
		{"cstring cut", "abc", func(c *Cursor) { c.CString("name", 9) }, "name has no end within 3 bytes"},
		{"first wins", "", func(c *Cursor) { c.Failf("one"); c.U64(); c.Failf("two") }, "one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := New([]byte(tc.data), 0x10)
			tc.read(c)
			// Everything after a failure is zero and cannot undo it.
			if c.U8() != 0 || c.U16() != 0 || c.U32() != 0 || c.U64() != 0 || c.Uvarint() != 0 || c.Varint() != 0 ||
				c.Bytes(1) != nil || c.String("x", 1) != nil || c.CString("x", 1) != nil || c.Count("x", 1, 1) != 0 {
				if tc.name != "sub" {
					t.Error("reads after a failure are not zero")
				}
			}
			var e *Error
			if !errors.As(c.Err(), &e) || !strings.Contains(e.Error(), tc.want) {
				t.Errorf("Err = %v, want %q", c.Err(), tc.want)
			}
		})
	}
}

// TestAnyReads reads anything in any order: it never panics, never goes back
// and never past the end.
func TestAnyReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := New(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data"), 0)
		for _, op := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 20).Draw(t, "ops") {
			before, failed := c.Off(), c.Err() != nil
			n := rapid.Uint64().Draw(t, "n")
			[]func(){
				func() { c.U8() }, func() { c.U16() }, func() { c.U32() }, func() { c.U64() },
				func() { c.Uvarint() }, func() { c.Varint() }, func() { c.Bytes(n % 8) },
				func() { c.String("s", n) }, func() { c.CString("s", n%64) }, func() { c.Count("n", n, 3) },
			}[op]()
			if c.Off() < before || c.Len() < 0 || failed && c.Err() == nil {
				t.Fatalf("op %d: offset %d after %d, %d left", op, c.Off(), before, c.Len())
			}
		}
	})
}

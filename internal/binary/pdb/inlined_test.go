package pdb

import (
	"bytes"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// withInlined returns a file of a function f with a call of ns::S::g, in which one of h is, and what names them; and with more symbols.
func withInlined(more ...[]byte) []byte {
	types := func(records ...[]byte) []byte {
		body := slices.Concat(records...)
		return append(u32(20040203, 56, 0x1000, 0x1000+uint32(len(records)), uint32(len(body)), 0, 0, 0, 0, 0, 0, 0, 0, 0), body...)
	}
	site := func(inlinee uint32, ops ...byte) []byte { return record(sInline, u32(0, 0, inlinee), ops) }
	symbols := slices.Concat(u32(4),
		record(sGlobalProc, u32(0, 0, 0, 64, 0, 0, 0, 16), u16(1), []byte("\x00f\x00")),
		site(0x1001, opLine, 4, opMove, 8, opMoveLine, 0x24, opLength, 12), // lines 12 and 13
		site(0x1000, opFile, 8, opLengthMove, 3, 10, 0),
		record(sInlineEnd), record(sInlineEnd),
		site(0x1002, opCode, 0x81, 0x00, opLine, 3, opMove, 1), // without an end
		record(sInlineEnd), bytes.Join(more, nil), record(sEnd))
	line := slices.Concat(
		part(checksums, u32(1), make([]byte, 4), u32(5), make([]byte, 4)),
		part(inlinees, u32(0, 0x1000, 0, 30, 0x1001, 0, 10)))
	module := slices.Concat(make([]byte, 34), u16(6), u32(uint32(len(symbols)), 0, uint32(len(line))), make([]byte, 16), []byte("a.obj\x00a.obj\x00"))
	for len(module)%4 != 0 {
		module = append(module, 0)
	}
	dbi := slices.Concat(u32(1<<32-1, 19990903, 3), u16(noStream, 0, noStream, 0, noStream, 0), u32(uint32(len(module))), make([]byte, 64-28), module)
	info := slices.Concat(u32(20000404, 0, 1), []byte("0123456789abcdef"), u32(7), []byte("/names\x00"), u32(1, 1, 1, 1, 0, 0, 5))
	names := slices.Concat(u32(0xeffeeffe, 1, 9), []byte("\x00a.c\x00b.h\x00"))
	ids := types(record(lfFuncID, u32(0, 0), []byte("h\x00")), record(lfMethodID, u32(0x1000, 0), []byte("g\x00")), record(lfFuncID, u32(7, 0), []byte("x\x00")))
	classes := types(record(lfStruct, u16(0, 0), u32(0, 0, 0), u16(0x8002, 9), []byte("ns::S\x00")))
	data := slices.Concat(symbols, line)
	return msf(nil, info, classes, dbi, ids, names, data)
}

// TestInlined reads calls that were inlined.
func TestInlined(t *testing.T) {
	t.Parallel()
	data := withInlined()
	f, err := Open(bytes.NewReader(data), uint64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Inlined()
	want := []Inlined{
		{"ns::S::g", 1, 16, -1, 10, []Part{{24, 28, 12, "a.c"}, {28, 40, 13, "a.c"}}},
		{"h", 1, 16, 0, 30, []Part{{26, 29, 30, "b.h"}}},
		{"x", 1, 16, -1, 0, []Part{}},
	}
	if !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
}

// TestInlinedRoom checks that a file whose opcodes only begin parts does not take many times its size.
func TestInlinedRoom(t *testing.T) {
	many := bytes.Repeat([]byte{opMove, 1}, 30_000)
	data := withInlined(slices.Repeat([][]byte{record(sInline, u32(0, 0, 0x1002), many), record(sInlineEnd)}, 10)...)
	f, err := Open(bytes.NewReader(data), uint64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = f.Inlined()
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "parts of inlined code") {
		t.Errorf("error %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 32*uint64(len(data)) {
		t.Errorf("it takes %d bytes for a file of %d", n, len(data))
	}
}

// FuzzInlined looks for files that end the reader.
func FuzzInlined(f *testing.F) {
	f.Add(withInlined())
	f.Fuzz(func(t *testing.T, data []byte) {
		if f, err := Open(bytes.NewReader(data), uint64(len(data))); err == nil {
			f.Inlined()
		}
	})
}

package pdb

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

var le = binary.LittleEndian

func u16(v ...uint16) (out []byte) {
	for _, x := range v {
		out = le.AppendUint16(out, x)
	}
	return out
}

func u32(v ...uint32) (out []byte) {
	for _, x := range v {
		out = le.AppendUint32(out, x)
	}
	return out
}

// record returns a symbol record.
func record(kind uint16, parts ...[]byte) []byte {
	body := append(u16(kind), bytes.Join(parts, nil)...)
	for len(body)%4 != 2 {
		body = append(body, 0)
	}
	return append(u16(uint16(len(body))), body...)
}

// part returns a part of the lines of a module.
func part(kind uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(u32(kind, uint32(len(body))), body...)
}

// msf returns a file of streams, in blocks of 512 bytes.
func msf(streams ...[]byte) []byte {
	const block = 512
	var out []byte
	add := func(b []byte) (blocks []uint32) {
		for chunk := range slices.Chunk(b, block) {
			blocks = append(blocks, uint32(len(out)/block))
			out = append(out, append(bytes.Clone(chunk), make([]byte, block-len(chunk))...)...)
		}
		return blocks
	}
	add(make([]byte, 3*block)) // header, and what is free
	directory := u32(uint32(len(streams)))
	var lists []byte
	for _, s := range streams {
		directory = append(directory, u32(uint32(len(s)))...)
		lists = append(lists, u32(add(s)...)...)
	}
	directory = append(directory, lists...)
	list := add(u32(add(directory)...))
	copy(out, magic)
	copy(out[len(magic):], u32(block, 1, uint32(len(out)/block), uint32(len(directory)), 0, list[0]))
	return out
}

// sample returns a file of a program with a module of two functions and the lines of one, and a public symbol.
func sample() []byte {
	procedure := func(kind uint16, name string, size, offset uint32) []byte {
		return record(kind, u32(0, 0, 0, size, 0, 0, 0, offset), u16(1), []byte("\x00"+name+"\x00"))
	}
	symbols := slices.Concat(u32(4), procedure(sProcID, "ns::f", 32, 16), record(6), procedure(sLocalProc, "g", 8, 64))
	line := slices.Concat(
		part(checksums, u32(1), make([]byte, 4), u32(5), make([]byte, 4)),
		part(lines, u32(16), u16(1, 0), u32(32),
			u32(0, 2, 12+16, 0, 7|1<<31, 4, neverStep),
			u32(8, 1, 12+8, 20, 9)),
	)
	module := slices.Concat(make([]byte, 34), u16(4), u32(uint32(len(symbols)), 0, uint32(len(line))), make([]byte, 16), []byte("a.obj\x00a.obj\x00"))
	for len(module)%4 != 0 {
		module = append(module, 0)
	}
	publics := slices.Concat(
		record(sPublic, u32(2, 16), u16(1), []byte("?f@ns@@YAXXZ\x00")),
		record(sPublic, u32(2, 128), u16(1), []byte("start\x00")),
		record(sPublic, u32(0, 0), u16(2), []byte("data\x00")),
	)
	dbi := slices.Concat(u32(1<<32-1, 19990903, 3), u16(noStream, 0, noStream, 0, 6, 0), u32(uint32(len(module))), make([]byte, 64-28), module)
	info := slices.Concat(u32(20000404, 0, 1), []byte("0123456789abcdef"), u32(7), []byte("/names\x00"), u32(1, 1, 1, 1, 0, 0, 5))
	names := slices.Concat(u32(0xeffeeffe, 1, 9), []byte("\x00a.c\x00b.h\x00"))
	return msf(nil, info, nil, dbi, slices.Concat(symbols, line), names, publics)
}

// TestOpen reads a file that has all that is read.
func TestOpen(t *testing.T) {
	t.Parallel()
	data := sample()
	f, err := Open(bytes.NewReader(data), uint64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if id := f.ID(); string(id.GUID[:]) != "0123456789abcdef" || id.Age != 3 {
		t.Errorf("identity %q, age %d", id.GUID, id.Age)
	}
	got, err := f.Functions()
	want := []Function{{"ns::f", 1, false, 16, 32}, {"g", 1, true, 64, 8}, {"start", 1, false, 128, 0}, {"data", 2, false, 0, 0}}
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("functions %+v, want %+v: %v", got, want, err)
	}
	var ranges []Range
	err = f.Lines(func(r Range) { ranges = append(ranges, r) })
	rows := []Range{{1, 16, 32, []Row{{0, 7, "a.c"}, {4, 0, "a.c"}, {20, 9, "b.h"}}}}
	if !reflect.DeepEqual(ranges, rows) || err != nil {
		t.Errorf("lines %+v, want %+v: %v", ranges, rows, err)
	}
}

// TestDamaged reads files that are cut off, and whose numbers are wrong.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for n := range len(sample()) {
		if err := readAll(sample()[:n]); err == nil && n < len(sample())-512 {
			t.Fatalf("no error for the first %d bytes", n)
		}
	}
	for _, c := range []struct {
		at   int
		v    uint32
		want string
	}{
		{0, 0, "not a PDB file"},
		{32, 0, "blocks of 0 bytes"},
		{32, 1 << 31, "blocks of"},
		{40, 1 << 30, "blocks of 512 bytes"},
		{44, 1 << 30, "cut off?"},
		{52, 1 << 20, "cut off?"},
	} {
		data := sample()
		le.PutUint32(data[c.at:], c.v)
		if err := readAll(data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#x at %d: %v, want %q", c.v, c.at, err, c.want)
		}
	}
}

// TestNames wants names that no place that has them copies: each of a file may have a long one.
func TestNames(t *testing.T) {
	t.Parallel()
	f := &File{names: "\x00" + strings.Repeat("a", maxName-1) + "\x00" + strings.Repeat("b", maxName) + "\x00"}
	sums := u32(1, maxName+1)
	a, again := f.fileName(sums, 0), f.fileName(sums, 0)
	if len(a) != maxName-1 || unsafe.StringData(a) != unsafe.StringData(again) {
		t.Errorf("names of %d and %d bytes, want the same %d", len(a), len(again), maxName-1)
	}
	if b := f.fileName(sums, 4); b != "" {
		t.Errorf("a name of %d bytes", len(b))
	}
}

// readAll reads all of a file.
func readAll(data []byte) error {
	f, err := Open(bytes.NewReader(data), uint64(len(data)))
	if err != nil {
		return err
	}
	if _, err := f.Functions(); err != nil {
		return err
	}
	return f.Lines(func(Range) {})
}

// FuzzOpen looks for files that end the reader, or need more memory than a few times their size.
func FuzzOpen(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, data []byte) { readAll(data) })
}

package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// peProgram returns a program for Windows with two functions, records, a map, and an identity.
func peProgram() []byte {
	const base, align = 0x140000000, 0x200
	le := binary.LittleEndian
	put := func(b []byte, at int, v uint32) { le.PutUint32(b[at:], v) }
	head := make([]byte, 0x400)
	copy(head, "MZ")
	put(head, 0x3c, 0x80)
	copy(head[0x80:], "PE\x00\x00\x64\x86")
	optional := head[0x98:]
	le.PutUint16(head[0x94:], 112+16*8)
	le.PutUint16(optional, 0x20b)
	put(optional, 16, 0x1004)
	le.PutUint64(optional[24:], base)
	put(optional, 108, 16)
	put(optional, 112+6*8, 0x2000)
	put(optional, 112+6*8+4, 28)
	code := bytes.Repeat([]byte{0xc3}, 0x20)
	debug := make([]byte, 0x60)
	put(debug, 12, 2)
	put(debug, 16, 24+5)
	put(debug, 20, 0x2020)
	copy(debug[0x20:], "RSDS0123456789abcdef\x01\x00\x00\x00x.pdb")
	sections := []struct {
		name  string
		addr  uint32
		size  uint32
		data  []byte
		flags uint32
	}{
		{".text", 0x1000, 0x20, code, 0x60000020},
		{".rdata", 0x2000, 0x60, debug, 0x40000040},
		{".crn", 0x3000, 12, nil, 0xc0000080},
		{"/4", 0x4000, 3, []byte("map"), 0x42000040},
	}
	le.PutUint16(head[0x86:], uint16(len(sections)))
	out := head
	for i, s := range sections {
		h := out[0x98+112+16*8+40*i:]
		copy(h, s.name)
		put(h, 8, s.size)
		put(h, 12, s.addr)
		put(h, 36, s.flags)
		if s.data != nil {
			put(h, 16, align)
			put(h, 20, uint32(len(out)))
			out = append(out, append(s.data, make([]byte, align-len(s.data))...)...)
		}
	}
	put(out, 0x8c, uint32(len(out)))
	symbol := func(name string, value uint32, section, kind uint16, class, more byte) {
		b := make([]byte, 18)
		copy(b, name)
		if len(name) > 8 {
			put(b, 0, 0)
			put(b, 4, 4+uint32(len(".debug_cairn\x00")))
		}
		put(b, 8, value)
		le.PutUint16(b[12:], section)
		le.PutUint16(b[14:], kind)
		b[16], b[17] = class, more
		out = append(out, b...)
	}
	symbol(".file", 0, 0xfffe, 0, 103, 1)
	out = append(out, "a.c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	symbol(".text", 0, 1, 0, 3, 0)
	symbol("main", 4, 1, 0x20, 2, 0)
	symbol("cairn$Locals", 0x10, 1, 0x20, 3, 0)
	symbol("data", 0, 2, 0, 2, 0)
	put(out, 0x90, 6)
	names := "\x00\x00\x00\x00.debug_cairn\x00cairn$Locals\x00"
	out = append(out, names...)
	put(out, len(out)-len(names), uint32(len(names)))
	return out
}

func openPE(t *testing.T, data []byte) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.exe")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err == nil {
		t.Cleanup(func() { f.Close() })
	}
	return f, err
}

func TestPE(t *testing.T) {
	t.Parallel()
	data := peProgram()
	if !IsBinary(data) {
		t.Error("not a binary")
	}
	f, err := openPE(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := f.BuildID(); err != nil || string(id) != "0123456789abcdef\x01\x00\x00\x00" {
		t.Errorf("identity %q, %v", id, err)
	}
	if _, addr, size, ok, err := f.Section(wire.RawSection); !ok || err != nil || addr != 0x140003000 || size != 12 {
		t.Errorf("records at %#x, %d bytes, %v, %v", addr, size, ok, err)
	}
	if m, _, _, _, err := f.Section(wire.MapSection); err != nil || string(m) != "map" {
		t.Errorf("map %q, %v", m, err)
	}
	if f.elf.Entry != 0x140001004 {
		t.Errorf("entry %#x", f.elf.Entry)
	}
	symbols, err := f.FuncSymbols()
	if err != nil || len(symbols) != 2 {
		t.Fatalf("%+v, %v", symbols, err)
	}
	for _, want := range []Symbol{{Name: "main", Addr: 0x140001004, Size: 12}, {Name: "Locals", Addr: 0x140001010, Size: 16}} {
		if !slices.ContainsFunc(symbols, func(s Symbol) bool { return s.Name == want.Name && s.Addr == want.Addr && s.Size == want.Size }) {
			t.Errorf("%+v is not among %+v", want, symbols)
		}
	}
}

func TestPEErrors(t *testing.T) {
	t.Parallel()
	good := peProgram()
	for _, test := range []struct {
		change func(b []byte) []byte
		want   string
	}{
		{func(b []byte) []byte { return b[:30] }, "the header at offset 0 lie outside the file"},
		{func(b []byte) []byte { b[0x80] = 'N'; return b }, "a program for DOS"},
		{func(b []byte) []byte { b[0x3e] = 0xff; return b }, "the PE header at offset"},
		{func(b []byte) []byte { b[0x84], b[0x85] = 0xc4, 0x01; return b }, "a program for Windows on machine 0x1c4, of which cairn reads x86-64"},
		{func(b []byte) []byte { b[0x87] = 0xff; return b }, "section headers at offset"},
		{func(b []byte) []byte { b[0x93] = 0xff; return b }, "symbols, at most"},
		{func(b []byte) []byte { b[0x8e] = 0xff; return b }, "symbols at offset"},
		{func(b []byte) []byte { b[0x95] = 0xff; return b }, "an optional header of"},
		{func(b []byte) []byte { return b[:0x500] }, "cut off"},
		{func(b []byte) []byte { b[0x98+112+6*8+3] = 0xff; return b }, "is in no section"},
		{func(b []byte) []byte { b[0x98+112+6*8+7] = 0xff; return b }, "of a directory of debug information, at most"},
	} {
		_, err := openPE(t, test.change(bytes.Clone(good)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	bare := bytes.Clone(good)
	bare[0x98+112+6*8+4] = 0
	f, err := openPE(t, bare)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.BuildID(); !errors.Is(err, ErrNoBuildID) || !strings.Contains(err.Error(), "CodeView") {
		t.Error(err)
	}
}

// FuzzPE reads damaged programs for Windows: neither a panic nor memory that the file does not account for.
func FuzzPE(f *testing.F) {
	good := peProgram()
	f.Add(good)
	for i := 0; i < len(good); i += 7 {
		bad := bytes.Clone(good)
		bad[i] ^= 0xff
		f.Add(bad)
		f.Add(bad[min(len(bad), 0x84):])
		f.Add(good[:i])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := readAnyModule(bytes.NewReader(data), uint64(len(data)), ""); err == nil && m == nil {
			t.Error("neither a module nor an error")
		}
		COFFSection(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), wire.MapCOFF)
		if file, err := openPE(t, data); err == nil {
			file.FuncSymbols()
			file.BuildID()
		}
	})
}

package peimage

import (
	"bytes"
	"debug/pe"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/image"
)

const base = 0x140000000

// program returns a program with 16 bytes of code and 8 of data, of 32 in memory, and two symbols.
func program() []byte {
	const room = 0x400
	data := make([]byte, room)
	copy(data, "MZ")
	data[magicAt] = 0x80
	coff := data[0x80+len(magic):]
	copy(data[0x80:], magic)
	le.PutUint16(coff, amd64)
	le.PutUint16(coff[2:], 2)
	le.PutUint16(coff[16:], optionals)
	head := coff[coffSize:]
	le.PutUint16(head, wide)
	le.PutUint64(head[imageBase:], base)
	le.PutUint32(head[sectionStep:], 0x1000)
	le.PutUint32(head[fileStep:], 0x200)
	le.PutUint32(head[imageSize:], 0x3000)
	le.PutUint32(head[headersSize:], room)
	le.PutUint32(head[108:], 16)
	for i, s := range []struct {
		name                string
		memory, addr, flags uint32
		content             string
	}{{".text", 16, 0x1000, code, "code of a program"[:16]}, {".data", 32, 0x2000, contents, "\x10\x10\x00\x40\x01\x00\x00\x00"}} {
		h := data[0x80+len(magic)+coffSize+optionals+i*sectionSize:][:sectionSize]
		copy(h, s.name)
		le.PutUint32(h[8:], s.memory)
		le.PutUint32(h[12:], s.addr)
		le.PutUint32(h[16:], 0x200)
		le.PutUint32(h[20:], uint32(len(data)))
		le.PutUint32(h[36:], s.flags)
		data = append(append(data, s.content...), make([]byte, 0x200-len(s.content))...)
	}
	coff = data[0x80+len(magic):]
	le.PutUint32(coff[8:], uint32(len(data)))
	le.PutUint32(coff[12:], 3)
	data = append(data, "main\x00\x00\x00\x00\x04\x00\x00\x00\x01\x00\x20\x00\x02\x00"...)
	data = append(data, "\x00\x00\x00\x00\x04\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x02\x00"...)
	data = append(data, "absolute\x08\x00\x00\x00\xff\xff\x00\x00\x02\x00"...)
	return append(data, "\x14\x00\x00\x00runtime.covctrs\x00"...)
}

func TestImage(t *testing.T) {
	t.Parallel()
	f, err := Parse(program())
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	want := []image.Symbol{{Name: "main", Addr: base + 0x1004, Size: 12, Func: true}, {Name: "runtime.covctrs", Addr: base + 0x2008, Size: 24}}
	if err != nil || !slices.Equal(symbols, want) {
		t.Errorf("symbols %+v, %v", symbols, err)
	}
	if got := f.At(base + 0x1004); string(got) != " of a progra" {
		t.Errorf("%q at the function", got)
	}
	if p, ok := f.Pointer(base + 0x2000); !ok || p != base+0x1010 {
		t.Errorf("pointer %#x, %t", p, ok)
	}
}

// TestExtend looks at the file with more sections by another reader.
func TestExtend(t *testing.T) {
	t.Parallel()
	f, err := Parse(program())
	if err != nil {
		t.Fatal(err)
	}
	id := f.BuildID()
	f.At(base + 0x2000)[0]++ // as the link step does
	add := []image.Addition{{Name: wire.RawSection, Addr: base + 0x2008, Size: 24}, {Name: wire.MapSection, Data: []byte("map")}, {Name: wire.UnitSection, Data: []byte{}}}
	for _, row := range []struct {
		make  func([]image.Addition) ([]byte, error)
		first []string
	}{
		{func(a []image.Addition) ([]byte, error) { return f.Extend(a, true) }, []string{".text", ".data"}},
		{f.Only, []string{".text"}},
	} {
		out, err := row.make(add)
		if err != nil {
			t.Fatal(err)
		}
		file, err := pe.NewFile(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range file.Sections {
			names = append(names, s.Name)
		}
		if want := append(row.first, ".crnid", ".crnraw", ".crnmap", ".crnunit"); !slices.Equal(names, want) {
			t.Errorf("sections %q, want %q", names, want)
		}
		if data, err := file.Section(".crnmap").Data(); err != nil || string(data[:3]) != "map" {
			t.Errorf("map %q, %v", data, err)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.BuildID(), id) || len(id) != idSize {
			t.Errorf("identity %x, want %x", again.BuildID(), id)
		}
		last := again.sections[len(again.sections)-1]
		if size := file.OptionalHeader.(*pe.OptionalHeader64).SizeOfImage; size != uint32(last.addr())+0x1000 {
			t.Errorf("the image has %#x bytes, its last section is at %#x", size, last.addr())
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	good := program()
	for _, test := range []struct {
		change func(b []byte) []byte
		want   string
	}{
		{func([]byte) []byte { return []byte("MZ") }, "not a program for Windows"},
		{func(b []byte) []byte { b[0x80] = 'N'; return b }, "not a program for Windows"},
		{func(b []byte) []byte { b[0x84] = 0x4c; return b }, "not a program for Windows"},
		{func(b []byte) []byte { b[0x86], b[0x87] = 0, 0; return b }, "no sections"},
		{func(b []byte) []byte { b[0x87] = 0xff; return b }, "out of the file"},
		{func(b []byte) []byte { return b[:0x40f] }, "section .text: 16 bytes at 0x400: out of the file"},
	} {
		_, err := Parse(test.change(bytes.Clone(good)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0xff
		if f, err := Parse(bad); err == nil {
			f.Symbols() // no panic
			f.BuildID()
		}
	}
	full := bytes.Clone(good)
	le.PutUint32(full[0x80+len(magic)+coffSize+headersSize:], 0x1f0)
	f, err := Parse(full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Extend(nil, false); err == nil || !strings.Contains(err.Error(), "there is room up to") {
		t.Errorf("no room for headers: %v", err)
	}
}

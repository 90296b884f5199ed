package inlined_test

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/inlined"
)

// example is the one in the comment of the package.
const example = "636169726e496e6c" + "1e0000864cdb63af" + "636169726e496e6c"

func TestRead(t *testing.T) {
	t.Parallel()
	data, err := hex.DecodeString(example)
	if err != nil {
		t.Fatal(err)
	}
	l, err := inlined.Read(data)
	if err != nil || l.Units != 2 || !slices.Equal(l.Lines("f"), []int{30}) || l.Lines("g") != nil {
		t.Errorf("%+v, %v", l, err)
	}
	for size, want := range map[int]string{23: "7 bytes at offset 0x10 are no number", 8: ""} {
		if _, err := inlined.Read(data[:size]); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
	if _, err := inlined.Read(data[8:]); err == nil || !strings.Contains(err.Error(), "belongs to no unit") {
		t.Errorf("without a mark: %v", err)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	got := inlined.Encode([]inlined.Call{{Func: "f", Line: 30}, {Func: "f", Line: 30}}, nil)
	if text := hex.EncodeToString(append(got, inlined.Encode(nil, nil)...)); text != example {
		t.Errorf("%s, want %s", text, example)
	}
}

func TestDefs(t *testing.T) {
	t.Parallel()
	defs := []inlined.Def{{Func: "f", File: "/a/f.c", Line: 3}, {Func: "g", File: "/a/f.c", Line: 30}}
	data := inlined.Encode(nil, []inlined.Def{defs[1], defs[0], defs[1], {Func: "a\tb", File: "/a"}})
	data = append(data, inlined.Encode([]inlined.Call{{Func: "f", Line: 30}}, nil)...)
	l, err := inlined.Read(data)
	if err != nil || l.Units != 2 || !slices.Equal(l.Defs, defs) || !slices.Equal(l.Lines("f"), []int{30}) {
		t.Errorf("%+v, %v", l, err)
	}
	for size, want := range map[int]string{16: "the definitions at offset 0x8: no length", 32: "the definitions at offset 0x8: a length of 23 bytes, and 8 are left"} {
		if _, err := inlined.Read(data[:size]); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
	data[25] = '\n'
	if _, err := inlined.Read(data); err == nil || !strings.Contains(err.Error(), "is no definition") {
		t.Errorf("a line without a place: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	data, err := hex.DecodeString(example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:7])
	f.Add(inlined.Encode(nil, []inlined.Def{{Func: "f", File: "f.c", Line: 3}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := inlined.Read(data); err == nil {
			l.Lines("f")
		}
	})
}

package machinecode

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

func TestCutSuffixes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"f": "f", "f.cold": "f", "f.part.0": "f", "f.part.0.cold": "f", "f.llvm.123": "f", "f.isra.0.constprop.1": "f.isra.0",
		"f.constprop.0.isra.1": "f", "f.cold.part": "f.cold.part", "_ZL1fi.__uniq.77": "_ZL1fi.__uniq.77",
		"_ZL1fi.__uniq.77.llvm.5": "_ZL1fi.__uniq.77", ".cold": "",
	} {
		if got := cutSuffixes(name, cloneSuffixes); got != want {
			t.Errorf("%s is cut to %q, want %q", name, got, want)
		}
	}
	if got := cutSuffixes("f.cold", partSuffixes); got != "f.cold" {
		t.Errorf("a part is called %s", got)
	}
}

// program has f, which calls g and tail-calls it; some bytes that are no code, and
// g, whose cold part is called by a name of its own.
func program(base uint64) *objfile.Program {
	code := []byte{
		0x90,             // 0: before the first symbol
		0x55,             // 1: f: push %rbp
		0x48, 0x89, 0xe5, // 2: mov %rsp,%rbp
		0xe8, 8, 0, 0, 0, // 5: call g
		0x90,    // 10
		0x5d,    // 11: pop %rbp
		0xeb, 4, // 12: jmp g
		0x06, 0x06, 0x06, 0x06, // 14: not valid
		0x31, 0xc0, // 18: g: xor %eax,%eax
		0x74, 1, // 20: je
		0xc3,             // 22: ret
		0xff, 0xe0, 0xf4, // 23: g.cold: jmp *%rax, hlt
	}
	text := base + 0x1000
	sym := func(name string, at, size uint64) objfile.TableSymbol {
		return objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: text + at, Size: size}, Func: true, Section: 3}
	}
	return &objfile.Program{
		Path: "dir/prog", BuildID: "00ff",
		Segments: []objfile.Segment{{Addr: base, Size: 0x100, Offset: 0}, {Addr: text, Size: 26, Offset: 0x1000, Exec: true}},
		Code:     []objfile.CodeSection{{Name: ".plt", Index: 2, Addr: text - 0x100, Data: []byte{0xc3}}, {Name: ".text", Index: 3, Addr: text, Data: code}},
		Symbols:  []objfile.TableSymbol{sym("f", 1, 13), sym("g", 18, 5), sym("g.cold", 23, 3), sym("end", 26, 0)},
		Probes:   []byte{0},
		Ranges:   []objfile.ScopeRange{{Name: "g", Lo: text + 18, Hi: text + 23}, {Name: "g", Lo: text + 23, Hi: text + 26}, {Name: "gone", Lo: 0, Hi: 5}},
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	s, err := NewSet(program(0x400000), program(0))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range s.Binaries() {
		text := b.Base
		if want := []uint64{0x401000, 0x1000}[i]; text != want || b.Loaded != want-0x1000 || b.Name != "prog" {
			t.Fatalf("%s at %#x, loaded at %#x", b.Name, b.Base, b.Loaded)
		}
		at := func(off uint64) Ref { return b.At(text + off) }
		for _, off := range []uint64{0, 3, 14, 15, 26, 100, ^uint64(0)} {
			if r := at(off); r != External {
				t.Errorf("instruction %d at %#x", r, off)
			}
		}
		for off, want := range map[uint64]controlflow.Class{1: controlflow.Other, 5: controlflow.Call, 12: controlflow.Jump, 20: controlflow.Conditional, 22: controlflow.Return, 23: controlflow.IndirectJump, 25: controlflow.Other} {
			r := at(off)
			if got := s.Class(r); got != want || s.Address(r) != text+off || s.Binary(r) != b {
				t.Errorf("%#x: class %d at %#x", off, got, s.Address(r))
			}
		}
		if target, ok := s.Target(at(5)); !ok || target != text+18 {
			t.Errorf("the call goes to %#x, %v", target, ok)
		}
		if _, ok := s.Target(at(23)); ok {
			t.Error("an indirect jump has a target")
		}
		if s.CallBefore(at(10)) != at(5) || s.CallBefore(at(5)) != None || s.CallBefore(External) != External {
			t.Error("calls before")
		}
		for _, c := range []struct {
			first, last uint64
			want        bool
		}{{1, 5, true}, {1, 10, false}, {10, 12, true}, {18, 22, true}, {22, 23, false}, {23, 25, true}, {5, 1, false}} {
			if got := s.Runs(at(c.first), at(c.last)); got != c.want {
				t.Errorf("from %d to %d: %v", c.first, c.last, got)
			}
		}
		dubious := map[uint64]bool{1: true, 2: true, 18: true, 20: true, 22: true, 23: true, 25: true}
		for _, off := range []uint64{1, 2, 5, 10, 11, 12, 18, 20, 22, 23, 25} {
			if got := s.Dubious(at(off)); got != dubious[off] {
				t.Errorf("dubious at %d: %v", off, got)
			}
			if got := s.Departs(at(off)); got != (off == 12) {
				t.Errorf("a tail jump at %d: %v", off, got)
			}
		}
		for off, want := range map[uint64]string{1: "f", 2: "", 18: "g", 23: ""} {
			if got := b.Entered(text + off); got != want {
				t.Errorf("%q is entered at %d", got, off)
			}
		}
		if r := b.RangeAt(text + 24); r == nil || b.Functions()[r.Function].Name != "g" || b.RangeAt(text+14) != nil {
			t.Errorf("ranges: %+v", b.Ranges())
		}
		if got := b.From(text + 13); got != at(18) {
			t.Errorf("the instruction behind 13 is %d", got)
		}
		if got := b.From(text + 100); got != b.End {
			t.Errorf("the instruction behind the end is %d", got)
		}
	}
	if s.Class(None) != controlflow.Other || s.Binary(External) != nil || s.Len() != int(s.Binaries()[1].End) {
		t.Error("what is no instruction")
	}
}

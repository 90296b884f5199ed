package tailcall

import (
	"cmp"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// virtual is a program with the classes A, B, which derives from it, and C. Its data
// has further pointers to offsets of the code. Other modules may derive from A if it is open.
func virtual(t *testing.T, open bool, pointers ...uint64) *machinecode.Set {
	t.Helper()
	c := slices.Repeat([]byte{0x90}, 0xc0)
	copy(c[0x00:], []byte{0x48, 0x8b, 0x07, 0xff, 0x10})          // main: mov (%rdi),%rax; call *(%rax)
	copy(c[0x05:], []byte{0x48, 0x8b, 0x07, 0xff, 0x50, 8})       // the same of 8(%rax)
	copy(c[0x0b:], []byte{0xff, 0xd1})                            // call *%rcx
	copy(c[0x0d:], []byte{0xe8, 0x0e, 0, 0, 0, 0xc3})             // call A::m
	copy(c[0x20:], []byte{0x48, 0x8b, 0x07, 0x5d, 0xff, 0x60, 8}) // A::m: mov (%rdi),%rax; pop %rbp; jmp *8(%rax)
	copy(c[0x30:], []byte{0x5d, 0xeb, 0x3d})                      // A::f: pop %rbp; jmp leaf
	copy(c[0x40:], []byte{0x90, 0xc3})                            // B::f
	copy(c[0x50:], []byte{0x5d, 0xeb, 0x2d})                      // A::g: pop %rbp; jmp deep
	copy(c[0x60:], []byte{0x5d, 0xeb, 0x1d})                      // C::g: the same
	copy(c[0x90:], []byte{0x5d, 0xeb, 0x0d})                      // back: pop %rbp; jmp end
	copy(c[0xb0:], []byte{0x5d, 0xff, 0xe1})                      // relay: pop %rbp; jmp *%rcx
	const data = 0x500000
	p := &objfile.Program{
		Path: "prog", Segments: []objfile.Segment{{Addr: text, Size: uint64(len(c)), Offset: 0x1000, Exec: true}},
		Code: []objfile.CodeSection{{Name: ".text", Index: 1, Addr: text, Data: c}}, Probes: []byte{0},
	}
	symbol := func(name string, addr, size uint64, code bool) {
		s := objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: addr, Size: size}, Func: code, Section: 2}
		if code {
			s.Section = 1
		}
		p.Symbols = append(p.Symbols, s)
	}
	for i, name := range []string{"main", "", "_ZN1A1mEv", "_ZN1A1fEi", "_ZN1B1fEi", "_ZN1A1gEv", "_ZN1C1gEv", "leaf", "deep", "back", "end", "relay"} {
		if name != "" {
			symbol(name, text+uint64(i)<<4, 0x10, true)
		}
	}
	for class, methods := range map[string][2]uint64{"1A": {0x30, 0x50}, "1B": {0x40, 0x50}, "1C": {0x40, 0x60}} {
		table := data + uint64(class[1]-'A')*0x100
		info := table + 0x40
		symbol("_ZTV"+class, table, 32, false)
		symbol("_ZTI"+class, info, 24, false)
		p.Pointers = append(p.Pointers, objfile.Pointer{At: table + 8, To: info},
			objfile.Pointer{At: table + 16, To: text + methods[0]}, objfile.Pointer{At: table + 24, To: text + methods[1]})
		if class == "1B" {
			p.Pointers = append(p.Pointers, objfile.Pointer{At: info + 16, To: data + 0x40})
		}
	}
	if open {
		p.Exports = []uint64{data + 0x40}
	}
	for i, to := range pointers {
		p.Pointers = append(p.Pointers, objfile.Pointer{At: data + 0x1000 + uint64(i)*8, To: text + to})
	}
	slices.SortFunc(p.Pointers, func(a, b objfile.Pointer) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(p.Symbols, func(a, b objfile.TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
	s, err := machinecode.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWorld infers what pointers lead to.
func TestWorld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		pointers    []uint64
		from, to    uint64 // a call that was seen; 0 for none
		call, stack uint64
		rule        string
		jumps       []uint64
		open        bool
	}{
		{"one class has what leads there", nil, 0, 0, 0x03, 0x70, RuleVirtual, []uint64{0x31}, false},
		{"two classes have it", nil, 0, 0, 0x08, 0x80, Ambiguous, nil, false},
		{"this is of a class and those derived from it", nil, 0, 0, 0x0d, 0x80, RuleVirtual, []uint64{0x24, 0x51}, false},
		{"a pointer in data", []uint64{0x90}, 0, 0, 0x0b, 0xa0, RuleAddress, []uint64{0x91}, false},
		{"no pointer", nil, 0, 0, 0x0b, 0xa0, Unknown, nil, false},
		{"two functions whose address is known", nil, 0, 0, 0x0b, 0x80, Ambiguous, nil, false},
		{"a function that hands calls on", []uint64{0x90, 0xb0}, 0, 0, 0x0b, 0xa0, Ambiguous, nil, false},
		{"one that is called itself", []uint64{0xa0}, 0, 0, 0x0b, 0xa0, Direct, nil, false},
		{"one that is called itself or not", []uint64{0x90, 0xa0}, 0, 0, 0x0b, 0xa0, Ambiguous, nil, false},
		{"something unknown was called", []uint64{0x90}, 0x0b, 0x70, 0x0b, 0xa0, Unknown, nil, false},
		{"a pointer at the place of a virtual function", []uint64{0x50}, 0, 0, 0x03, 0x80, RuleVirtual, []uint64{0x51}, false},
		{"a class that others may derive from", nil, 0, 0, 0x0d, 0x80, Ambiguous, nil, true},
	} {
		s := virtual(t, c.open, c.pointers...)
		var contexts []unwind.Context
		if c.from != 0 {
			r := refs(s, c.from, c.to)
			contexts = append(contexts, unwind.Context{Branches: []unwind.Count{{From: r[0], To: r[1], Count: 1}}})
		}
		f := NewFull(NewGraph(s, contexts), nil)
		jumps, rule, _ := f.Infer(refs(s, c.call, c.stack), 0)
		if rule != c.rule || !slices.Equal(jumps, refs(s, c.jumps...)) {
			t.Errorf("%s: %v by %s, want %v by %s", c.name, jumps, rule, refs(s, c.jumps...), c.rule)
		}
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	classes := map[string]int{"1A": 0, "N5outer1BE": 0, "N5outer4ListIiEE": 0}
	for name, want := range map[string]string{
		"_ZN1A1mEv": "1A scalars", "_ZNK1A1mEid": "1A scalars", "_ZN1A1mEP1A": "1A", "_ZN1AD2Ev": "1A scalars",
		"_ZN5outer1B3runEv": "N5outer1BE scalars", "_ZN5outer4ListIiE3popEv": "N5outer4ListIiEE scalars",
		"_ZN5outer1B3runEv.__uniq.7": "N5outer1BE scalars", "_ZN1A1mEv.isra.0": "", "_ZN1A1mEv.constprop.0": "",
		"_ZN1A1mIiEEvT_": "", "_ZN5outer1mEv": "", "_Z1mv": "", "_ZN1A5innerD2Ev": "", "_ZN1A99mEv": "", "_ZN1A": "", "main": "", "": "",
	} {
		class, scalars := method(name, classes)
		if scalars {
			class += " scalars"
		}
		if class != want {
			t.Errorf("%s: %q, want %q", name, class, want)
		}
	}
}

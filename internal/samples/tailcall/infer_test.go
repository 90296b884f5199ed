package tailcall

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

const text = 0x401000

// code is a program of functions that jump to others.
func code(t *testing.T) *machinecode.Set {
	t.Helper()
	c := make([]byte, 0x80)
	for i := range c {
		c[i] = 0x90
	}
	copy(c[0x00:], []byte{0xe8, 0x1b, 0, 0, 0})             // main: call jumps
	copy(c[0x05:], []byte{0xe8, 0x26, 0, 0, 0})             // call maybe
	copy(c[0x0a:], []byte{0x48, 0x8d, 0x3d, 0x3f, 0, 0, 0}) // lea back(%rip), %rdi
	copy(c[0x11:], []byte{0xff, 0xd0})                      // call *%rax
	copy(c[0x13:], []byte{0xe8, 0x48, 0, 0, 0, 0xc3})       // call computed; ret
	copy(c[0x20:], []byte{0x5d, 0xeb, 0x1d})                // jumps: pop %rbp; jmp leaf
	copy(c[0x30:], []byte{0x74, 0x0e, 0xc3})                // maybe: je leaf; ret
	copy(c[0x40:], []byte{0x90, 0xc3})                      // leaf
	copy(c[0x50:], []byte{0x5d, 0xeb, 0xed})                // back: pop %rbp; jmp leaf
	copy(c[0x60:], []byte{0x5d, 0xff, 0xe0})                // computed: pop %rbp; jmp *%rax
	copy(c[0x70:], []byte{0x90, 0xc3})                      // hidden
	var symbols []objfile.TableSymbol
	for i, name := range []string{"main", "", "jumps", "maybe", "leaf", "back", "computed", "hidden"} {
		if name != "" {
			size := uint64(0x10)
			if name == "main" {
				size = 0x20
			}
			symbols = append(symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: text + uint64(i)<<4, Size: size}, Func: true, Section: 1})
		}
	}
	s, err := machinecode.NewSet(&objfile.Program{
		Path: "prog", Segments: []objfile.Segment{{Addr: text, Size: uint64(len(c)), Offset: 0x1000, Exec: true}},
		Code: []objfile.CodeSection{{Name: ".text", Index: 1, Addr: text, Data: c}}, Symbols: symbols, Probes: []byte{0},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refs are the instructions at offsets.
func refs(s *machinecode.Set, offsets ...uint64) (out []ref) {
	for _, off := range offsets {
		out = append(out, s.Binaries()[0].At(text+off))
	}
	return out
}

// seen is a context with known frames, where the instruction at leaf ran so often.
func seen(s *machinecode.Set, count uint64, leaf uint64, frames ...uint64) unwind.Context {
	at := refs(s, leaf)[0]
	c := unwind.Context{Frames: refs(s, frames...), Ranges: []unwind.Count{{From: at, To: at, Count: count}}}
	c.Known = slices.Repeat([]bool{true}, len(frames))
	return c
}

// ends is a context with a call that was made before the branches.
func ends(s *machinecode.Set, count uint64, leaf uint64, frames ...uint64) unwind.Context {
	c := seen(s, count, leaf, frames...)
	c.Known[0] = false
	return c
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := code(t)
	taken := func(from, to uint64) unwind.Context {
		r := refs(s, from, to)
		return unwind.Context{Branches: []unwind.Count{{From: r[0], To: r[1], Count: 1}}}
	}
	for _, c := range []struct {
		name     string
		contexts []unwind.Context
		stack    []uint64
		rule     string
		jumps    []uint64
		known    bool
	}{
		{"a direct jump of the code", nil, []uint64{0x00, 0x40}, RuleStatic, []uint64{0x21}, true},
		{"one that was seen", []unwind.Context{taken(0x21, 0x40)}, []uint64{0x00, 0x40}, RuleSeen, []uint64{0x21}, true},
		{"a conditional jump", nil, []uint64{0x05, 0x40}, RuleStatic, []uint64{0x30}, true},
		{"nothing missing", nil, []uint64{0x00, 0x20}, Direct, nil, true},
		{"an address on the stack", nil, []uint64{0x11, 0x40}, RuleStack, []uint64{0x51}, true},
		{"an indirect call of it", nil, []uint64{0x11, 0x50}, Direct, nil, true},
		{"a computed address", nil, []uint64{0x13, 0x70}, RuleComputed, []uint64{0x61}, true},
		{"a function that others jump to", nil, []uint64{0x13, 0x40}, RuleAddress, []uint64{0x61, 0x51}, true},
		{"as elsewhere", []unwind.Context{seen(s, enough, 0x40, 0x13, 0x61)}, []uint64{0x13, 0x40}, RuleAlike, []uint64{0x61}, true},
		{"as elsewhere, seldom", []unwind.Context{seen(s, enough-1, 0x40, 0x13, 0x61)}, []uint64{0x13, 0x40}, RuleAddress, []uint64{0x61, 0x51}, true},
		{
			"two ways elsewhere",
			[]unwind.Context{seen(s, enough, 0x40, 0x13, 0x61), seen(s, 1, 0x40, 0x13)},
			[]uint64{0x13, 0x40},
			Ambiguous, nil, false,
		},
		{
			"two ways elsewhere, with different instructions",
			[]unwind.Context{seen(s, enough, 0x40, 0x13, 0x61), seen(s, enough, 0x41, 0x13, 0x61, 0x51)},
			[]uint64{0x13, 0x41},
			RuleAlike,
			[]uint64{0x61, 0x51},
			true,
		},
		{
			"the same, but mostly nothing is seen of how it began",
			[]unwind.Context{
				seen(s, enough, 0x40, 0x13, 0x61), seen(s, 1, 0x40, 0x13, 0x61, 0x51),
				seen(s, enough, 0x41, 0x13, 0x61, 0x51), ends(s, enough+1, 0x41, 0x13),
			},
			[]uint64{0x13, 0x41},
			Ambiguous, nil, false,
		},
		{
			"the end elsewhere",
			[]unwind.Context{ends(s, enough, 0x40, 0x13, 0x51)},
			[]uint64{0x13, 0x40},
			RuleAlike,
			[]uint64{0x61, 0x51},
			true,
		},
		{
			"the end of another way",
			[]unwind.Context{seen(s, enough, 0x40, 0x13, 0x61), ends(s, 1, 0x40, 0x13, 0x51)},
			[]uint64{0x13, 0x40},
			Ambiguous, nil, false,
		},
	} {
		f := NewFull(NewGraph(s, c.contexts), nil)
		jumps, rule, known := f.Infer(refs(s, c.stack...), 0)
		if rule != c.rule || !slices.Equal(jumps, refs(s, c.jumps...)) || known != c.known {
			t.Errorf("%s: %v by %s, known: %v", c.name, jumps, rule, known)
		}
	}
}

// TestExplain checks that exactly the pairs with missing frames are explained.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := code(t)
	unknown := seen(s, 7, 0x40, 0x00)
	unknown.Known = []bool{false}
	plain := seen(s, 9, 0x20, 0x00)
	contexts := []unwind.Context{unknown, plain, seen(s, 3, 0x40, 0x05, 0x30)}
	g := NewGraph(s, contexts)
	got := ""
	for _, p := range Explain(g, NewFull(g, nil), contexts) {
		got += fmt.Sprintf("%d %s %v %s %s; ", p.Count, p.Rule, g.Callees(p.Call), g.Name(p.Jumps[0]), p.Next)
	}
	if want := "7 static [jumps] jumps leaf; 3 window [maybe] maybe leaf; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

package tailcall

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// FuzzInfer checks for arbitrary code, branches and stacks that the restored frames lead from
// the call to the frame, as far as jumps and calls are direct.
func FuzzInfer(f *testing.F) {
	f.Add([]byte("\xe8\x0b\x00\x00\x00\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x5d\xeb\x0d\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x5d\xc3"), []byte{0, 10, 20, 18}, []byte{25, 0})
	f.Add([]byte("\x48\x8d\x3d\x09\x00\x00\x00\xff\xd0\xc3\x90\x90\x90\x90\x90\x90\x74\x0e\xeb\xfe\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x5d\xff\xe0"), []byte{}, []byte{22, 1, 0})
	f.Fuzz(func(t *testing.T, text, branches, frames []byte) {
		const base, function = 0x401000, 16
		p := &objfile.Program{
			Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}},
			Code: []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}, Probes: []byte{0},
		}
		for at := 0; at < len(text) && len(p.Symbols) < 64; at += function {
			p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: string(rune('A' + at/function)), Addr: base + uint64(at), Size: function}, Func: true, Section: 1})
		}
		code, err := machinecode.NewSet(p)
		if err != nil {
			return
		}
		b := code.Binaries()[0]
		if b.First == b.End {
			return
		}
		at := func(x byte) ref { return b.First + ref(x)%(b.End-b.First) }
		c := unwind.Context{}
		for ; len(branches) >= 2; branches = branches[2:] {
			from, to := at(branches[0]), at(branches[1])
			if target, ok := code.Target(from); ok {
				to = b.At(target)
			}
			if to.IsInstruction() {
				c.Branches = append(c.Branches, unwind.Count{From: from, To: to, Count: 1})
			}
		}
		var calls, stack []ref
		for r := b.First; r < b.End; r++ {
			if code.Class(r).IsCall() {
				calls = append(calls, r)
			}
		}
		if len(calls) == 0 || len(frames) < 2 {
			return
		}
		for _, x := range frames[1:min(len(frames), 8)] {
			stack = append(stack, calls[int(x)%len(calls)])
		}
		stack = append(stack, at(frames[0]))
		c.Frames = stack[:len(stack)-1]
		g := NewGraph(code, []unwind.Context{c})
		for _, by := range []Inferrer{NewLLVM(g, 0), NewFull(g, nil)} {
			for i := range len(stack) - 1 {
				jumps, rule, _ := by.Infer(stack, i)
				if rule == "" && len(jumps) > 0 {
					t.Fatalf("%d jumps, and no rule", len(jumps))
				}
				leads(t, code, stack[i], jumps, stack[i+1])
			}
		}
		checkEarly(t, g)
	})
}

// checkEarly checks that verdicts that are found without the jumps of all binaries are those that are found with them.
func checkEarly(t *testing.T, g *Graph) {
	t.Helper()
	w := &NewFull(g, nil).world
	w.make()
	sets := [][]function{nil, w.members(target{}), w.members(target{source: machinecode.FromTable, slot: 8})}
	for f := range function(g.count) {
		sets = append(sets, []function{f})
	}
	for i, callees := range sets {
		of := target{}
		if i == 2 {
			of.source = machinecode.FromTable
		}
		for to := range function(g.count) {
			early, late := w.early(callees, of, gap{to: to}, false), w.late(callees, of.rule(), to)
			if early.rule != "" && (early.rule != late.rule || len(late.jumps) > 0) {
				t.Fatalf("%d callees, to function %d: %s, with all jumps %s and %d jumps", len(callees), to, early.rule, late.rule, len(late.jumps))
			}
			if brief := w.early(callees, of, gap{to: to}, true); brief.rule != "" && len(late.jumps) > 0 {
				t.Fatalf("%d callees, to function %d: %s where jumps do not matter, and there are %d", len(callees), to, brief.rule, len(late.jumps))
			}
		}
	}
}

// TestEarly checks such verdicts for random code of jumps, some of them to where any of some pointers refers to.
func TestEarly(t *testing.T) {
	t.Parallel()
	const base, size, functions = 0x401000, 32, 24
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := slices.Repeat([]byte{0x90}, functions*size)
		p := &objfile.Program{Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}}}
		for f := range functions {
			at := f * size
			p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: string(rune('A' + f)), Addr: base + uint64(at), Size: size}, Func: true, Section: 1})
			for range r.IntN(3) { // jmp to another
				text[at] = 0xe9
				binary.LittleEndian.PutUint32(text[at+1:], uint32(r.IntN(functions)*size-at-5))
				at += 5
			}
			if r.IntN(6) == 0 {
				copy(text[at:], "\x5d\xff\xe0") // pop %rbp; jmp *%rax
			}
			if r.IntN(4) == 0 {
				p.Pointers = append(p.Pointers, objfile.Pointer{At: 0x500000 + uint64(f)*8, To: base + uint64(f*size)})
			}
		}
		p.Code = []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}
		code, err := machinecode.NewSet(p)
		if err != nil {
			t.Fatal(err)
		}
		checkEarly(t, NewGraph(code, nil))
	}
}

// leads checks a chain of jumps, where there is one.
func leads(t *testing.T, code *machinecode.Set, from ref, jumps []ref, to ref) {
	t.Helper()
	if len(jumps) == 0 {
		return
	}
	b := code.Binaries()[0]
	for _, next := range append(jumps[:len(jumps):len(jumps)], to) {
		if target, ok := code.Target(from); ok && b.RangeAt(target) != b.RangeAt(code.Address(next)) {
			t.Fatalf("%#x leads to %#x, and not to the function of %#x", code.Address(from), target, code.Address(next))
		}
		from = next
	}
}
